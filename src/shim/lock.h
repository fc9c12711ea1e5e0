/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock private to the process: four bytes, all zero is free, a futex when contended.
 *
 * Not a pthread mutex, because it lies in memory that the kernel wipes in a forked child (where
 * it is then free), and because neither path may reach the heap or a cancellation point. It is
 * not recursive, and is held for nanoseconds, or for one walk over dead slots.
 */
#ifndef ALIQUOT_SHIM_LOCK_H
#define ALIQUOT_SHIM_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomic.h"

struct lock {
        _Atomic uint32_t word; /* 0 free, 1 held, 2 held and a thread sleeps */
};

void lock_wait(struct lock *lock);
void lock_wake(struct lock *lock);

/* Takes the lock if it is free; false: it is held. */
static inline bool lock_try(struct lock *lock)
{
        uint32_t expected = 0;

        return cas_acq_rel(&lock->word, &expected, 1);
}

static inline void lock_take(struct lock *lock)
{
        if (!lock_try(lock))
                lock_wait(lock);
}

static inline void lock_drop(struct lock *lock)
{
        if (swap_acq_rel(&lock->word, 0) == 2)
                lock_wake(lock);
}

#endif
