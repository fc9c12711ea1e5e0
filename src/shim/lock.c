/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contended half of lock.h: spin a little, then sleep.
 */
#include "shim/lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* About as long as an uncontended charge takes. */
#define SPINS 64

static void futex(struct lock *lock, int operation, uint32_t value)
{
        int saved = errno;

        syscall(SYS_futex, &lock->word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
        errno = saved;
}

void lock_wait(struct lock *lock)
{
        for (int i = 0; i < SPINS; i++) {
                uint32_t expected = 0;

                if (load_relaxed(&lock->word) == 0 && cas_acq_rel(&lock->word, &expected, 1))
                        return;
        }
        while (swap_acq_rel(&lock->word, 2) != 0)
                futex(lock, FUTEX_WAIT, 2);
}

void lock_wake(struct lock *lock)
{
        futex(lock, FUTEX_WAKE, 1);
}
