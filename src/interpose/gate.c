/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's word is read through one pointer, which is replaced at most once in practice. A thread
 * that only tests the gate reads pointer and word relaxed, since no other data depends on them. A
 * thread that waits reads the pointer with acquire, and so sees the waiter that was stored before
 * the pointer.
 */
#include "interpose/gate.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* If the owner dies between opening the gate and waking the waiters, they read the word again after
 * this time. */
#define LOOK_AGAIN_NS 50000000

static const uint32_t always_open;
static gate_waiter *gate_waits;

const uint32_t *gate_word = &always_open;

static void wait_on_word(const uint32_t *word)
{
        static const struct timespec look_again = { .tv_nsec = LOOK_AGAIN_NS };
        uint32_t value = load_plain_acquire(word);

        /* Without FUTEX_PRIVATE_FLAG, since the owner wakes the word from another process. */
        if (value != 0)
                syscall(SYS_futex, word, FUTEX_WAIT, value, &look_again, NULL, 0);
}

void gate_use(const uint32_t *word, gate_waiter *waiter)
{
        store_plain_release(&gate_waits, waiter);
        store_plain_release(&gate_word, word);
}

void gate_wait(void)
{
        int saved_errno = errno;

        for (;;) {
                const uint32_t *word = load_plain_acquire(&gate_word);
                gate_waiter *waiter = load_plain_acquire(&gate_waits);

                if (load_plain_acquire(word) == 0)
                        break;
                (waiter ? waiter : wait_on_word)(word);
        }
        errno = saved_errno;
}
