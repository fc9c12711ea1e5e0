/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/state/table.h"

#include <string.h>
#include <sys/mman.h>

/* Number of records in the first chunk. */
#define FIRST_CHUNK 512u

static void *pages(uint64_t bytes)
{
        void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        return at == MAP_FAILED ? NULL : at;
}

static uint64_t bucket_of(const struct handle_table *table, uint64_t key)
{
        return (key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (table->bucket_count - 1);
}

/* Grows the array of buckets together with the records, so that a bucket has about one record. */
static void grow_buckets(struct handle_table *table, uint64_t count)
{
        struct table_link **old = table->buckets;
        uint64_t old_count = table->bucket_count;
        struct table_link **buckets = pages(count * sizeof(struct table_link *));

        if (!buckets)
                return;
        table->buckets = buckets;
        table->bucket_count = count;
        for (uint64_t i = 0; i < old_count; i++) {
                for (struct table_link *link = old[i], *next; link; link = next) {
                        struct table_link **end = &buckets[bucket_of(table, link->key)];

                        next = link->next;
                        link->next = NULL;
                        while (*end) /* keep newer records before older ones with the same key */
                                end = &(*end)->next;
                        *end = link;
                }
        }
        if (old)
                munmap(old, old_count * sizeof(struct table_link *));
}

/* Adds a chunk, which has twice as many records as the one before. */
static void grow_records(struct handle_table *table, size_t bytes)
{
        uint64_t count = (uint64_t)FIRST_CHUNK << table->chunks;
        char *records;

        if (table->chunks == TABLE_CHUNKS)
                return;
        records = pages(count * bytes);
        if (!records)
                return;
        for (uint64_t i = 0; i < count; i++)
                table_free(table, records + i * bytes);
        table->chunks++;
        grow_buckets(table, 2 * count);
}

void *table_make(struct handle_table *table, size_t bytes)
{
        struct table_link *link;

        if (!table->free)
                grow_records(table, bytes);
        if (!table->free || !table->bucket_count)
                return NULL;
        link = table->free;
        table->free = link->next;
        memset(link, 0, bytes);
        return link;
}

void table_free(struct handle_table *table, void *record)
{
        struct table_link *link = record;

        link->next = table->free;
        table->free = link;
}

void table_put(struct handle_table *table, void *record)
{
        struct table_link *link = record;
        struct table_link **head = &table->buckets[bucket_of(table, link->key)];

        link->next = *head;
        *head = link;
        table->used++;
}

/* Returns the first record of a bucket's list with this key, or NULL. */
static struct table_link *seek(struct table_link *link, uint64_t key)
{
        while (link && link->key != key)
                link = link->next;
        return link;
}

void *table_find(const struct handle_table *table, uint64_t key)
{
        return table->bucket_count ? seek(table->buckets[bucket_of(table, key)], key) : NULL;
}

void *table_next(const void *record)
{
        const struct table_link *link = record;

        return seek(link->next, link->key);
}

void table_remove(struct handle_table *table, void *record)
{
        struct table_link *link = record;
        struct table_link **at = &table->buckets[bucket_of(table, link->key)];

        while (*at != link)
                at = &(*at)->next;
        *at = link->next;
        link->next = NULL;
        table->used--;
}

void *table_each(const struct handle_table *table, const void *last)
{
        const struct table_link *link = last;
        uint64_t bucket = 0;

        if (link && link->next)
                return link->next;
        if (link)
                bucket = bucket_of(table, link->key) + 1;
        for (; bucket < table->bucket_count; bucket++) {
                if (table->buckets[bucket])
                        return table->buckets[bucket];
        }
        return NULL;
}
