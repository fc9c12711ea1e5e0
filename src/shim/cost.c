/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cost.h"

#include <string.h>
#include <sys/mman.h>

#include "shim/lock.h"

#define PAGE_BYTES 4096u
#define COST_BITS 11u

/* Whole pages of their own, both, so that the kernel can wipe them in a child. */
_Atomic uint64_t cost_short[1u << COST_SHORT_BITS] __attribute__((aligned(PAGE_BYTES)));
_Static_assert(sizeof(cost_short) % PAGE_BYTES == 0, "whole pages");

struct costs {
        _Atomic uint32_t is_wiped_at_fork;
        struct lock lock;
        uint32_t age; /* how often all was forgotten */
        struct cost cost[1u << COST_BITS];
};

static union {
        struct costs parts;
        unsigned char pages[(sizeof(struct costs) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES];
} store __attribute__((aligned(PAGE_BYTES)));

static void begin(void)
{
        if (load_relaxed(&store.parts.is_wiped_at_fork))
                return;
        madvise(cost_short, sizeof(cost_short), MADV_WIPEONFORK);
        madvise(&store, sizeof(store), MADV_WIPEONFORK);
        store_relaxed(&store.parts.is_wiped_at_fork, 1);
}

/* Under the lock: its place, which is whoever's. */
static struct cost *take(uint64_t what)
{
        begin();
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
        begin();
        store_relaxed(&cost_short[cost_place(what, COST_SHORT_BITS)], what);
}

static void distrust(uint64_t what)
{
        uint64_t expected = what;

        cas_acq_rel(&cost_short[cost_place(what, COST_SHORT_BITS)], &expected, 0);
}

uint32_t cost_begin(uint64_t what)
{
        struct cost *cost = take(what);
        uint32_t age = store.parts.age;

        if (cost->what != what)
                *cost = (struct cost){ .what = what };
        cost->pending++;
        drop();
        return age;
}

void cost_end(uint64_t what, uint32_t age)
{
        struct cost *cost = take(what);

        if (age == store.parts.age && cost->what == what && cost->pending)
                cost->pending--;
        drop();
}

/* Under the lock: what was forgotten meanwhile is not trusted again. */
void cost_learn(uint64_t what, uint32_t age, uint64_t sample_ns, bool is_beside)
{
        struct cost *cost = take(what);

        if (age != store.parts.age) {
                drop();
                return;
        }
        if (cost->what != what)
                *cost = (struct cost){ .what = what };
        estimate_learn(&cost->estimate, sample_ns, is_beside);
        if (cost_is_long(cost))
                distrust(what);
        else
                cost_trust(what);
        drop();
}

void cost_forget(void)
{
        if (!load_relaxed(&store.parts.is_wiped_at_fork))
                return; /* nothing was ever learned */
        take(0);
        store.parts.age++;
        memset(store.parts.cost, 0, sizeof(store.parts.cost));
        for (unsigned i = 0; i < 1u << COST_SHORT_BITS; i++)
                store_relaxed(&cost_short[i], 0);
        drop();
}
