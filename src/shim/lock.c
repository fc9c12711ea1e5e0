/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contended half of lock.h: spins a little, then sleeps. It waits by clock.h, because the
 * holder may call a driver with its own time, which must know that this thread does nothing
 * meanwhile.
 */
#include "shim/lock.h"

#include "common/clock.h"

/* About as long as an uncontended charge takes. */
#define SPINS 64

void lock_wait(struct lock *lock)
{
        for (int i = 0; i < SPINS; i++) {
                uint32_t expected = 0;

                if (load_relaxed(&lock->word) == 0 && cas_acq_rel(&lock->word, &expected, 1))
                        return;
        }
        while (swap_acq_rel(&lock->word, 2) != 0)
                clock_wait(&lock->word, 2, CLOCK_NEVER);
}

void lock_wake(struct lock *lock)
{
        clock_wake(&lock->word, 1);
}
