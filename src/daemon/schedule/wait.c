/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/schedule/wait.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/clock.h"

#define SECOND_NS UINT64_C(1000000000)

static void put(struct bells *bells, const _Atomic uint32_t *word)
{
        bells->word[bells->count] = word;
        bells->seen[bells->count++] = load_acquire(word);
}

void bells_begin(struct bells *ret, const _Atomic uint32_t *own)
{
        ret->count = 0;
        ret->has_more = false;
        put(ret, own);
}

void bells_add(struct bells *bells, const _Atomic uint32_t *word)
{
        if (bells->count < BELLS_MOST)
                put(bells, word);
        else
                bells->has_more = true;
}

/* False: this kernel cannot. */
static bool wait_all(const struct bells *bells, uint64_t deadline_ns)
{
#if defined(SYS_futex_waitv) && defined(FUTEX_32)
        const struct timespec deadline = { .tv_sec = (time_t)(deadline_ns / SECOND_NS),
                                           .tv_nsec = (long)(deadline_ns % SECOND_NS) };
        struct futex_waitv waits[BELLS_MOST];

        for (unsigned i = 0; i < bells->count; i++)
                waits[i] = (struct futex_waitv){ .val = bells->seen[i],
                                                 .uaddr = (uintptr_t)bells->word[i],
                                                 .flags = FUTEX_32 };
        /* EFAULT: a page that went; its reader finds out. */
        return syscall(SYS_futex_waitv, waits, bells->count, 0,
                       deadline_ns == CLOCK_NEVER ? NULL : &deadline, CLOCK_MONOTONIC) >= 0 ||
               (errno != ENOSYS && errno != EINVAL);
#else
        return false;
#endif
}

static uint64_t sooner(uint64_t deadline_ns, uint64_t in_ns)
{
        uint64_t then_ns = clock_now_ns() + in_ns;

        return then_ns < deadline_ns ? then_ns : deadline_ns;
}

void bells_wait(const struct bells *bells, uint64_t deadline_ns, uint64_t look_ns)
{
        if (bells->has_more)
                deadline_ns = sooner(deadline_ns, BELLS_REST_NS);
        if (!clock_is_followed() && wait_all(bells, deadline_ns))
                return;
        clock_wait(bells->word[0], bells->seen[0], sooner(deadline_ns, look_ns));
}

void bells_ring(_Atomic uint32_t *own)
{
        add_acq_rel(own, 1);
        clock_wake(own, 1);
}
