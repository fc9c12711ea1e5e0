/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets our library load with a C library that is older than the one it was built with.
 *
 * Our library is copied into containers. If the C library there lacks one version of one symbol, it
 * refuses the whole file; then LD_PRELOAD has no effect and there is no limit. So the few functions
 * for which glibc has new versions since 2.27 are defined in this file, hidden, through system
 * calls; the linker prefers them to glibc's. tests/system/test_interpose.py checks the list.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"

#define HIDDEN __attribute__((visibility("hidden")))

/* The kernel's struct stat and glibc's struct stat64 are the same on 64-bit machines. */
HIDDEN int fstat64(int fd, struct stat64 *ret);
HIDDEN int fstatat64(int folder, const char *path, struct stat64 *ret, int flags);
HIDDEN int stat64(const char *path, struct stat64 *ret);
HIDDEN int fcntl64(int fd, int command, ...);

int fstat64(int fd, struct stat64 *ret)
{
        return (int)syscall(SYS_fstat, fd, ret);
}

int fstatat64(int folder, const char *path, struct stat64 *ret, int flags)
{
        return (int)syscall(SYS_newfstatat, folder, path, ret, flags);
}

int stat64(const char *path, struct stat64 *ret)
{
        return fstatat64(AT_FDCWD, path, ret, 0);
}

int fcntl64(int fd, int command, ...)
{
        va_list list;
        void *argument;

        va_start(list, command);
        argument = va_arg(list, void *);
        va_end(list);
        return (int)syscall(SYS_fcntl, fd, command, argument);
}

#if __GLIBC_PREREQ(2, 38)
/* GNU headers refer to these functions of C23, which also read numbers with 0b. Here they call
 * the older functions. */
HIDDEN unsigned long __isoc23_strtoul(const char *text, char **end, int base);
HIDDEN unsigned long long __isoc23_strtoull(const char *text, char **end, int base);
HIDDEN long __isoc23_strtol(const char *text, char **end, int base);
HIDDEN long long __isoc23_strtoll(const char *text, char **end, int base);
HIDDEN int __isoc23_sscanf(const char *text, const char *format, ...);

extern unsigned long old_strtoul(const char *text, char **end, int base) __asm__("strtoul");
extern long old_strtol(const char *text, char **end, int base) __asm__("strtol");
extern int old_vsscanf(const char *text, const char *format,
                       va_list list) __asm__("__isoc99_vsscanf");

unsigned long __isoc23_strtoul(const char *text, char **end, int base)
{
        return old_strtoul(text, end, base);
}

unsigned long long __isoc23_strtoull(const char *text, char **end, int base)
{
        return old_strtoul(text, end, base);
}

long __isoc23_strtol(const char *text, char **end, int base)
{
        return old_strtol(text, end, base);
}

long long __isoc23_strtoll(const char *text, char **end, int base)
{
        return old_strtol(text, end, base);
}

int __isoc23_sscanf(const char *text, const char *format, ...)
{
        va_list list;
        int count;

        va_start(list, format);
        count = old_vsscanf(text, format, list);
        va_end(list);
        return count;
}
#endif

/* pthread_atfork() is in libpthread before 2.34, which a program may not have loaded; the
 * function that it calls is in libc. */
HIDDEN int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                             void *library);
extern HIDDEN void *__dso_handle;

int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
        return __register_atfork(prepare, parent, child, &__dso_handle);
}

#define ONCE_RUNS 1
#define ONCE_DONE 2

/* Records the process that runs the routine: a child that is forked meanwhile starts over, as
 * with glibc's function. */
HIDDEN int pthread_once(pthread_once_t *control, void (*routine)(void))
{
        static const struct timespec pause = { .tv_nsec = 50000 };
        _Atomic int *state = (_Atomic int *)control;
        int running = (int)((unsigned)getpid() << 2) | ONCE_RUNS;
        int seen = load_acquire(state);

        while (seen != ONCE_DONE) {
                if (seen == running) {
                        /* does not yield: a real-time thread would spin on its own processor */
                        syscall(SYS_nanosleep, &pause, NULL);
                        seen = load_acquire(state);
                } else if (cas_acq_rel(state, &seen, running)) {
                        routine();
                        store_release(state, ONCE_DONE);
                        return 0;
                }
        }
        return 0;
}
