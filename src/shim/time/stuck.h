/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Breaks deadlocks at a shut gate. Work in flight may wait for work that waits at the gate (for
 * example a kernel that spins until a later launch). A shut gate never opens because time passed,
 * with this exception: if a thread waits there for long and no work in flight ends, one of its
 * submissions passes, and is billed.
 *
 * If work then ends at once, the guess was right; after a second success in a row the next wait is
 * shorter. If the submission runs beside the work in flight, and that goes on, more submissions may
 * be needed: the next time twice as many pass. If neither happens, the work in flight was a long
 * kernel, and the next wait is twice as long. So a program with long kernels gains only a few of
 * them. The waits are random, so that no fixed length of kernels looks as if a submission had
 * helped.
 *
 * Pure: times are the caller's, in nanoseconds. Runs under the device's lock.
 */
#ifndef ALIQUOT_SHIM_TIME_STUCK_H
#define ALIQUOT_SHIM_TIME_STUCK_H

#include <stdbool.h>
#include <stdint.h>

struct stuck {
        uint64_t ended_ns;    /* when work last ended, */
        uint64_t let_out_ns;  /* or when a submission passed and no work has ended since; 0: none */
        uint64_t patience_ns; /* how long to wait; 0: the first value */
        uint64_t draws;
        uint32_t batch;  /* submissions that passed together the last time; 0: none */
        uint32_t more;   /* how many of them are still to come */
        bool has_run;    /* they ran, and the work in flight goes on */
        bool has_helped; /* the last time work ended at once */
};

/* Notes that work ended: nothing is stuck. */
void stuck_not(struct stuck *stuck, uint64_t now_ns);

/* Whether a look must find out if the submissions that passed have completed. */
static inline bool stuck_is_open(const struct stuck *stuck)
{
        return stuck->let_out_ns && !stuck->more && !stuck->has_run;
}

/* Notes that the submissions that passed have completed, and the work in flight goes on. */
void stuck_ran(struct stuck *stuck, uint64_t now_ns);

/* Whether one submission may pass: no work has ended for long, and a thread has waited at the gate
 * since `began_ns`. */
bool stuck_for_long(struct stuck *stuck, uint64_t began_ns, uint64_t now_ns);

#endif
