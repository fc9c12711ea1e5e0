/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's own clock, CLOCK_MONOTONIC, in nanoseconds, and never another's (common/clock.h has
 * the one that may be). Comparable within a process; in a time namespace it has an offset
 * (common/time_namespace.h).
 *
 * A header alone, for those too that link nothing of ours: the simulator, programs of the tests.
 * Any thread, also in a signal handler. Keeps errno, and is no cancellation point.
 */
#ifndef ALIQUOT_COMMON_MACHINE_CLOCK_H
#define ALIQUOT_COMMON_MACHINE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND_NS UINT64_C(1000000000)

/* How long a driver or a peer takes to answer is a matter of this clock, whichever is followed. */
static inline uint64_t clock_machine_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * CLOCK_SECOND_NS + (uint64_t)now.tv_nsec;
}

/* What this thread has used of a processor: for bounds on work that others may lengthen. */
static inline uint64_t clock_thread_ns(void)
{
        struct timespec used = { 0 };

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        return (uint64_t)used.tv_sec * CLOCK_SECOND_NS + (uint64_t)used.tv_nsec;
}

static inline struct timespec clock_timespec(uint64_t ns)
{
        return (struct timespec){ .tv_sec = (time_t)(ns / CLOCK_SECOND_NS),
                                  .tv_nsec = (long)(ns % CLOCK_SECOND_NS) };
}

#endif
