/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of live blocks: what each key holds, so that a free knows what to give back.
 *
 * A block's node is reserved before the driver is asked and put in under its key afterwards, so
 * putting cannot fail. Keys are spread over shards, each a linear hash that grows by one bucket
 * at a time: no operation ever rehashes the table, and the cost is flat from one block to
 * millions. All memory comes from mmap() in doubling segments, is not given to a forked child,
 * and never moves or shrinks. If a segment of buckets cannot be had, chains get longer; if a
 * segment of nodes cannot be had, blocks_reserve() says so before anything happened.
 *
 * All zero is an empty table: the struct lies in memory that the kernel wipes in a child.
 */
#ifndef ALIQUOT_SHIM_BLOCKS_H
#define ALIQUOT_SHIM_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/lock.h"

#define BLOCK_SHARDS 16u
#define BLOCK_BUCKET_SEGMENTS 20u
#define BLOCK_NODE_SEGMENTS 22u

struct block {
        uint64_t key;
        uint64_t bytes;
        uint32_t next;   /* the next node of its bucket, or of the list of free nodes; 0 ends it */
        uint32_t owner;  /* as struct charge's */
        uint16_t device; /* row of the session's page */
        uint8_t space;   /* enum charge_space; 0 while free */
        bool is_unseen;  /* as struct charge's */
};

struct block_shard {
        _Alignas(64) struct lock lock;
        uint32_t live;
        uint32_t buckets; /* buckets in use; 0 before the first block */
        uint32_t *segment[BLOCK_BUCKET_SEGMENTS];
};

struct blocks {
        struct block_shard shard[BLOCK_SHARDS];
        struct lock nodes_lock;
        _Atomic uint32_t nodes_made; /* nodes 1..nodes_made exist */
        struct block *segment[BLOCK_NODE_SEGMENTS];
};

/*
 * Takes a node for a future block; 0: no memory. The caller owns the list of free nodes and guards
 * it with its own lock; a node may go back to any list.
 */
uint32_t blocks_reserve(struct blocks *blocks, uint32_t *free_list);
void blocks_return(struct blocks *blocks, uint32_t *free_list, uint32_t node);

/* Puts `block` (its next is ignored) under its key. Returns the node that the key had before, or 0;
 * the caller owns that node, and *ret_old has its contents. */
uint32_t blocks_put(struct blocks *blocks, uint32_t node, const struct block *block,
                    struct block *ret_old);

/* Takes a block out. Returns its node, which the caller then owns, or 0 if the key is unknown. */
uint32_t blocks_take(struct blocks *blocks, uint8_t space, uint64_t key, struct block *ret);

/* Takes out all blocks of an owner in one shard (0 .. BLOCK_SHARDS - 1). Returns a chain of nodes,
 * which the caller then owns and follows with blocks_see(). 0: none. */
uint32_t blocks_take_owner(struct blocks *blocks, unsigned shard, uint32_t owner);

/* Bytes of all blocks of an owner. */
uint64_t blocks_owned_bytes(struct blocks *blocks, uint32_t owner);

/* The block in a node that the caller owns. */
struct block blocks_see(const struct blocks *blocks, uint32_t node);

/* Finds a block and leaves it in the table. */
bool blocks_find(struct blocks *blocks, uint8_t space, uint64_t key, struct block *ret);

#endif
