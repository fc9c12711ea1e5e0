/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See clock.h.
 */
#include "shim/clock.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)

uint64_t clock_now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

void clock_sleep_ns(uint64_t ns)
{
        const struct timespec time = { .tv_sec = (time_t)(ns / SECOND_NS),
                                       .tv_nsec = (long)(ns % SECOND_NS) };
        int saved = errno;

        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
        errno = saved;
}
