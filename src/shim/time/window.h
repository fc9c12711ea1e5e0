/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The in-flight window: how much work a process may have in flight while other sessions wait, or
 * its cap is near.
 *
 * A round is a number of submissions with a marker behind them. At most WINDOW_ROUNDS are in
 * flight, fewer if their work is long. A round has a budget, as long as the target. Each submission
 * spends its weight: the usual length of such submissions, by its hint (the function and the grid's
 * size, the graph, ...). A submission of unknown weight spends a whole round. Weights are learned
 * from how long rounds took. They shape the window only; the account does not depend on them.
 *
 * Pure except for the weights, which belong to the process. Times are the caller's, in nanoseconds.
 * Runs under the device's lock; any thread may use the weights.
 */
#ifndef ALIQUOT_SHIM_TIME_WINDOW_H
#define ALIQUOT_SHIM_TIME_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomic.h"

#define WINDOW_ROUNDS 4u
#define WINDOW_SHARED_ROUNDS 2u /* fewer and longer ones: each costs a marker and a look or two */
/* Target length of a round in GPU time, alone and beside other sessions. */
#define WINDOW_TARGET_NS UINT64_C(2500000)
#define WINDOW_SHARED_NS UINT64_C(1000000)

/* The unit of budgets and weights; the greatest weight is longer than any target. */
#define WINDOW_UNIT_NS UINT64_C(40)
#define WINDOW_WEIGHT_MAX UINT16_MAX
#define WINDOW_HINTS 4096u
#define WINDOW_HINT_BITS 12

/* By hint: the weight less one, so that 0, an unknown weight, is the heaviest. */
extern _Atomic uint16_t window_weights[WINDOW_HINTS];

static inline uint32_t window_weight(uint32_t hint)
{
        return (uint16_t)(load_relaxed(&window_weights[hint]) - 1);
}

/* The hint of submissions that take about as long; `size` counts by its order of magnitude. */
static inline uint32_t window_hint(uint64_t what, uint64_t size)
{
        uint64_t order = 63u - (unsigned)__builtin_clzll(size | 1);

        return (uint32_t)((what ^ order << 56) * UINT64_C(0x9e3779b97f4a7c15) >>
                          (64 - WINDOW_HINT_BITS));
}

/* Samples of a round's submissions, from which weights are learned. */
#define WINDOW_SAMPLES 8u

struct window_round {
        uint32_t units; /* units of the budget that were given out, by weights */
        uint32_t samples;
        struct window_sample {
                uint16_t hint, weight;
        } sample[WINDOW_SAMPLES];
        uint64_t begin_ns; /* when the first of them passed the gate */
};

struct window {
        uint32_t left; /* rest of the budget of the round being filled */
        struct window_round filling;
        uint32_t cleared; /* how often the window was emptied */
        uint32_t first, count;
        struct window_round round[WINDOW_ROUNDS]; /* rounds in flight, oldest first */
        uint64_t passed_ns; /* when the last round was seen complete; 0: never */
        uint64_t took_ns;   /* estimate of how long that round took */
};

/* Whether a round is full and the window has room for it, so that it must be closed. */
static inline bool window_is_due(const struct window *window)
{
        return window->filling.units && !window->left && window->count < WINDOW_ROUNDS;
}

/* Empties the window, because nothing is in flight any more; the learned weights stay. */
void window_clear(struct window *window);

struct window_wish {
        uint32_t hint;
        uint64_t target_ns;
        uint64_t now_ns;
        bool is_single; /* for this submission only */
        bool is_shared; /* beside other sessions: at most WINDOW_SHARED_ROUNDS are in flight */
};

/* Takes units of the round being filled, for a submission with that hint and some more. The round
 * should take target_ns. 0: the round is full and window_close() is next, or the window is full. */
uint32_t window_take(struct window *window, const struct window_wish *wish);

/* When the window has room for another round, by the weights; UINT64_MAX: not before a round is
 * seen complete. */
uint64_t window_room_ns(const struct window *window, const struct window_wish *wish);

void window_give_back(struct window *window, uint32_t units);

/* Takes one submission beyond the window; it becomes part of the last round. */
uint32_t window_take_beyond(struct window *window, const struct window_wish *wish);

/* Closes a full round that has its markers, and begins the next one. Returns its index. */
uint32_t window_close(struct window *window);

/* The rounds were complete at the look at `now_ns`, and not yet at `seen_ns`. Where looks are rare,
 * that is `now_ns`: the rounds count as completed just now. */
struct window_looks {
        uint64_t seen_ns;
        uint64_t now_ns;
        /* When the gate was last seen shut. Rounds that began before may have waited for other
         * sessions' work, so their length says nothing. */
        uint64_t shut_ns;
};

void window_pass(struct window *window, uint32_t passed, const struct window_looks *looks);

/* When to look next while another session waits for all of the window. First when half of the rest
 * should be complete, by the weights; then in short intervals around the expected end, longer the
 * later it gets. Without known weights, often. */
uint64_t window_over_ns(const struct window *window, uint64_t looked_ns);

/* When to look next otherwise: shortly before half of the rounds should be complete; after a look
 * there, some time later. */
uint64_t window_due_ns(const struct window *window, uint64_t looked_ns);

#endif
