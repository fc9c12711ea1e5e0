/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for any of many words that other processes raise.
 *
 *      bells_begin(&bells, &own);              // what it holds now, before anything is read
 *      ... look at what the words are about, after what each of them holds ...
 *      bells_add(&bells, seat_bell(seat), seen);
 *      bells_wait(&bells, deadline, look);     // until one was raised since, or the time is over
 *
 * By clock_wait_any(), up to its words: those added first. Each costs. The others, and those that
 * were passed over since they are not expected to be raised, are looked at each BELLS_REST_NS.
 * Where the kernel lacks it (before Linux 5.16) only the own word wakes: all others are looked at
 * each `look` nanoseconds.
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
        const _Atomic uint32_t *word[BELLS_MOST];
        uint32_t seen[BELLS_MOST];
};

/* `own` is a word of this process, raised with bells_ring(). */
void bells_begin(struct bells *ret, const _Atomic uint32_t *own);
void bells_add(struct bells *bells, const _Atomic uint32_t *word, uint32_t seen);
void bells_pass(struct bells *bells);

/* CLOCK_NEVER: no end. May return early. False: nothing was heard until then. */
bool bells_wait(const struct bells *bells, uint64_t deadline_ns, uint64_t look_ns);

void bells_ring(_Atomic uint32_t *own);

#endif
