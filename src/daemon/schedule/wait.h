/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for any of many words that other processes raise.
 *
 *      bells_begin(&bells, &own);              // what it holds now, before anything is read
 *      ... look at what the words are about, after what each of them holds ...
 *      bells_add(&bells, seat_bell(seat), seen, entry);
 *      end = bells_wait(&bells, deadline, look);
 *      if (end >= 0)
 *              ... bells.entry[end] rang ...
 *
 * By clock_wait_any(), up to its words: those added first. Each costs. The others, and those that
 * were passed over since they are not expected to be raised or not to be waited for, are looked at
 * each BELLS_REST_NS. Where the kernel lacks it (before Linux 5.16) only the own word wakes: a wait
 * ends after `look` nanoseconds.
 *
 * `bells` is the thread's that waits, and borrows the words until it has waited; bells_ring() is
 * any thread's.
 */
#ifndef ALIQUOT_DAEMON_SCHEDULE_WAIT_H
#define ALIQUOT_DAEMON_SCHEDULE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"

#define BELLS_MOST CLOCK_WORDS
#define BELLS_REST_NS UINT64_C(20000000)

struct bells {
        unsigned count;
        bool has_more; /* some were not added */
        bool is_alone; /* no word but the own one could be waited for; begin keeps it */
        const _Atomic uint32_t *word[BELLS_MOST];
        uint32_t seen[BELLS_MOST];
        unsigned entry[BELLS_MOST]; /* the caller's number of it; of the own word none */
};

/* How a wait ended, where it was not by one bell that is known. */
enum bells_end {
        BELLS_QUIET = -1, /* nothing was heard until the time was over */
        BELLS_SOME = -2,  /* some bell may have been raised */
        BELLS_GONE = -3,  /* the memory of some bell is gone; nothing was waited for */
};

/* `own` is a word of this process, raised with bells_ring(). */
void bells_begin(struct bells *ret, const _Atomic uint32_t *own);
void bells_add(struct bells *bells, const _Atomic uint32_t *word, uint32_t seen, unsigned entry);
void bells_pass(struct bells *bells);

/* The index of a bell that was raised (0: the own one), or an enum bells_end. CLOCK_NEVER: no end.
 * May return early. */
int bells_wait(struct bells *bells, uint64_t deadline_ns, uint64_t look_ns);

void bells_ring(_Atomic uint32_t *own);

#endif
