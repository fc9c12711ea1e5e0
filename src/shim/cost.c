/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cost.h"

#include <sys/mman.h>

#include "shim/lock.h"

#define PAGE_BYTES 4096u
#define COST_BITS 11u

_Atomic uint64_t cost_short[1u << COST_SHORT_BITS];

struct costs {
        _Atomic uint32_t is_wiped_at_fork;
        struct lock lock;
        struct cost cost[1u << COST_BITS];
};

/* Whole pages of its own, so that the kernel can wipe them in a child. */
static union {
        struct costs parts;
        unsigned char pages[(sizeof(struct costs) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES];
} store __attribute__((aligned(PAGE_BYTES)));

/* Under the lock: its place, which is whoever's. */
static struct cost *take(uint64_t what)
{
        if (!load_relaxed(&store.parts.is_wiped_at_fork)) {
                madvise(&store, sizeof(store), MADV_WIPEONFORK);
                store_relaxed(&store.parts.is_wiped_at_fork, 1);
        }
        lock_take(&store.parts.lock);
        return &store.parts.cost[cost_place(what, COST_BITS)];
}

static void drop(void)
{
        lock_drop(&store.parts.lock);
}

struct cost cost_of(uint64_t what)
{
        const struct cost *place = take(what);
        struct cost cost = { .what = what };

        if (place->what == what)
                cost = *place;
        drop();
        return cost;
}

void cost_trust(uint64_t what)
{
        store_relaxed(&cost_short[cost_place(what, COST_SHORT_BITS)], what);
}

static void distrust(uint64_t what)
{
        uint64_t expected = what;

        cas_acq_rel(&cost_short[cost_place(what, COST_SHORT_BITS)], &expected, 0);
}

void cost_begin(uint64_t what)
{
        struct cost *cost = take(what);

        if (cost->what != what)
                *cost = (struct cost){ .what = what };
        cost->pending++;
        drop();
}

void cost_end(uint64_t what)
{
        struct cost *cost = take(what);

        if (cost->what == what && cost->pending)
                cost->pending--;
        drop();
}

void cost_learn(uint64_t what, uint64_t sample_ns)
{
        struct cost *cost = take(what);
        bool is_long;

        if (cost->what != what)
                *cost = (struct cost){ .what = what };
        estimate_add(&cost->estimate, sample_ns);
        is_long = cost_is_long(cost);
        drop();
        if (is_long)
                distrust(what);
        else
                cost_trust(what);
}
