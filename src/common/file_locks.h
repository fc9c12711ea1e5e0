/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the holder of a lock on a file in the kernel's list (/proc/locks, proc(5)), for callers
 * that cannot open the file, or must not: closing it drops all POSIX locks that their process holds
 * on it.
 *
 * Any thread; takes no lock. If other processes take and drop locks while the list is read, a lock
 * can be missing from it. For each page of the list the kernel walks through all locks before it
 * (163,000 locks take six seconds, Linux 6.12, 2026-11-27), and any user can hold as many locks as
 * they like. So a search takes at most FILE_LOCKS_NS of processor time.
 */
#ifndef ALIQUOT_COMMON_FILE_LOCKS_H
#define ALIQUOT_COMMON_FILE_LOCKS_H

#include <sys/types.h>

#define FILE_LOCKS_NS 100000000

enum file_locks {
        FILE_LOCKS_NONE, /* also without /proc */
        FILE_LOCKS_HELD,
        FILE_LOCKS_UNKNOWN, /* the list is too long */
};

/* `kind` and `mode` as in the list ("POSIX" or "FLOCK", "READ" or "WRITE"); a `mode` of NULL
 * matches any. `*ret_pid`, unless NULL: with FILE_LOCKS_HELD the holder, 0 if this PID namespace
 * does not contain it; else 0. */
enum file_locks file_locks_find(const char *path, const char *kind, const char *mode,
                                pid_t *ret_pid);

#endif
