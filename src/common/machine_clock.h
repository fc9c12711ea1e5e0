/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's clock CLOCK_MONOTONIC in nanoseconds, never a simulated one (which common/clock.h
 * may use). Comparable within a process; in a time namespace it has an offset
 * (common/time_namespace.h).
 *
 * A header alone, also for code that does not link our libraries: the simulator, test programs. Any
 * thread, also in a signal handler. Keeps errno, and is no cancellation point.
 */
#ifndef ALIQUOT_COMMON_MACHINE_CLOCK_H
#define ALIQUOT_COMMON_MACHINE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND_NS UINT64_C(1000000000)

/* Also measures how long a driver or a peer takes to answer, whichever clock is followed. */
static inline uint64_t clock_machine_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * CLOCK_SECOND_NS + (uint64_t)now.tv_nsec;
}

/* The processor time of this thread: to bound work that others may lengthen. */
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
