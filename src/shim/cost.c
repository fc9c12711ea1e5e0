/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cost.h"

#include <sys/mman.h>

#include "common/atomic.h"
#include "shim/lock.h"

#define PAGE_BYTES 4096u
#define COSTS 1024u
#define COST_BITS 10u

struct cost {
        uint64_t what;
        struct estimate estimate;
};

struct costs {
        _Atomic uint32_t is_wiped_at_fork;
        struct lock lock;
        struct cost cost[COSTS];
};

/* Whole pages of its own, so that the kernel can wipe them in a child. */
static union {
        struct costs parts;
        unsigned char pages[(sizeof(struct costs) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES];
} store __attribute__((aligned(PAGE_BYTES)));

/* Under the lock. */
static struct cost *place_of(uint64_t what)
{
        return &store.parts.cost[what * UINT64_C(0x9e3779b97f4a7c15) >> (64 - COST_BITS)];
}

struct estimate cost_of(uint64_t what)
{
        struct cost *cost = place_of(what);
        struct estimate estimate = { 0 };

        lock_take(&store.parts.lock);
        if (cost->what == what)
                estimate = cost->estimate;
        lock_drop(&store.parts.lock);
        return estimate;
}

void cost_learn(uint64_t what, uint64_t sample_ns)
{
        struct cost *cost = place_of(what);

        if (!load_relaxed(&store.parts.is_wiped_at_fork)) {
                madvise(&store, sizeof(store), MADV_WIPEONFORK);
                store_relaxed(&store.parts.is_wiped_at_fork, 1);
        }
        lock_take(&store.parts.lock);
        if (cost->what != what)
                *cost = (struct cost){ .what = what };
        estimate_add(&cost->estimate, sample_ns);
        lock_drop(&store.parts.lock);
}
