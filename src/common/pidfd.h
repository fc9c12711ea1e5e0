/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of the system calls about processes that are held: younger than the oldest glibc
 * that we run with. They are the same on every architecture.
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

/* Whether processes can be held by pidfds here (Linux 5.3, and no filter against it); errno says
 * why not. Any thread. */
static inline bool pidfd_is_there(void)
{
        scoped_fd int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

        return fd >= 0;
}

#endif
