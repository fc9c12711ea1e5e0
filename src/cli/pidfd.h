/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of the system calls about processes that are held: younger than the oldest glibc
 * that we run with. They are the same on every architecture.
 */
#ifndef ALIQUOT_CLI_PIDFD_H
#define ALIQUOT_CLI_PIDFD_H

#include <sys/syscall.h>

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#endif
