/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of the pidfd system calls, which the oldest supported glibc lacks (they are the same
 * on all architectures), and a check for pidfds.
 */
#ifndef ALIQUOT_COMMON_PIDFD_H
#define ALIQUOT_COMMON_PIDFD_H

#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/scoped.h"

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* Whether pidfds work in this process: Linux 5.3 or later, and no seccomp filter refuses them. If
 * false, errno says why. Any thread. */
static inline bool pidfd_is_there(void)
{
        scoped_fd int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

        return fd >= 0;
}

#endif
