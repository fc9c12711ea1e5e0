/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the holder of a lock on a file in the kernel's list of locks (/proc/locks, proc(5)). This
 * is for callers that cannot or must not open the file: closing it would drop all POSIX locks that
 * the process holds on it.
 *
 * Any thread; takes no lock. If other processes take and drop locks while the list is read, a lock
 * can be missing from it. For each page of the list the kernel walks through all locks before that
 * page (163,000 locks take six seconds, Linux 6.12, 2026-11-27), and any user can hold as many
 * locks as they like. So a search uses at most FILE_LOCKS_NS of processor time.
 */
#ifndef ALIQUOT_COMMON_FILE_LOCKS_H
#define ALIQUOT_COMMON_FILE_LOCKS_H

#include <sys/types.h>

#define FILE_LOCKS_NS 100000000

/* The result of a search. */
enum file_locks {
        FILE_LOCKS_NONE,    /* no process holds such a lock, or there is no /proc */
        FILE_LOCKS_HELD,    /* a process holds such a lock */
        FILE_LOCKS_UNKNOWN, /* the list was too long to read all of it */
};

/* Searches for a lock on the file `path`. `kind` ("POSIX" or "FLOCK") and `mode` ("READ" or
 * "WRITE") are as in the list; a `mode` of NULL matches any. If `ret_pid` is not NULL, sets it to
 * the holder; 0: none was found, or this PID namespace does not contain the holder. */
enum file_locks file_locks_find(const char *path, const char *kind, const char *mode,
                                pid_t *ret_pid);

#endif
