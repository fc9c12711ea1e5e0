/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a system call directly: it is no cancellation point, keeps errno, and returns a negative
 * errno on failure.
 *
 * For code that holds private locks inside other people's programs: if a thread were cancelled in
 * open() or connect(), it would never release them.
 */
#ifndef ALIQUOT_STORE_RAW_H
#define ALIQUOT_STORE_RAW_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* raw_call(number, up to five arguments). Arguments that are left out are 0. */
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
