/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File locks that show liveness; liveness.h has the contract. System calls are made directly,
 * because the libc wrappers of open and fcntl are cancellation points, and a thread that is
 * cancelled in one would never release the caller's private lock. All calls on a descriptor are
 * made directly, because the thread sanitizer would otherwise see only some of them.
 */
#include "store/liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/atomic.h"
#include "store/raw.h"

/* Programs rely on the low numbers: shells, daemons that close 0..255, select(). */
#define LOWEST_DESCRIPTOR 512

/* The file's owner can hold a lease on it, for which an open() without O_NONBLOCK would wait 45
 * s. */
#define OPEN_FLAGS (O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

static struct flock lock_of(short type, uint64_t byte, uint64_t count)
{
        return (struct flock){
                .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)byte, .l_len = (off_t)count
        };
}

static int lock_bytes(int fd, int command, struct flock *lock)
{
        return (int)raw_call(SYS_fcntl, fd, command, (long)lock);
}

static int is_the_mapped_file(int fd, const struct liveness_file *file)
{
        struct stat st = { 0 };
        int rc = (int)raw_call(SYS_fstat, fd, (long)&st);

        if (rc < 0)
                return rc;
        if ((uint64_t)st.st_ino != file->inode || (uint64_t)st.st_dev != file->device)
                return -ESTALE;
        return 0;
}

int liveness_raise(int fd)
{
        int high = (int)raw_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR);

        if (high < 0)
                return fd;
        liveness_close(fd);
        return high;
}

/* Returns the opened descriptor, moved above 511, if it is of the mapped file; else closes it. */
static int take_up(int fd, const struct liveness_file *file)
{
        int rc;

        if (fd < 0)
                return fd;
        fd = liveness_raise(fd);
        rc = is_the_mapped_file(fd, file);
        if (rc < 0) {
                liveness_close(fd);
                return rc;
        }
        return fd;
}

/* Opens the file of the descriptor anew. First checks that it is the mapped file, because
 * opening another file that has the number could have side effects. */
static int open_again(int fd, const struct liveness_file *file)
{
        int rc = fd < 0 ? -EBADF : is_the_mapped_file(fd, file);
        char path[32];

        if (rc < 0)
                return rc;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        return take_up((int)raw_call(SYS_openat, AT_FDCWD, (long)path, OPEN_FLAGS), file);
}

void liveness_keep(struct liveness_kept *kept, int fd)
{
        if (fd >= LOWEST_DESCRIPTOR)
                store_release(&kept->fd, fd);
        else if (fd >= 0)
                liveness_close(fd);
}

/* Opens the file through the kept descriptor, and gets another one if needed. If opening anew
 * does not work (no /proc), no descriptor is kept: the new one is used directly, and each call
 * gets another. */
static int open_kept(const struct liveness_file *file)
{
        struct liveness_kept *kept = file->kept;
        int fd = open_again(load_acquire(&kept->fd), file);
        int given;

        if (fd >= 0)
                return fd;
        given = take_up(kept->renew(), file);
        if (given < 0)
                return given;
        fd = open_again(given, file);
        if (fd < 0)
                return given;
        liveness_keep(kept, given);
        return fd;
}

int liveness_open(const struct liveness_file *file)
{
        if (file->kept)
                return open_kept(file);
        return take_up(
                (int)raw_call(SYS_openat, AT_FDCWD, (long)file->path, OPEN_FLAGS | O_NOFOLLOW),
                file);
}

void liveness_close(int fd)
{
        raw_call(SYS_close, fd);
}

/* The kernel reports a lock without an end with length 0. */
int liveness_find(int fd, struct liveness_range *range)
{
        struct flock lock = lock_of(F_WRLCK, range->first, range->count);
        int rc = lock_bytes(fd, F_OFD_GETLK, &lock);
        uint64_t end = range->first + range->count, first, last;

        if (rc < 0)
                return rc;
        if (lock.l_type == F_UNLCK)
                return 0;
        first = (uint64_t)lock.l_start;
        last = lock.l_len ? first + (uint64_t)lock.l_len : end;
        first = first > range->first ? first : range->first;
        *range = (struct liveness_range){ first, (last < end ? last : end) - first };
        return 1;
}

int liveness_probe_any(int fd, uint64_t byte, uint64_t count)
{
        return liveness_find(fd, &(struct liveness_range){ byte, count });
}

int liveness_probe(int fd, uint64_t byte)
{
        return liveness_probe_any(fd, byte, 1);
}

static int take_byte(const struct liveness_file *file, uint64_t byte, short type, void **ret_pin)
{
        struct flock lock = lock_of(type, byte, 1);
        int fd = liveness_open(file);
        int saved = errno;
        void *pin;
        int rc;

        if (fd < 0)
                return fd;
        rc = lock_bytes(fd, F_OFD_SETLK, &lock);
        if (rc < 0) {
                liveness_close(fd);
                return rc == -EACCES ? -EAGAIN : rc;
        }

        pin = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
        if (pin == MAP_FAILED) {
                rc = -errno;
        } else if (madvise(pin, 1, MADV_DONTFORK) < 0) {
                rc = -errno;
                munmap(pin, 1);
        }
        errno = saved;
        liveness_close(fd);
        if (rc == 0)
                *ret_pin = pin;
        return rc;
}

int liveness_lock(const struct liveness_file *file, uint64_t byte, void **ret_pin)
{
        return take_byte(file, byte, F_WRLCK, ret_pin);
}

int liveness_share(const struct liveness_file *file, uint64_t byte, void **ret_pin)
{
        return take_byte(file, byte, F_RDLCK, ret_pin);
}

void liveness_unlock(void *pin)
{
        int saved = errno;

        munmap(pin, 1);
        errno = saved;
}
