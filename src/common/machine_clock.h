/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's clock CLOCK_MONOTONIC in nanoseconds, never a simulated one (common/clock.h may use
 * a simulated one). Times can be compared within a process; in a time namespace they have an offset
 * (common/time_namespace.h).
 *
 * A header alone, so that code without our libraries can use it: the simulator, test programs. Any
 * thread, even in a signal handler. The functions keep errno, and are no cancellation points.
 */
#ifndef ALIQUOT_COMMON_MACHINE_CLOCK_H
#define ALIQUOT_COMMON_MACHINE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND_NS UINT64_C(1000000000)

/* Returns the machine's time, even if common/clock.h uses an authority's. It also measures how long
 * a driver or a peer takes to answer. */
static inline uint64_t clock_machine_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * CLOCK_SECOND_NS + (uint64_t)now.tv_nsec;
}

/* Returns the processor time of this thread, to limit work whose amount others may increase. */
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
