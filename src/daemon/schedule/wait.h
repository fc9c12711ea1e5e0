/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for any of many words that other processes raise.
 *
 *      bells_begin(&bells, &own);              // the value of `own` now, before anything is read
 *      ... read each word, then the data that it announces ...
 *      bells_add(&bells, seat_bell(seat), seen, entry);
 *      end = bells_wait(&bells, deadline, look);
 *      if (end >= 0)
 *              ... bells.entry[end] rang ...
 *
 * Uses clock_wait_any() for as many words as that allows: those added first. Each word costs time.
 * The other words, and those that the caller left out, are polled every BELLS_REST_NS. If the
 * kernel lacks it (before Linux 5.16), only the own word wakes the thread: a wait ends after `look`
 * nanoseconds.
 *
 * `bells` belongs to the waiting thread, and borrows the words until the wait ends; any thread may
 * call bells_ring().
 */
#ifndef ALIQUOT_DAEMON_SCHEDULE_WAIT_H
#define ALIQUOT_DAEMON_SCHEDULE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"

#define BELLS_MAX CLOCK_WORDS
#define BELLS_REST_NS UINT64_C(20000000)

struct bells {
        unsigned count;
        bool has_more; /* some words were not added */
        bool is_alone; /* only the own word can be waited for; bells_begin() keeps this */
        const _Atomic uint32_t *word[BELLS_MAX];
        uint32_t seen[BELLS_MAX];
        unsigned entry[BELLS_MAX]; /* the caller's number for it; none for the own word */
};

/* How a wait ended, other than by one known bell. */
enum bells_end {
        BELLS_QUIET = -1, /* no bell until the deadline */
        BELLS_SOME = -2,  /* some bell may have been raised */
        BELLS_GONE = -3,  /* the memory of some bell is gone; there was no wait */
};

/* `own` is a word of this process, raised with bells_ring(). */
void bells_begin(struct bells *ret, const _Atomic uint32_t *own);
void bells_add(struct bells *bells, const _Atomic uint32_t *word, uint32_t seen, unsigned entry);
void bells_pass(struct bells *bells);

/* Returns the index of a raised bell (0: the own one), or an enum bells_end. CLOCK_NEVER: no
 * deadline. May return early. */
int bells_wait(struct bells *bells, uint64_t deadline_ns, uint64_t look_ns);

void bells_ring(_Atomic uint32_t *own);

#endif
