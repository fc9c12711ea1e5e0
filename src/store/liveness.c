/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See liveness.h. System calls are made raw: the libc wrappers of open and fcntl are cancellation
 * points, and a thread cancelled here would leave the private lock held for ever.
 */
#include "store/liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Programs count on the low numbers: shells, daemons that close 0..255, select(). */
#define LOWEST_DESCRIPTOR 512

static long call4(long number, long a, long b, long c, long d)
{
        int saved = errno;
        long rc = syscall(number, a, b, c, d);

        if (rc < 0)
                rc = -errno;
        errno = saved;
        return rc;
}

static int lock_bytes(int fd, int command, struct flock *lock, uint64_t byte, uint64_t count)
{
        lock->l_whence = SEEK_SET;
        lock->l_start = (off_t)byte;
        lock->l_len = (off_t)count;
        return (int)call4(SYS_fcntl, fd, command, (long)lock, 0);
}

static int is_the_mapped_file(int fd, const struct liveness_file *file)
{
        int saved = errno;
        struct stat st;
        int rc = fstat(fd, &st) < 0 ? -errno : 0;

        errno = saved;
        if (rc < 0)
                return rc;
        if ((uint64_t)st.st_ino != file->inode || (uint64_t)st.st_dev != file->device)
                return -ESTALE;
        return 0;
}

int liveness_raise(int fd)
{
        int high = (int)call4(SYS_fcntl, fd, F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR, 0);

        if (high < 0)
                return fd;
        liveness_close(fd);
        return high;
}

int liveness_open(const struct liveness_file *file)
{
        int fd = (int)call4(SYS_openat, AT_FDCWD, (long)file->path,
                            O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0);
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

void liveness_close(int fd)
{
        call4(SYS_close, fd, 0, 0, 0);
}

int liveness_probe_any(int fd, uint64_t byte, uint64_t count)
{
        struct flock lock = { .l_type = F_WRLCK };
        int rc = lock_bytes(fd, F_OFD_GETLK, &lock, byte, count);

        if (rc < 0)
                return rc;
        return lock.l_type != F_UNLCK;
}

int liveness_probe(int fd, uint64_t byte)
{
        return liveness_probe_any(fd, byte, 1);
}

static int take(const struct liveness_file *file, uint64_t byte, short type, void **ret_pin)
{
        struct flock lock = { .l_type = type };
        int fd = liveness_open(file);
        int saved = errno;
        void *pin;
        int rc;

        if (fd < 0)
                return fd;
        rc = lock_bytes(fd, F_OFD_SETLK, &lock, byte, 1);
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
        return take(file, byte, F_WRLCK, ret_pin);
}

int liveness_share(const struct liveness_file *file, uint64_t byte, void **ret_pin)
{
        return take(file, byte, F_RDLCK, ret_pin);
}

void liveness_unlock(void *pin)
{
        int saved = errno;

        munmap(pin, 1);
        errno = saved;
}
