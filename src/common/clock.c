/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls are made without the C library, whose wrappers are cancellation points.
 */
#include "common/clock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/cpu_rest.h"
#include "common/time_namespace.h"

/* A wait of at most this length spins: to sleep and wake takes about as long, so a sleep would
 * end late. */
#define SPIN_NS UINT64_C(20000)

static const struct time_authority *_Atomic followed;

void clock_follow(const struct time_authority *authority)
{
        if (authority)
                store_release(&followed, authority);
}

/* Whether to spin until the deadline. Not with a single processor, where no other thread could
 * run meanwhile. */
static bool is_short(uint64_t deadline_ns)
{
        static _Atomic uint32_t processors;
        cpu_set_t set;

        if (deadline_ns > clock_shared_ns() + SPIN_NS)
                return false;
        if (!load_relaxed(&processors))
                store_relaxed(&processors, sched_getaffinity(0, sizeof(set), &set) == 0
                                                   ? (uint32_t)CPU_COUNT(&set)
                                                   /* more processors than a cpu_set_t holds */
                                                   : UINT32_MAX);
        return load_relaxed(&processors) > 1;
}

static bool spin(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns)
{
        while (load_acquire(word) == expected) {
                if (clock_shared_ns() >= deadline_ns)
                        return false;
                cpu_rest();
        }
        return true;
}

static bool machine_wait(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns)
{
        const struct timespec deadline = clock_timespec(clock_own_ns(deadline_ns));
        const struct timespec *until = deadline_ns == CLOCK_NEVER ? NULL : &deadline;

        if (is_short(deadline_ns))
                return spin(word, expected, deadline_ns);
        return syscall(SYS_futex, word, FUTEX_WAIT_BITSET, expected, until, NULL,
                       FUTEX_BITSET_MATCH_ANY) == 0 ||
               errno != ETIMEDOUT;
}

bool clock_is_machine(void)
{
        return !load_acquire(&followed);
}

uint64_t clock_now_ns(void)
{
        const struct time_authority *authority = load_acquire(&followed);
        int saved = errno;
        uint64_t now_ns = authority ? authority->now_ns() : clock_shared_ns();

        errno = saved;
        return now_ns;
}

void clock_sleep_ns(uint64_t ns)
{
        const struct time_authority *authority = load_acquire(&followed);
        const struct timespec time = clock_timespec(ns);
        int saved = errno;

        if (authority)
                authority->sleep_until(authority->now_ns() + ns);
        else
                syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
        errno = saved;
}

bool clock_wait(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns)
{
        const struct time_authority *authority = load_acquire(&followed);
        int saved = errno;
        bool is_early = authority ? authority->wait(word, expected, deadline_ns)
                                  : machine_wait(word, expected, deadline_ns);

        errno = saved;
        return is_early;
}

#if defined(SYS_futex_waitv) && defined(FUTEX_32)
static int machine_wait_any(const _Atomic uint32_t *const word[], const uint32_t expected[],
                            unsigned count, uint64_t deadline_ns)
{
        const struct timespec deadline = clock_timespec(clock_own_ns(deadline_ns));
        struct futex_waitv waits[CLOCK_WORDS];
        long woken;

        for (unsigned i = 0; i < count; i++)
                waits[i] = (struct futex_waitv){ .val = expected[i],
                                                 .uaddr = (uintptr_t)word[i],
                                                 .flags = FUTEX_32 };
        woken = syscall(SYS_futex_waitv, waits, count, 0,
                        deadline_ns == CLOCK_NEVER ? NULL : &deadline, CLOCK_MONOTONIC);
        if (woken >= 0)
                return (int)woken;
        /* EPERM comes from a container's seccomp filter that does not know this newer call. */
        if (errno == EPERM)
                return -ENOSYS;
        return errno == ETIMEDOUT || errno == EFAULT || errno == ENOSYS ? -errno : (int)count;
}
#else
static int machine_wait_any(const _Atomic uint32_t *const word[], const uint32_t expected[],
                            unsigned count, uint64_t deadline_ns)
{
        return -ENOSYS;
}
#endif

int clock_wait_any(const _Atomic uint32_t *const word[], const uint32_t expected[], unsigned count,
                   uint64_t deadline_ns)
{
        const struct time_authority *authority = load_acquire(&followed);
        int saved = errno, rc;

        if (!authority)
                rc = machine_wait_any(word, expected, count, deadline_ns);
        else
                rc = authority->wait_any(word, expected, count, deadline_ns) ? (int)count
                                                                             : -ETIMEDOUT;
        errno = saved;
        return rc;
}

void clock_wake(const _Atomic uint32_t *word, uint32_t count)
{
        const struct time_authority *authority = load_acquire(&followed);
        int saved = errno;

        if (authority)
                authority->wake(word, count);
        else
                syscall(SYS_futex, word, FUTEX_WAKE, count < INT_MAX ? count : INT_MAX, NULL, NULL,
                        0);
        errno = saved;
}

void clock_join(enum time_role role)
{
        const struct time_authority *authority = load_acquire(&followed);
        int saved = errno;

        if (authority)
                authority->join(role);
        errno = saved;
}

void clock_leave(void)
{
        const struct time_authority *authority = load_acquire(&followed);
        int saved = errno;

        if (authority)
                authority->leave();
        errno = saved;
}

/* Returns the authority if its table has expect(), begin() and forget(), which older tables lack;
 * else NULL. */
static const struct time_authority *authority_that_expects(void)
{
        const struct time_authority *authority = load_acquire(&followed);

        return authority && authority->bytes >= sizeof(*authority) ? authority : NULL;
}

uint32_t clock_expect(enum time_role role)
{
        const struct time_authority *authority = authority_that_expects();
        int saved = errno;
        uint32_t expected = authority ? authority->expect(role) : TIME_NOBODY;

        errno = saved;
        return expected;
}

void clock_begin(uint32_t expected, enum time_role role)
{
        int saved = errno;

        if (expected == TIME_NOBODY)
                clock_join(role);
        else
                authority_that_expects()->begin(expected);
        errno = saved;
}

void clock_forget(uint32_t expected)
{
        int saved = errno;

        if (expected != TIME_NOBODY)
                authority_that_expects()->forget(expected);
        errno = saved;
}
