/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for any of many bells: futex words that other processes raise.
 *
 *      bells_begin(&bells, &own);              // reads `own` before any data is read
 *      ... read each word, then the data that it announces ...
 *      bells_add(&bells, seat_bell(seat), seen, entry);
 *      end = bells_wait(&bells, deadline, look);
 *      if (end >= 0)
 *              ... bells.entry[end] rang ...
 *
 * Waits with clock_wait_any() for the first BELLS_MAX words added; each word costs time. If there
 * are further words, or bells_pass() was called for words that the caller left out, the wait ends
 * after BELLS_REST_NS, so that the caller can poll them. If the kernel has no futex_waitv() (before
 * Linux 5.16), only the own word wakes the thread, and a wait ends after `look` nanoseconds.
 *
 * Only the waiting thread uses `bells`, which borrows the words until the wait ends. Any thread may
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
        bool has_more; /* some words were not added, so the caller must poll them */
        /* the kernel can only wait for the own word; bells_begin() keeps this value */
        bool is_alone;
        const _Atomic uint32_t *word[BELLS_MAX];
        uint32_t seen[BELLS_MAX];
        unsigned entry[BELLS_MAX]; /* the caller's number of the word; not used for the own word */
};

/* How a wait ended, if no single raised word is known. */
enum bells_end {
        BELLS_QUIET = -1, /* no word was raised until the deadline */
        BELLS_SOME = -2,  /* some word may have been raised */
        BELLS_GONE = -3,  /* the memory of some word is gone, so the call returned at once */
};

/* bells_begin() starts a new list. `own` is a word of this process, which bells_ring() raises. */
void bells_begin(struct bells *ret, const _Atomic uint32_t *own);
void bells_add(struct bells *bells, const _Atomic uint32_t *word, uint32_t seen, unsigned entry);
void bells_pass(struct bells *bells);

/* Returns the index of a raised word (0: the own one), or an enum bells_end. deadline_ns
 * CLOCK_NEVER: no deadline. May return early. */
int bells_wait(struct bells *bells, uint64_t deadline_ns, uint64_t look_ns);

void bells_ring(_Atomic uint32_t *own);

#endif
