/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/schedule/wait.h"

#include <errno.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "common/minmax.h"

static void add_bell(struct bells *bells, const _Atomic uint32_t *word, uint32_t seen,
                     unsigned entry)
{
        bells->word[bells->count] = word;
        bells->entry[bells->count] = entry;
        bells->seen[bells->count++] = seen;
}

void bells_begin(struct bells *ret, const _Atomic uint32_t *own)
{
        ret->count = 0;
        ret->has_more = false;
        add_bell(ret, own, load_acquire(own), 0);
}

void bells_add(struct bells *bells, const _Atomic uint32_t *word, uint32_t seen, unsigned entry)
{
        if (bells->count < BELLS_MAX)
                add_bell(bells, word, seen, entry);
        else
                bells->has_more = true;
}

void bells_pass(struct bells *bells)
{
        bells->has_more = true;
}

static uint64_t sooner(uint64_t deadline_ns, uint64_t in_ns)
{
        uint64_t then_ns = clock_now_ns() + in_ns;

        return min_u64(then_ns, deadline_ns);
}

/* Waits for the thread's own word only, because the kernel cannot wait for several. */
static int wait_alone(struct bells *bells, uint64_t deadline_ns, uint64_t look_ns)
{
        bells->is_alone = true;
        return clock_wait(bells->word[0], bells->seen[0], sooner(deadline_ns, look_ns))
                       ? 0
                       : BELLS_QUIET;
}

int bells_wait(struct bells *bells, uint64_t deadline_ns, uint64_t look_ns)
{
        int rc;

        if (bells->has_more)
                deadline_ns = sooner(deadline_ns, BELLS_REST_NS);
        rc = clock_wait_any(bells->word, bells->seen, bells->count, deadline_ns);
        if (rc == -ENOSYS)
                return wait_alone(bells, deadline_ns, look_ns);
        if (rc == -ETIMEDOUT)
                return BELLS_QUIET;
        if (rc == -EFAULT)
                return BELLS_GONE;
        if ((unsigned)rc < bells->count)
                return rc;
        return load_acquire(bells->word[0]) == bells->seen[0] ? BELLS_SOME : 0;
}

void bells_ring(_Atomic uint32_t *own)
{
        add_acq_rel(own, 1);
        clock_wake(own, 1);
}
