/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small hash table of records by a 64-bit key, for handles of the driver.
 *
 * A record is a struct of the caller that begins with a struct table_link; all records of one table
 * have the same type. Keys need not be unique: table_find() returns the newest record, and
 * table_next() the next older one with the same key. Records come from the kernel in growing chunks
 * that are never returned, so a record keeps its address. A caller that must not fail later creates
 * its record first and inserts it afterwards. No locking: one lock of the caller guards the table
 * and its records. Not used by a launch or a plain allocation.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_TABLE_H
#define ALIQUOT_SHIM_CUDA_STATE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define TABLE_CHUNKS 20u

struct table_link {
        struct table_link *next; /* next in the same bucket or in the free list */
        uint64_t key;
};

/* All zero is an empty table. */
struct handle_table {
        struct table_link **buckets;
        uint64_t bucket_count; /* a power of two; 0 before the first record */
        uint64_t used;
        struct table_link *free;
        unsigned chunks;
};

/* Returns a new record that is not in the table, all zero; NULL if the kernel has no memory.
 * `bytes` is the size of the table's record type. */
void *table_make(struct handle_table *table, size_t bytes);
void table_free(struct handle_table *table, void *record);

void table_put(struct handle_table *table, void *record);

/* Return the newest record with the key, and the next older record with the key of `record`; NULL:
 * there is none. */
void *table_find(const struct handle_table *table, uint64_t key);
void *table_next(const void *record);

/* Removes a record that is in the table. Does not free it. */
void table_remove(struct handle_table *table, void *record);

/* Returns the record after `last`, in no particular order; begin with NULL. NULL: there are no
 * more. The table must not change meanwhile. */
void *table_each(const struct handle_table *table, const void *last);

#endif
