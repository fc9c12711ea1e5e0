/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock private to the process: four bytes, all zero is free, a futex when contended.
 *
 * It is not a pthread mutex, because it is in memory that the kernel wipes in a forked child (where
 * the lock is then free), and because neither the fast nor the slow path may reach the heap or a
 * cancellation point. It is not recursive, and is held for nanoseconds, or for one pass over dead
 * slots.
 */
#ifndef ALIQUOT_SHIM_LOCK_H
#define ALIQUOT_SHIM_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomic.h"

struct lock {
        _Atomic uint32_t word; /* 0: free; 1: held; 2: held, and a thread sleeps */
};

void lock_wait(struct lock *lock);
void lock_wake(struct lock *lock);

/* Takes the lock if it is free. Returns false if it is held. */
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
