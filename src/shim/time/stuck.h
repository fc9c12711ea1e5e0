/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shut gate never opens because time passed, but for this: what is in flight may be waiting for
 * what stands before the gate (a kernel that spins for a later launch). Whoever stands there while
 * nothing ends, for long, has one submission let through, and is billed for it.
 *
 * If something ends at once then it was so; if it does again, the next one waits for less. If what
 * was let through runs beside what is in flight, and that goes on, it may need more: twice as many
 * are let through the next time. If it does neither it was a long kernel, and the next one waits
 * for twice as long: so whoever has long kernels gains a few of them and no more. How long is drawn
 * at random, so that no length of kernels makes it look as if a submission had helped.
 *
 * Pure: times are the caller's, in nanoseconds. Under the device's lock.
 */
#ifndef ALIQUOT_SHIM_TIME_STUCK_H
#define ALIQUOT_SHIM_TIME_STUCK_H

#include <stdbool.h>
#include <stdint.h>

struct stuck {
        uint64_t ended_ns;    /* something last ended, */
        uint64_t let_out_ns;  /* or was let through, and nothing has ended since; 0: not */
        uint64_t patience_ns; /* 0: the first */
        uint64_t draws;
        uint32_t batch;  /* let through together the last time; 0: none were */
        uint32_t more;   /* of them are still to come */
        bool has_run;    /* they ran, and what is in flight goes on */
        bool has_helped; /* the last time something ended at once */
};

/* Notes that something ended: nothing is stuck. */
void stuck_not(struct stuck *stuck, uint64_t now_ns);

/* Whether what was let through is to be looked at, since it may be over. */
static inline bool stuck_is_open(const struct stuck *stuck)
{
        return stuck->let_out_ns && !stuck->more && !stuck->has_run;
}

/* Notes that what was let through is over, and what is in flight goes on. */
void stuck_ran(struct stuck *stuck, uint64_t now_ns);

/* Nothing has ended for long, and a thread has stood at the gate since `began_ns`: it is let
 * through, with one submission. */
bool stuck_for_long(struct stuck *stuck, uint64_t began_ns, uint64_t now_ns);

#endif
