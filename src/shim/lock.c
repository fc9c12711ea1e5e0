/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contended half of lock.h: spins a little, then sleeps. It sleeps through clock.h, because the
 * holder of the lock may call a driver that keeps its own time, and that driver must know that this
 * thread does nothing meanwhile.
 */
#include "shim/lock.h"

#include "common/clock.h"

/* number of tries before sleeping: they take about as long as an uncontended charge */
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
