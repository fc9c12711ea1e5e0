/* SPDX-License-Identifier: Apache-2.0 */
#include "common/file_locks.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/machine_clock.h"
#include "common/scoped.h"

#define PAGE_BYTES 4096 /* maximum bytes that one read() of /proc/locks returns */

static bool is_one(const char *line, const struct stat *st, const char *kind, const char *mode,
                   pid_t *ret_pid)
{
        char its_kind[16], its_mode[16];
        unsigned its_major, its_minor;
        unsigned long long inode;

        return sscanf(line, "%*s %15s %*s %15s %d %x:%x:%llu", its_kind, its_mode, ret_pid,
                      &its_major, &its_minor, &inode) == 6 &&
               strcmp(its_kind, kind) == 0 && (!mode || strcmp(its_mode, mode) == 0) &&
               inode == st->st_ino && its_major == major(st->st_dev) &&
               its_minor == minor(st->st_dev);
}

enum file_locks file_locks_find(const char *path, const char *kind, const char *mode,
                                pid_t *ret_pid)
{
        uint64_t end_ns = clock_thread_ns() + FILE_LOCKS_NS;
        char buffer[PAGE_BYTES], line[256];
        scoped_file FILE *locks = NULL;
        struct stat st;
        pid_t pid;

        if (ret_pid)
                *ret_pid = 0;
        if (lstat(path, &st) < 0)
                return FILE_LOCKS_NONE;
        locks = fopen("/proc/locks", "re");
        if (!locks)
                return FILE_LOCKS_NONE;
        setvbuf(locks, buffer, _IOFBF, sizeof(buffer));
        while (fgets(line, sizeof(line), locks)) {
                if (is_one(line, &st, kind, mode, &pid)) {
                        if (ret_pid && pid > 0)
                                *ret_pid = pid;
                        return FILE_LOCKS_HELD;
                }
                if (clock_thread_ns() > end_ns)
                        return FILE_LOCKS_UNKNOWN;
        }
        return FILE_LOCKS_NONE;
}
