/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Breaks deadlocks at a closed gate. Work in flight may wait for work that waits at the gate (for
 * example, a kernel may spin until a later launch). A closed gate never opens because time passed,
 * with one exception: if a thread waits at it for long and no work in flight ends, one of the
 * thread's submissions passes, and is billed.
 *
 * What happens then decides about the next wait:
 *
 * - Work ends at once: the guess was right. After a second success in a row the next wait is
 * shorter.
 * - The submission completes, but the other work in flight goes on: it may need more submissions.
 * The next time twice
 *   as many pass.
 * - Neither happens: the work in flight was a long kernel. The next wait is twice as long. So a
 * program with long
 *   kernels gains only a few of them.
 *
 * The waits have random lengths, so that for no fixed length of kernels it looks as if a submission
 * had helped.
 *
 * The functions read no clock: times are the caller's, in nanoseconds. The caller holds the
 * device's lock.
 */
#ifndef ALIQUOT_SHIM_TIME_STUCK_H
#define ALIQUOT_SHIM_TIME_STUCK_H

#include <stdbool.h>
#include <stdint.h>

struct stuck {
        uint64_t ended_ns;   /* when work last ended */
        uint64_t let_out_ns; /* when a submission last passed, if no work has ended since; else 0 */
        uint64_t patience_ns; /* how long to wait before a submission passes; 0: the initial time */
        uint64_t draws;
        uint32_t batch; /* number of submissions that passed together the last time; 0: none */
        uint32_t more;  /* how many submissions of this batch may still pass */
        /* the submissions that passed have completed, and the work in flight goes on */
        bool has_run;
        bool has_helped; /* work ended at once when submissions passed the last time */
};

/* Notes that work ended, so nothing is stuck. */
void stuck_not(struct stuck *stuck, uint64_t now_ns);

/* Whether a look must find out if the submissions that passed have completed. */
static inline bool stuck_is_open(const struct stuck *stuck)
{
        return stuck->let_out_ns && !stuck->more && !stuck->has_run;
}

/* Notes that the submissions that passed have completed, and the work in flight goes on. */
void stuck_ran(struct stuck *stuck, uint64_t now_ns);

/* Whether one submission may pass: no work has ended for long, and a thread has waited at the
 * gate since `began_ns`. If it may, counts it. */
bool stuck_for_long(struct stuck *stuck, uint64_t began_ns, uint64_t now_ns);

#endif
