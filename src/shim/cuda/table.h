/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small hash table of records by a 64-bit key, for what the driver's handles stand for.
 *
 * Keys need not be unique: find gives the newest, next goes on to older ones. Nodes come from the
 * kernel in growing chunks and are never given back, so a node stays where it is; a caller that
 * must not fail later takes its node first (table_node) and puts it in afterwards. No locking: one
 * lock of the caller guards table and nodes. Never used on a launch or plain allocation.
 */
#ifndef ALIQUOT_SHIM_CUDA_TABLE_H
#define ALIQUOT_SHIM_CUDA_TABLE_H

#include <stdint.h>

#define TABLE_CHUNKS 20u

struct table_node {
        struct table_node *next; /* of the bucket, or of the caller's own list */
        uint64_t key;
        uint64_t value; /* the caller's */
        uint64_t extent;
        uint64_t count;
        uint64_t id;
        int64_t row;
        uint64_t pin; /* a second lock that goes with it, or 0 */
};

struct handle_table {
        struct table_node **buckets;
        uint64_t bucket_count; /* a power of two; 0 before the first node */
        uint64_t used;
        struct table_node *free;
        unsigned chunks;
};

/* A node outside the table, all zero; NULL when the kernel has no memory. */
struct table_node *table_node(struct handle_table *table);
void table_node_free(struct handle_table *table, struct table_node *node);

void table_put(struct handle_table *table, struct table_node *node);

/* NULL when there is none. */
struct table_node *table_find(const struct handle_table *table, uint64_t key);
struct table_node *table_next(const struct table_node *node);

/* Takes a node out that is in. */
void table_remove(struct handle_table *table, struct table_node *node);

/* Every node, in no order: begin with NULL. The table must not change meanwhile. */
struct table_node *table_each(const struct handle_table *table, const struct table_node *last);

#endif
