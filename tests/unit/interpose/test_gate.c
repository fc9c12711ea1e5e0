/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shut gate holds every thread that comes to it, and lets each go on with its errno as it was.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "abi/toy.h"
#include "common/atomic.h"
#include "front.h"
#include "interpose/gate.h"

#define THREADS 24
#define CALLS 500

static uint32_t word;
static _Atomic unsigned entered, left, wrong, waits;

static void call_gated(void)
{
        errno = 4711;
        gate_pass();
        if (errno != 4711)
                add_relaxed(&wrong, 1);
}

static void *call_often(void *arg)
{
        add_relaxed(&entered, 1);
        for (unsigned i = 0; i < CALLS; i++)
                call_gated();
        add_relaxed(&left, 1);
        return NULL;
}

static void set_gate(uint32_t value)
{
        __atomic_store_n(&word, value, __ATOMIC_RELEASE);
        syscall(SYS_futex, &word, FUTEX_WAKE, 1 << 20, NULL, NULL, 0);
}

static void run_threads(gate_waiter *waiter)
{
        pthread_t thread[THREADS];

        store_relaxed(&entered, 0);
        store_relaxed(&left, 0);
        gate_use(&word, waiter);
        set_gate(1);
        for (long i = 0; i < THREADS; i++)
                assert_int_equal(pthread_create(&thread[i], NULL, call_often, NULL), 0);
        while (load_relaxed(&entered) < THREADS)
                usleep(1000);
        usleep(20000);
        assert_int_equal(load_relaxed(&left), 0);
        for (int i = 0; i < 200; i++) {
                set_gate(i % 2);
                usleep(200);
        }
        set_gate(0);
        for (int i = 0; i < THREADS; i++)
                pthread_join(thread[i], NULL);
        assert_int_equal(load_relaxed(&wrong), 0);
        assert_int_equal(load_relaxed(&left), THREADS);
}

static void holds_all_threads_by_futex(void **state)
{
        run_threads(NULL);
}

static void spoil_and_yield(const uint32_t *at)
{
        TOY_SPOIL;
        errno = EAGAIN;
        add_relaxed(&waits, 1);
        usleep(50);
}

static void holds_by_a_waiter_of_ours(void **state)
{
        run_threads(spoil_and_yield);
        assert_true(load_relaxed(&waits) >= THREADS);
}

static void open_gate_never_waits(void **state)
{
        store_relaxed(&waits, 0);
        gate_use(&word, spoil_and_yield);
        set_gate(0);
        call_gated();
        assert_int_equal(load_relaxed(&waits), 0);
        assert_int_equal(load_relaxed(&wrong), 0);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(holds_all_threads_by_futex),
                cmocka_unit_test(holds_by_a_waiter_of_ours),
                cmocka_unit_test(open_gate_never_waits),
        };

        /* Nothing wide may run before this, hence the static above. */
        if (!TOY_HAS_WIDE)
                return 77;
        setenv(TOY_VARIABLE, TOY_REAL_PATH, 1);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
