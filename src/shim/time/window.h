/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The in-flight window: how much work a process may have in flight while other sessions wait, or
 * while its cap is near.
 *
 * A round is a number of submissions with a marker behind them. At most WINDOW_ROUNDS rounds are in
 * flight, fewer if their work is long. A round has a budget of GPU time, which is the target. Each
 * submission spends its weight: the usual length of submissions with the same hint (a hash of the
 * function and the grid's size, of the graph, ...). A submission of unknown weight spends a whole
 * round. Weights are learned from how long rounds took. They shape the window only; the account
 * does not depend on them.
 *
 * The weights belong to the process, and any thread may use them without a lock. All else is in
 * struct window; the caller holds the device's lock. The functions read no clock: times are the
 * caller's, in nanoseconds.
 */
#ifndef ALIQUOT_SHIM_TIME_WINDOW_H
#define ALIQUOT_SHIM_TIME_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomic.h"

#define WINDOW_ROUNDS 4u
/* beside other sessions there are fewer rounds, because each costs a marker and one or two looks */
#define WINDOW_SHARED_ROUNDS 2u
/* Target length of a round in GPU time: for a session that is alone, and beside other sessions. */
#define WINDOW_TARGET_NS UINT64_C(2500000)
#define WINDOW_SHARED_NS UINT64_C(1000000)

/* The unit of budgets and weights. The greatest weight is longer than any target. */
#define WINDOW_UNIT_NS UINT64_C(40)
#define WINDOW_WEIGHT_MAX UINT16_MAX
/* Number of weights: one for each hint. */
#define WINDOW_HINTS 4096u
#define WINDOW_HINT_BITS 12

/* The weights by hint. Each value is the weight plus one; 0 means unknown, which window_weight()
 * turns into the greatest weight. */
extern _Atomic uint16_t window_weights[WINDOW_HINTS];

/* Returns the weight of submissions with this hint. */
static inline uint32_t window_weight(uint32_t hint)
{
        return (uint16_t)(load_relaxed(&window_weights[hint]) - 1);
}

/* Returns the hint for submissions to `what` with this size. Sizes of the same power of two have
 * the same hint. */
static inline uint32_t window_hint(uint64_t what, uint64_t size)
{
        uint64_t order = 63u - (unsigned)__builtin_clzll(size | 1);

        return (uint32_t)((what ^ order << 56) * UINT64_C(0x9e3779b97f4a7c15) >>
                          (64 - WINDOW_HINT_BITS));
}

/* Maximum number of a round's submissions from which weights are learned. */
#define WINDOW_SAMPLES 8u

struct window_round {
        uint32_t units; /* units of the budget that were given out, by weights */
        uint32_t samples;
        struct window_sample {
                uint16_t hint, weight;
        } sample[WINDOW_SAMPLES];
        uint64_t begin_ns; /* when the first submission of the round passed the gate */
};

struct window {
        uint32_t left; /* units left of the budget of the round being filled */
        /* the round being filled */
        struct window_round filling;
        uint32_t cleared; /* how often the window was emptied */
        /* index of the oldest round, and number of rounds in flight */
        uint32_t first, count;
        struct window_round round[WINDOW_ROUNDS]; /* ring of the rounds in flight */
        uint64_t passed_ns; /* when the last round was seen complete; 0: never */
        uint64_t took_ns;   /* estimate of how long the last complete round took */
};

/* Whether the round being filled is full and the window has room for it, so that it must be
 * closed. */
static inline bool window_is_due(const struct window *window)
{
        return window->filling.units && !window->left && window->count < WINDOW_ROUNDS;
}

/* Empties the window, because nothing is in flight any more. The learned weights stay. */
void window_clear(struct window *window);

/* A request for a part of the window. */
struct window_wish {
        uint32_t hint;
        /* target length of a round */
        uint64_t target_ns;
        uint64_t now_ns;
        bool is_single; /* take units for this submission only */
        /* other sessions are on the device: at most WINDOW_SHARED_ROUNDS rounds are in flight */
        bool is_shared;
};

/* Takes units of the round being filled, for a submission with that hint and some more. Returns
 * the number of units. Returns 0 if the round is full, so that window_close() is next, or if the
 * window is full. */
uint32_t window_take(struct window *window, const struct window_wish *wish);

/* Returns when the window has room for another round, by the weights; UINT64_MAX: not before a
 * round is seen complete. */
uint64_t window_room_ns(const struct window *window, const struct window_wish *wish);

/* Returns units that were taken and not spent to the round being filled. */
void window_give_back(struct window *window, uint32_t units);

/* Takes one submission beyond the window. It becomes part of the round being filled. */
uint32_t window_take_beyond(struct window *window, const struct window_wish *wish);

/* Closes a full round that has its markers, and begins the next one. Returns the index of the
 * closed round. */
uint32_t window_close(struct window *window);

/* When rounds were seen complete: at the look at `now_ns`, and not yet at `seen_ns`. Where looks
 * are rare, seen_ns is now_ns, and the rounds count as completed just now. */
struct window_looks {
        uint64_t seen_ns;
        uint64_t now_ns;
        /* When the gate was last seen closed. Rounds that began before that may have waited for
         * other sessions' work, so their length says nothing about their own work. */
        uint64_t shut_ns;
};

/* Takes the `passed` oldest rounds out of the window, and learns weights from how long they
 * took. */
void window_pass(struct window *window, uint32_t passed, const struct window_looks *looks);

/* Returns when to look next while another session waits until the whole window is complete. The
 * first look is when half of the rest should be complete, by the weights. Later looks follow in
 * short intervals around the expected end, and in longer ones the later it gets. Without known
 * weights, looks are frequent. */
uint64_t window_over_ns(const struct window *window, uint64_t looked_ns);

/* Returns when to look next otherwise: shortly before half of the rounds should be complete;
 * after a look at that time, some time later. */
uint64_t window_due_ns(const struct window *window, uint64_t looked_ns);

#endif
