/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of live blocks; blocks.h has the contract.
 *
 * Linear hashing: the number of buckets is between two powers of two, low <= buckets < 2 * low. A
 * hash belongs to bucket hash % (2 * low) if that bucket exists already, else to bucket hash % low.
 * Growing by one bucket splits one bucket in two. Segment 0 of the buckets is one page; segment k
 * is as large as all segments before it together, so a bucket's segment is the position of the
 * highest bit of its number.
 */
#include "shim/blocks.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#define FIRST_BUCKETS 1024u
#define HUGE_BYTES ((size_t)2 << 20)
#define FIRST_NODES 128u /* number of nodes in segment 0; segment k has FIRST_NODES << k */

/* Sets how the kernel treats a segment. A child does not need it. Large segments are accessed at
 * random, so fewer and larger pages help. */
static void segment_advise(void *memory, size_t bytes)
{
        madvise(memory, bytes, MADV_DONTFORK);
        if (bytes >= HUGE_BYTES)
                madvise(memory, bytes, MADV_HUGEPAGE);
}

static void *segment_map(size_t bytes)
{
        int saved = errno;
        void *memory =
                mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (memory == MAP_FAILED)
                memory = NULL;
        else
                segment_advise(memory, bytes);
        errno = saved;
        return memory;
}

static unsigned top_bit(uint32_t value)
{
        return 31u - (unsigned)__builtin_clz(value);
}

/* -- Nodes ------------------------------------------------------------------------------------- */

static unsigned node_segment(uint32_t node)
{
        return top_bit((node - 1) / FIRST_NODES + 1);
}

static struct block *node_at(const struct blocks *blocks, uint32_t node)
{
        unsigned k = node_segment(node);

        return &blocks->segment[k][(node - 1) - ((FIRST_NODES << k) - FIRST_NODES)];
}

/* Allocates the first page of buckets of every shard. This is done before the first node is
 * given out, so that putting a node into the table cannot fail. */
static bool buckets_start(struct blocks *blocks)
{
        uint32_t *first = segment_map(sizeof(uint32_t) * FIRST_BUCKETS * BLOCK_SHARDS);

        if (!first)
                return false;
        for (unsigned i = 0; i < BLOCK_SHARDS; i++) {
                struct block_shard *shard = &blocks->shard[i];

                lock_take(&shard->lock);
                shard->segment[0] = first + (size_t)i * FIRST_BUCKETS;
                shard->buckets = FIRST_BUCKETS;
                lock_drop(&shard->lock);
        }
        return true;
}

static bool nodes_extend(struct blocks *blocks, unsigned k)
{
        if (k >= BLOCK_NODE_SEGMENTS)
                return false;
        if (blocks->shard[0].buckets == 0 && !buckets_start(blocks))
                return false;
        if (!blocks->segment[k])
                blocks->segment[k] = segment_map(sizeof(struct block) * (FIRST_NODES << k));
        return blocks->segment[k] != NULL;
}

/* Adds one node to those that exist. Returns its number; 0: no memory. */
static uint32_t node_make(struct blocks *blocks)
{
        uint32_t node = 0;

        lock_take(&blocks->nodes_lock);
        uint32_t next = load_relaxed(&blocks->nodes_made) + 1;

        if (nodes_extend(blocks, node_segment(next))) {
                store_release(&blocks->nodes_made, next);
                node = next;
        }
        lock_drop(&blocks->nodes_lock);
        return node;
}

uint32_t blocks_reserve(struct blocks *blocks, uint32_t *free_list)
{
        uint32_t node = *free_list;

        if (node == 0)
                return node_make(blocks);
        *free_list = node_at(blocks, node)->next;
        return node;
}

void blocks_return(struct blocks *blocks, uint32_t *free_list, uint32_t node)
{
        /* A charge that began before a fork and is settled in the child names a node that the
         * child does not have. */
        if (node == 0 || node > load_acquire(&blocks->nodes_made))
                return;
        *node_at(blocks, node) = (struct block){ .next = *free_list };
        *free_list = node;
}

/* -- Buckets ----------------------------------------------------------------------------------- */

/*
 * Returns the hash of a key. Blocks that are neighbours in the address space get neighbouring
 * buckets: small blocks are allocated one after the other, 512 bytes apart, and a table of a
 * million blocks is far larger than the caches. Groups of 64 such blocks are spread at random.
 */
static uint64_t hash_of(uint8_t space, uint64_t key)
{
        uint64_t group = (key >> 15 << 9 | (key & 511)) ^ (uint64_t)space << 58;
        uint64_t hash = group * UINT64_C(0x9e3779b97f4a7c15);

        hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
        hash ^= hash >> 32;
        return (hash & ~UINT64_C(0xffffffff)) | (uint32_t)(hash + (key >> 9 & 63));
}

static uint32_t *bucket_at(const struct block_shard *shard, uint32_t bucket)
{
        unsigned k = bucket < FIRST_BUCKETS ? 0 : top_bit(bucket / FIRST_BUCKETS) + 1;
        uint32_t first = k == 0 ? 0 : FIRST_BUCKETS << (k - 1);

        return &shard->segment[k][bucket - first];
}

static uint32_t bucket_of(const struct block_shard *shard, uint32_t hash)
{
        uint32_t low = 1u << top_bit(shard->buckets);
        uint32_t bucket = hash & (2 * low - 1);

        return bucket < shard->buckets ? bucket : bucket - low;
}

static struct block_shard *shard_of(struct blocks *blocks, uint64_t hash)
{
        return &blocks->shard[hash >> 60 & (BLOCK_SHARDS - 1)];
}

/* Moves the nodes that belong to the new, last bucket out of the bucket that was split. */
static void bucket_split(struct blocks *blocks, struct block_shard *shard)
{
        uint32_t last = shard->buckets - 1;
        uint32_t *from = bucket_at(shard, last & ~(1u << top_bit(last)));
        uint32_t *to = bucket_at(shard, last);

        while (*from) {
                struct block *block = node_at(blocks, *from);

                if (bucket_of(shard, (uint32_t)hash_of(block->space, block->key)) == last) {
                        uint32_t node = *from;

                        *from = block->next;
                        block->next = *to;
                        *to = node;
                } else {
                        from = &block->next;
                }
        }
}

static void shard_grow(struct blocks *blocks, struct block_shard *shard)
{
        uint32_t last = shard->buckets;
        unsigned k = top_bit(last / FIRST_BUCKETS) + 1; /* buckets_start() allocated segment 0 */

        if (k >= BLOCK_BUCKET_SEGMENTS)
                return;
        if (!shard->segment[k])
                shard->segment[k] = segment_map(sizeof(uint32_t) * (FIRST_BUCKETS << (k - 1)));
        if (!shard->segment[k])
                return;
        shard->buckets++;
        bucket_split(blocks, shard);
}

/* -- The table --------------------------------------------------------------------------------- */

/* Returns the link to the key's node: follow it to read the node, change it to unlink the node.
 * NULL: the key is unknown. */
static uint32_t *link_find(struct blocks *blocks, struct block_shard *shard, uint64_t hash,
                           const struct block *key)
{
        uint32_t *link;

        if (shard->buckets == 0)
                return NULL;
        link = bucket_at(shard, bucket_of(shard, (uint32_t)hash));
        while (*link) {
                struct block *block = node_at(blocks, *link);

                if (block->key == key->key && block->space == key->space)
                        return link;
                link = &block->next;
        }
        return NULL;
}

static uint32_t link_cut(struct blocks *blocks, struct block_shard *shard, uint32_t *link,
                         struct block *ret)
{
        uint32_t node = *link;

        *ret = *node_at(blocks, node);
        *link = ret->next;
        shard->live--;
        return node;
}

uint32_t blocks_put(struct blocks *blocks, uint32_t node, const struct block *block,
                    struct block *ret_old)
{
        uint64_t hash = hash_of(block->space, block->key);
        struct block_shard *shard = shard_of(blocks, hash);
        uint32_t old = 0;

        if (node == 0 || node > load_acquire(&blocks->nodes_made))
                return 0;
        lock_take(&shard->lock);
        uint32_t *link = link_find(blocks, shard, hash, block);

        if (link)
                old = link_cut(blocks, shard, link, ret_old);
        if (shard->live >= shard->buckets)
                shard_grow(blocks, shard);

        uint32_t *bucket = bucket_at(shard, bucket_of(shard, (uint32_t)hash));
        struct block *place = node_at(blocks, node);

        *place = *block;
        place->next = *bucket;
        *bucket = node;
        shard->live++;
        lock_drop(&shard->lock);
        return old;
}

uint32_t blocks_take(struct blocks *blocks, uint8_t space, uint64_t key, struct block *ret)
{
        const struct block wanted = { .key = key, .space = space };
        uint64_t hash = hash_of(space, key);
        struct block_shard *shard = shard_of(blocks, hash);
        uint32_t node = 0;

        lock_take(&shard->lock);
        uint32_t *link = link_find(blocks, shard, hash, &wanted);

        if (link)
                node = link_cut(blocks, shard, link, ret);
        lock_drop(&shard->lock);
        return node;
}

bool blocks_find(struct blocks *blocks, uint8_t space, uint64_t key, struct block *ret)
{
        const struct block wanted = { .key = key, .space = space };
        uint64_t hash = hash_of(space, key);
        struct block_shard *shard = shard_of(blocks, hash);

        lock_take(&shard->lock);
        uint32_t *link = link_find(blocks, shard, hash, &wanted);

        if (link)
                *ret = *node_at(blocks, *link);
        lock_drop(&shard->lock);
        return link != NULL;
}

uint32_t blocks_take_owner(struct blocks *blocks, unsigned shard_number, uint32_t owner)
{
        struct block_shard *shard = &blocks->shard[shard_number % BLOCK_SHARDS];
        uint32_t chain = 0;

        lock_take(&shard->lock);
        for (uint32_t i = 0; i < shard->buckets; i++) {
                uint32_t *link = bucket_at(shard, i);

                while (*link) {
                        struct block *block = node_at(blocks, *link);
                        struct block copy;

                        if (block->owner != owner) {
                                link = &block->next;
                                continue;
                        }
                        uint32_t node = link_cut(blocks, shard, link, &copy);

                        block->next = chain;
                        chain = node;
                }
        }
        lock_drop(&shard->lock);
        return chain;
}

struct block blocks_see(const struct blocks *blocks, uint32_t node)
{
        return *node_at(blocks, node);
}

static uint64_t shard_owned_bytes(struct blocks *blocks, struct block_shard *shard, uint32_t owner)
{
        uint64_t bytes = 0;

        lock_take(&shard->lock);
        for (uint32_t i = 0; i < shard->buckets; i++) {
                for (uint32_t node = *bucket_at(shard, i); node;
                     node = node_at(blocks, node)->next) {
                        const struct block *block = node_at(blocks, node);

                        bytes += block->owner == owner ? block->bytes : 0;
                }
        }
        lock_drop(&shard->lock);
        return bytes;
}

uint64_t blocks_owned_bytes(struct blocks *blocks, uint32_t owner)
{
        uint64_t bytes = 0;

        for (unsigned i = 0; i < BLOCK_SHARDS; i++)
                bytes += shard_owned_bytes(blocks, &blocks->shard[i], owner);
        return bytes;
}
