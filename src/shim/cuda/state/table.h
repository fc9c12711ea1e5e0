/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small hash table of records by a 64-bit key, for the driver's handles.
 *
 * A record is a struct of the caller that begins with a struct table_link; all records of a table
 * have one type. Keys need not be unique: find returns the newest, next goes on to older ones.
 * Records come from the kernel in growing chunks and are never returned, so a record stays where it
 * is; a caller that must not fail later makes its record first and inserts it afterwards. No
 * locking: one lock of the caller guards table and records. Not used on a launch or plain
 * allocation.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_TABLE_H
#define ALIQUOT_SHIM_CUDA_STATE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define TABLE_CHUNKS 20u

struct table_link {
        struct table_link *next; /* next of the bucket, or of the free list */
        uint64_t key;
};

/* All zero is an empty one. */
struct handle_table {
        struct table_link **buckets;
        uint64_t bucket_count; /* a power of two; 0 before the first record */
        uint64_t used;
        struct table_link *free;
        unsigned chunks;
};

/* A record outside the table, all zero; NULL when the kernel has no memory. `bytes` is the size of
 * the table's type. */
void *table_make(struct handle_table *table, size_t bytes);
void table_free(struct handle_table *table, void *record);

void table_put(struct handle_table *table, void *record);

/* NULL when there is none. */
void *table_find(const struct handle_table *table, uint64_t key);
void *table_next(const void *record);

/* Takes a record out that is in. */
void table_remove(struct handle_table *table, void *record);

/* Every record, in no order: begin with NULL. The table must not change meanwhile. */
void *table_each(const struct handle_table *table, const void *last);

#endif
