/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The word is read through one pointer that is replaced at most once in practice: relaxed reads
 * are enough, since nothing else is published by it.
 */
#include "interpose/gate.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* An owner that died between opening the gate and waking is noticed after this long. */
#define LOOK_AGAIN_NS 50000000

static const uint32_t always_open;
static gate_waiter *gate_waits;

const uint32_t *gate_word = &always_open;

static void wait_on_word(const uint32_t *word)
{
        static const struct timespec look_again = { .tv_nsec = LOOK_AGAIN_NS };
        uint32_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE);

        /* Not FUTEX_PRIVATE: the owner wakes us from another process. */
        if (value != 0)
                syscall(SYS_futex, word, FUTEX_WAIT, value, &look_again, NULL, 0);
}

void gate_use(const uint32_t *word, gate_waiter *waiter)
{
        __atomic_store_n(&gate_waits, waiter, __ATOMIC_RELEASE);
        __atomic_store_n(&gate_word, word, __ATOMIC_RELEASE);
}

void gate_wait(void)
{
        int saved_errno = errno;

        for (;;) {
                const uint32_t *word = __atomic_load_n(&gate_word, __ATOMIC_ACQUIRE);
                gate_waiter *waiter = __atomic_load_n(&gate_waits, __ATOMIC_ACQUIRE);

                if (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0)
                        break;
                (waiter ? waiter : wait_on_word)(word);
        }
        errno = saved_errno;
}

void *gate_enter(unsigned number)
{
        gate_wait();
        return bind_target(number);
}
