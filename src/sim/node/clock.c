/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real time. A sleep ends by spinning, since a timer on a busy machine is 50 us late.
 */
#include "sim/node/clock.h"

#include <errno.h>
#include <time.h>

#define SECOND_NS 1000000000ULL
#define SPIN_NS 60000

uint64_t sim_now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

void sim_sleep_until(uint64_t deadline_ns)
{
        uint64_t now_ns = sim_now_ns();

        while (now_ns + SPIN_NS < deadline_ns) {
                uint64_t wake_ns = deadline_ns - SPIN_NS;
                struct timespec wake = { .tv_sec = (time_t)(wake_ns / SECOND_NS),
                                         .tv_nsec = (long)(wake_ns % SECOND_NS) };

                clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
                now_ns = sim_now_ns();
        }
        while (now_ns < deadline_ns)
                now_ns = sim_now_ns();
}

void sim_spend(uint64_t duration_ns)
{
        if (duration_ns > 0)
                sim_sleep_until(sim_now_ns() + duration_ns);
}
