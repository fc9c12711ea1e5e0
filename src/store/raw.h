/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A system call made raw: no cancellation point, errno kept, the failure as a negative errno.
 *
 * For code that runs with private locks held inside other people's programs, where a thread that is
 * cancelled in open() or connect() would leave them held for ever.
 */
#ifndef ALIQUOT_STORE_RAW_H
#define ALIQUOT_STORE_RAW_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* raw_call(number, up to five arguments); those that are left out are 0. */
#define raw_call(number, ...) raw_call_with((number), (const long[5]){ __VA_ARGS__ })

static inline long raw_call_with(long number, const long argument[5])
{
        int saved = errno;
        long rc = syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4]);

        if (rc < 0)
                rc = -errno;
        errno = saved;
        return rc;
}

#endif
