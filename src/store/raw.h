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

static inline long raw_call(long number, long a, long b, long c, long d, long e)
{
        int saved = errno;
        long rc = syscall(number, a, b, c, d, e);

        if (rc < 0)
                rc = -errno;
        errno = saved;
        return rc;
}

#endif
