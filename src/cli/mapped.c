/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/minmax.h"
#include "common/scoped.h"
#include "common/text.h"

#define PIECE_BYTES 65536u

/* For openat2(2), which the oldest supported kernel headers do not have. */
#define OPENAT2 437 /* the number on every architecture */
#define NO_SYMLINKS UINT64_C(0x04)
#define IN_ROOT UINT64_C(0x10)

struct how {
        uint64_t flags, mode, resolve;
};

/* Opens the mapped file by its address range, with O_PATH only, which has no effects on the
 * file. */

static int find_by_range(const char *pid, const struct maps *at)
{
        char path[96];
        int fd, rc = text_put(path, sizeof(path), NULL, "/proc/%s/map_files/%" PRIx64 "-%" PRIx64,
                              pid, at->begin, at->end);

        if (rc < 0)
                return rc;
        fd = open(path, O_PATH | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* Opens the mapped file by its name. Before Linux 5.6, or if a filter forbids openat2(), links are
 * followed except in the last component. That is harmless, because the caller checks that it is the
 * same file before it opens the file for reading. */
static int find_by_name(const char *pid, const struct maps *at)
{
        struct how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                           .resolve = IN_ROOT | NO_SYMLINKS };
        char path[64];
        scoped_fd int root = -1;
        int fd, rc = text_put(path, sizeof(path), NULL, "/proc/%s/root", pid);

        if (rc < 0)
                return rc;
        root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
                return -errno;
        fd = (int)syscall(OPENAT2, root, at->path, &how, sizeof(how));
        if (fd < 0 && (errno == ENOSYS || errno == EPERM))
                fd = openat(root, at->path + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* Opens the file that `found` refers to for reading. Without O_NONBLOCK, a process with a lease on
 * the file could block this one (F_SETLEASE, fcntl(2)). */
static int open_found(int found)
{
        char path[64];
        int fd, rc = text_put(path, sizeof(path), NULL, "/proc/self/fd/%d", found);

        if (rc < 0)
                return rc;
        fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

int mapped_open(const char *pid, const struct maps *at)
{
        scoped_fd int found = find_by_range(pid, at);
        bool is_certain = found >= 0;
        struct stat st;

        if (!is_certain)
                found = find_by_name(pid, at);
        if (found < 0)
                return found;
        if (fstat(found, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EACCES;
        if (!is_certain && st.st_ino != at->inode)
                return -ESTALE;
        return open_found(found);
}

bool mapped_has(int fd, const void *word, size_t bytes, uint64_t *budget)
{
        char piece[MAPPED_WORD_MAX + PIECE_BYTES];
        size_t kept = 0; /* bytes of the previous piece: the word may begin there */
        uint64_t at = 0;
        struct stat st;
        ssize_t got;

        if (bytes > MAPPED_WORD_MAX || fstat(fd, &st) < 0 || (uint64_t)st.st_size > *budget)
                return false;
        while (at < (uint64_t)st.st_size &&
               (got = pread(fd, piece + kept, PIECE_BYTES, (off_t)at)) > 0) {
                size_t length = kept + (size_t)got;

                at += (size_t)got;
                *budget -= min_u64(*budget, (uint64_t)got);
                if (memmem(piece, length, word, bytes))
                        return true;
                kept = length < bytes ? length : bytes - 1;
                memmove(piece, piece + length - kept, kept);
        }
        return false;
}
