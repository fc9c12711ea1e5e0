/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wall clock that a test can set: preloaded, it shows a program the machine's time and as many
 * nanoseconds more as the eight bytes of the file WALL_CLOCK say, a signed number that may change.
 *
 * A timer on that clock (one of a process: the daemon has no more) is told of a jump as the kernel
 * does it: what waits for it reads ECANCELED.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define LOOK_NS 1000000

static _Atomic int64_t no_offset;
static _Atomic int64_t *offset_ns = &no_offset;
static _Atomic int timer = -1;
static atomic_bool is_cancelled;

static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_timerfd_settime)(int, int, const struct itimerspec *, struct itimerspec *);
static ssize_t (*real_read)(int, void *, size_t);

static struct timespec shifted(struct timespec time, int64_t by_ns)
{
        int64_t ns = time.tv_sec * SECOND_NS + time.tv_nsec + by_ns;

        if (ns < 1)
                ns = 1;
        return (struct timespec){ ns / SECOND_NS, ns % SECOND_NS };
}

static void *watch(void *unused)
{
        int64_t seen = atomic_load(offset_ns);

        for (;; nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL)) {
                const struct itimerspec now = { .it_value = { .tv_nsec = 1 } };

                if (atomic_load(offset_ns) == seen)
                        continue;
                seen = atomic_load(offset_ns);
                atomic_store(&is_cancelled, true);
                if (timer >= 0)
                        real_timerfd_settime(timer, 0, &now, NULL);
        }
        return NULL;
}

__attribute__((constructor)) static void begin(void)
{
        const char *path = getenv("WALL_CLOCK");
        int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        pthread_t thread;
        void *mapped;

        real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
        real_timerfd_settime = dlsym(RTLD_NEXT, "timerfd_settime");
        real_read = dlsym(RTLD_NEXT, "read");
        mapped = mmap(NULL, sizeof(*offset_ns), PROT_READ, MAP_SHARED, fd, 0);
        if (mapped == MAP_FAILED)
                abort();
        offset_ns = mapped;
        close(fd);
        pthread_create(&thread, NULL, watch, NULL);
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
        int rc = real_clock_gettime(clock, ret);

        if (rc == 0 && clock == CLOCK_REALTIME)
                *ret = shifted(*ret, atomic_load(offset_ns));
        return rc;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *old)
{
        struct itimerspec real = *when;

        if (flags & TFD_TIMER_CANCEL_ON_SET) {
                timer = fd;
                if (when->it_value.tv_sec || when->it_value.tv_nsec)
                        real.it_value = shifted(when->it_value, -atomic_load(offset_ns));
        }
        return real_timerfd_settime(fd, flags, &real, old);
}

ssize_t read(int fd, void *ret, size_t bytes)
{
        ssize_t got = real_read(fd, ret, bytes);

        if (fd != timer || got < 0 || !atomic_exchange(&is_cancelled, false))
                return got;
        errno = ECANCELED;
        return -1;
}
