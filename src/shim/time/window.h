/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a process may have in flight where others wait, or its cap is near.
 *
 * A round is a number of submissions with a marker behind them. No more than WINDOW_ROUNDS are in
 * flight, and no more of what is long than as many rounds should take. What makes a round is a
 * budget, as long as the target, of which each submission spends its weight: what such submissions
 * seem to take, by its hint (the function and the grid's size, the graph, ...). What is not known
 * spends a whole round. Weights follow from how long rounds took, so they shape the window and
 * nothing else: the account does not depend on them.
 *
 * Pure but for the weights, which are the process's: times are the caller's, in nanoseconds. Under
 * the device's lock; weights by any thread.
 */
#ifndef ALIQUOT_SHIM_TIME_WINDOW_H
#define ALIQUOT_SHIM_TIME_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomic.h"

#define WINDOW_ROUNDS 4u
#define WINDOW_SHARED_ROUNDS 2u /* longer ones: each costs a marker and a look or two */
/* How much GPU time a round is to take, alone and beside other sessions. */
#define WINDOW_TARGET_NS UINT64_C(2500000)
#define WINDOW_SHARED_NS UINT64_C(1000000)

/* The unit of budgets and weights; the greatest weight is longer than any target. */
#define WINDOW_UNIT_NS UINT64_C(40)
#define WINDOW_WEIGHT_MOST UINT16_MAX
#define WINDOW_HINTS 4096u
#define WINDOW_HINT_BITS 12

/* By hint: the weight less one, so that what was never weighed is the heaviest. */
extern _Atomic uint16_t window_weights[WINDOW_HINTS];

static inline uint32_t window_weight(uint32_t hint)
{
        return (uint16_t)(load_relaxed(&window_weights[hint]) - 1);
}

/* Of what makes a submission take as long as others alike; `size` by its order of magnitude. */
static inline uint32_t window_hint(uint64_t what, uint64_t size)
{
        uint64_t order = 63u - (unsigned)__builtin_clzll(size | 1);

        return (uint32_t)((what ^ order << 56) * UINT64_C(0x9e3779b97f4a7c15) >>
                          (64 - WINDOW_HINT_BITS));
}

/* Samples of what was in a round, from which weights are learned. */
#define WINDOW_SAMPLES 8u

struct window_round {
        uint32_t units; /* of the budget that were given out, by weights */
        uint32_t samples;
        struct window_sample {
                uint16_t hint, weight;
        } sample[WINDOW_SAMPLES];
        uint64_t begin_ns; /* the first of them was let through */
};

struct window {
        uint32_t left; /* of the budget of the round that is being filled: not yet given out */
        struct window_round filling;
        uint32_t cleared; /* how often */
        uint32_t first, count;
        struct window_round round[WINDOW_ROUNDS]; /* in flight, the oldest first */
        uint64_t passed_ns; /* the last one was seen to be over; 0: none was */
        uint64_t took_ns;   /* and is taken to have taken */
};

/* A round is full, and there is room for it: it is to be closed. */
static inline bool window_is_due(const struct window *window)
{
        return window->filling.units && !window->left && window->count < WINDOW_ROUNDS;
}

/* Empties the window, as nothing is in flight any more; what is learned stays. */
void window_clear(struct window *window);

struct window_wish {
        uint32_t hint;
        uint64_t target_ns;
        uint64_t now_ns;
        bool is_single; /* for this submission, and no more */
        bool is_shared; /* beside others: no more than WINDOW_SHARED_ROUNDS are in flight */
};

/* For a submission with that hint, and some more: the units that are given out of the round that is
 * being filled, which is to take target_ns. 0: the round is full and window_close() is next, or so
 * much is in flight that nothing more may be. */
uint32_t window_take(struct window *window, const struct window_wish *wish);

/* When there is room for another round, by the weights; UINT64_MAX: not before one is seen to be
 * over. */
uint64_t window_room_ns(const struct window *window, const struct window_wish *wish);

void window_give_back(struct window *window, uint32_t units);

/* One submission more than there is room for: it becomes part of the last round. */
uint32_t window_take_beyond(struct window *window, const struct window_wish *wish);

/* The round is full and has its markers: the next one begins. Returns its place. */
uint32_t window_close(struct window *window);

/* The rounds were over when they were looked at at `now_ns`, and not yet at `seen_ns`. Where looks
 * are rare that is `now_ns`: they are taken to have ended just now. */
struct window_looks {
        uint64_t seen_ns;
        uint64_t now_ns;
        /* The gate was last seen shut: what began before may have waited for others' work, and
         * tells nothing of how long it takes. */
        uint64_t shut_ns;
};

void window_pass(struct window *window, uint32_t passed, const struct window_looks *looks);

/* While somebody waits for all of it: when half of what is left should be over, by the weights;
 * soon after one another around its end, the less often the later it is. Where weights are not
 * known, often. */
uint64_t window_over_ns(const struct window *window, uint64_t looked_ns);

/* Shortly before half of the rounds should be over; was one looked at since, some time later. */
uint64_t window_due_ns(const struct window *window, uint64_t looked_ns);

#endif
