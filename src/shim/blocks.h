/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of live blocks: what each key holds, so that a free knows what to give back.
 *
 * A block's node is reserved before the driver is called and is put into the table under its key
 * afterwards, so putting cannot fail. Keys are spread over shards. Each shard is a linear hash
 * table that grows by one bucket at a time: no operation ever rehashes the table, and the cost is
 * the same from one block to millions. All memory comes from mmap() in segments of doubling size,
 * is not given to a forked child, and never moves or shrinks. If there is no memory for a segment
 * of buckets, the lists of the buckets get longer. If there is none for a segment of nodes,
 * blocks_reserve() fails before anything has happened.
 *
 * An all-zero struct is an empty table, because it is in memory that the kernel wipes in a child.
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
        /* the next node of the bucket, or of the list of free nodes; 0: this is the last */
        uint32_t next;
        uint32_t owner;  /* see struct charge */
        uint16_t device; /* row of the session's page */
        uint8_t space;   /* enum charge_space; 0 while free */
        bool is_unseen;  /* see struct charge */
};

struct block_shard {
        _Alignas(64) struct lock lock;
        /* number of blocks in the shard */
        uint32_t live;
        uint32_t buckets; /* number of buckets in use; 0 before the first block */
        uint32_t *segment[BLOCK_BUCKET_SEGMENTS];
};

struct blocks {
        struct block_shard shard[BLOCK_SHARDS];
        struct lock nodes_lock;
        _Atomic uint32_t nodes_made; /* nodes 1..nodes_made exist */
        struct block *segment[BLOCK_NODE_SEGMENTS];
};

/*
 * Gets a node for a future block. Returns 0 if there is no memory. The caller owns the list of free
 * nodes and guards it with its own lock; a node may be returned to any list.
 */
uint32_t blocks_reserve(struct blocks *blocks, uint32_t *free_list);
/* Returns a node to the list of free nodes. */
void blocks_return(struct blocks *blocks, uint32_t *free_list, uint32_t node);

/* Puts `block` into the table under its key, with this node; block->next is ignored. If the key
 * had a node before, returns that node, which the caller then owns, and copies its contents to
 * *ret_old; else returns 0. */
uint32_t blocks_put(struct blocks *blocks, uint32_t node, const struct block *block,
                    struct block *ret_old);

/* Removes a block from the table. Returns its node, which the caller then owns, or 0 if the key
 * is unknown. */
uint32_t blocks_take(struct blocks *blocks, uint8_t space, uint64_t key, struct block *ret);

/* Removes all blocks of an owner from one shard (0 .. BLOCK_SHARDS - 1). Returns the first node
 * of a list, which the caller then owns and reads with blocks_see(); 0: there is none. */
uint32_t blocks_take_owner(struct blocks *blocks, unsigned shard, uint32_t owner);

/* Returns the sum of the bytes of all blocks of an owner. */
uint64_t blocks_owned_bytes(struct blocks *blocks, uint32_t owner);

/* Returns the block in a node that the caller owns. */
struct block blocks_see(const struct blocks *blocks, uint32_t node);

/* Finds a block and leaves it in the table. Returns false if the key is unknown. */
bool blocks_find(struct blocks *blocks, uint8_t space, uint64_t key, struct block *ret);

#endif
