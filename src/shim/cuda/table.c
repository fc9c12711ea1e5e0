/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/table.h"

#include <string.h>
#include <sys/mman.h>

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

/* A new chunk doubles the nodes; the buckets follow, so that a chain stays about one long. */
static void grow(struct handle_table *table)
{
        uint64_t count = (uint64_t)FIRST_CHUNK << table->chunks;
        uint64_t old_count = table->bucket_count;
        struct table_node **old = table->buckets;
        struct table_node **buckets;
        struct table_node *nodes;

        if (table->chunks == TABLE_CHUNKS)
                return;
        nodes = pages(count * sizeof(*nodes));
        if (!nodes)
                return;
        for (uint64_t i = 0; i < count; i++) {
                nodes[i].next = table->free;
                table->free = &nodes[i];
        }
        table->chunks++;
        buckets = pages(2 * count * sizeof(struct table_node *));
        if (!buckets)
                return;
        table->buckets = buckets;
        table->bucket_count = 2 * count;
        for (uint64_t i = 0; i < old_count; i++) {
                for (struct table_node *node = old[i], *next; node; node = next) {
                        next = node->next;
                        node->next = NULL;
                        struct table_node **end = &buckets[bucket_of(table, node->key)];

                        while (*end) /* the newest of a key stays first */
                                end = &(*end)->next;
                        *end = node;
                }
        }
        if (old)
                munmap(old, old_count * sizeof(struct table_node *));
}

struct table_node *table_node(struct handle_table *table)
{
        struct table_node *node;

        if (!table->free)
                grow(table);
        if (!table->free || !table->bucket_count)
                return NULL;
        node = table->free;
        table->free = node->next;
        memset(node, 0, sizeof(*node));
        return node;
}

void table_node_free(struct handle_table *table, struct table_node *node)
{
        node->next = table->free;
        table->free = node;
}

void table_put(struct handle_table *table, struct table_node *node)
{
        struct table_node **head = &table->buckets[bucket_of(table, node->key)];

        node->next = *head;
        *head = node;
        table->used++;
}

struct table_node *table_find(const struct handle_table *table, uint64_t key)
{
        struct table_node *node;

        if (!table->bucket_count)
                return NULL;
        node = table->buckets[bucket_of(table, key)];
        while (node && node->key != key)
                node = node->next;
        return node;
}

struct table_node *table_next(const struct table_node *node)
{
        struct table_node *next = node->next;

        while (next && next->key != node->key)
                next = next->next;
        return next;
}

void table_remove(struct handle_table *table, struct table_node *node)
{
        struct table_node **link = &table->buckets[bucket_of(table, node->key)];

        while (*link != node)
                link = &(*link)->next;
        *link = node->next;
        node->next = NULL;
        table->used--;
}

struct table_node *table_each(const struct handle_table *table, const struct table_node *last)
{
        uint64_t bucket = 0;

        if (last && last->next)
                return last->next;
        if (last)
                bucket = bucket_of(table, last->key) + 1;
        for (; bucket < table->bucket_count; bucket++) {
                if (table->buckets[bucket])
                        return table->buckets[bucket];
        }
        return NULL;
}
