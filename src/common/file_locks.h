/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has a lock on a file, by the kernel's list (/proc/locks, proc(5)): for who may not open the
 * file, or must not, since to close it ends the locks that its own process has there.
 *
 * Any thread; touches no lock. Where others take and drop locks while the list is read, one can be
 * missing in it. The kernel goes through all that stands before a page of the list for each page
 * (163,000 locks take six seconds, Linux 6.12, 2026-11-27), and who likes has as many locks as he
 * likes: it is read for FILE_LOCKS_NS of processor time at most.
 */
#ifndef ALIQUOT_COMMON_FILE_LOCKS_H
#define ALIQUOT_COMMON_FILE_LOCKS_H

#include <sys/types.h>

#define FILE_LOCKS_NS 100000000

enum file_locks {
        FILE_LOCKS_NONE, /* also where there is no list: without /proc */
        FILE_LOCKS_HELD,
        FILE_LOCKS_UNKNOWN, /* the list is too long */
};

/* `kind` and `mode` as they stand there ("POSIX" or "FLOCK", "READ" or "WRITE"); a `mode` of NULL
 * is any. `*ret_pid`, unless it is NULL: with FILE_LOCKS_HELD who has it, 0 where that is nobody
 * whom this PID namespace knows; else 0. */
enum file_locks file_locks_find(const char *path, const char *kind, const char *mode,
                                pid_t *ret_pid);

#endif
