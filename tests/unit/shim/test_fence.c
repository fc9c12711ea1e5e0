/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who shuts a gate knows of each thread whether it may still get to the driver: by membarrier, and
 * where that is barred (a filter of system calls, as containers have) by each thread's own fence.
 */
#include "shim/time/fence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomic.h"
#include "shim/time/credit.h"

#define THREADS 4
#define ROUNDS 60
#define HANG_SECONDS 300
#define MANY 600
#define SMALL_STACK (UINT64_C(128) << 10)
#define LARGE_STACK (UINT64_C(64) << 20) /* more than the C library keeps */

static _Atomic uint32_t gate, epoch, is_over, in_driver, arrived, touched, broken;

/* In the place of the driver's function: what a thread past the check does. */
static void (*driver)(void);

static void touch_memory(void)
{
        add_relaxed(&touched, 1);
}

/* As every call that is no submission: the check, and the driver's function. */
static void call(void)
{
        credit_enter(&credit_here);
        while (load_relaxed(&gate)) {
                credit_leave(&credit_here);
                while (load_acquire(&gate) && !load_acquire(&is_over))
                        usleep(50);
                if (load_acquire(&is_over))
                        return;
                credit_enter(&credit_here);
        }
        driver();
        credit_leave(&credit_here);
}

static void *call_often(void *unused)
{
        threads_join();
        while (!load_acquire(&is_over))
                call();
        return unused;
}

/* -- A thread between the check and the driver ------------------------------------------------ */

static void stand_there(void)
{
        store_release(&in_driver, 1);
        while (load_acquire(&in_driver))
                usleep(100);
        touch_memory();
}

static void *call_once(void *unused)
{
        threads_join();
        call();
        return unused;
}

/* Also a second thread that comes later: it waits. */
static void check_that_who_is_past_the_check_is_waited_for(void)
{
        pthread_t past, later;

        driver = stand_there;
        pthread_create(&past, NULL, call_once, NULL);
        while (!load_acquire(&in_driver))
                usleep(100);
        store_release(&gate, 1);
        driver = touch_memory;
        pthread_create(&later, NULL, call_once, NULL);
        for (unsigned i = 0; i < 100; i++) {
                if (turn_end(&epoch) || load_acquire(&touched))
                        _exit(1);
                usleep(100);
        }
        store_release(&in_driver, 0);
        while (!turn_end(&epoch))
                usleep(100);
        if (load_acquire(&touched) != 1)
                _exit(2);
        store_release(&gate, 0);
        pthread_join(past, NULL);
        pthread_join(later, NULL);
        store_relaxed(&touched, 0);
}

/* Who ends at the gate is out, however many end while they are looked at. */
static void check_that_threads_that_end_are_not_waited_for(void)
{
        pthread_t thread;

        driver = touch_memory;
        for (unsigned i = 0; i < 200; i++) {
                pthread_create(&thread, NULL, call_once, NULL);
                turn_end(&epoch);
                pthread_join(thread, NULL);
        }
        if (!turn_end(&epoch) || !threads_are_all_known())
                _exit(3);
}

static _Atomic uint32_t let_go;
static _Thread_local uint32_t place;

static void stand_there_until_let_go(void)
{
        add_acq_rel(&arrived, 1);
        while (load_acquire(&let_go) <= place)
                usleep(5000);
        touch_memory();
}

static void *call_in_place(void *at)
{
        place = (uint32_t)(uintptr_t)at;
        return call_once(NULL);
}

/* More threads than one table of them holds, all past the check; then the last one alone. */
static void check_that_each_of_many_threads_is_waited_for(void)
{
        static pthread_t thread[MANY];
        pthread_attr_t small;

        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, SMALL_STACK);
        driver = stand_there_until_let_go;
        for (uintptr_t i = 0; i < MANY; i++) {
                if (pthread_create(&thread[i], &small, call_in_place, (void *)i) != 0)
                        _exit(77);
        }
        while (load_acquire(&arrived) < MANY)
                usleep(100);
        if (turn_end(&epoch) || !threads_are_all_known())
                _exit(5);
        store_release(&let_go, MANY - 1);
        for (unsigned i = 0; i < MANY - 1; i++)
                pthread_join(thread[i], NULL);
        if (turn_end(&epoch))
                _exit(9);
        store_release(&let_go, MANY);
        pthread_join(thread[MANY - 1], NULL);
        if (!turn_end(&epoch) || load_acquire(&touched) != MANY)
                _exit(6);
        store_relaxed(&touched, 0);
        pthread_attr_destroy(&small);
}

/* -- In the last destructors of a thread ------------------------------------------------------ */

static pthread_key_t last;

static void call_at_end(void *unused)
{
        (void)unused;
        threads_join();
        call();
}

static void *call_and_end(void *unused)
{
        call_once(NULL);
        pthread_setspecific(last, &last);
        return unused;
}

/* The C library runs those of keys after all others, and then frees the thread's storage: at once
 * if it is as large as this. */
static void check_that_nothing_of_a_thread_is_read_when_it_has_ended(void)
{
        pthread_attr_t large;
        pthread_t thread;

        driver = touch_memory;
        pthread_key_create(&last, call_at_end);
        pthread_attr_init(&large);
        pthread_attr_setstacksize(&large, LARGE_STACK);
        for (unsigned i = 0; i < 20; i++) {
                pthread_create(&thread, &large, call_and_end, NULL);
                pthread_join(thread, NULL);
                if (!turn_end(&epoch) || !threads_are_all_known())
                        _exit(7);
        }
        if (load_acquire(&touched) != 2 * 20)
                _exit(8);
        store_relaxed(&touched, 0);
        pthread_attr_destroy(&large);
        pthread_key_delete(last);
}

/* -- Thousands of times ----------------------------------------------------------------------- */

static void check_that_nothing_is_touched_after_the_last_one_is_out(void)
{
        pthread_t thread[THREADS];
        unsigned drained = 0;

        driver = touch_memory;
        for (unsigned i = 0; i < THREADS; i++)
                pthread_create(&thread[i], NULL, call_often, NULL);
        while (drained < ROUNDS) {
                uint32_t seen = load_acquire(&touched);

                while (load_acquire(&touched) == seen)
                        sched_yield();
                store_release(&gate, 1);
                while (!turn_end(&epoch))
                        sched_yield();
                seen = load_acquire(&touched);
                for (unsigned i = 0; i < 10; i++)
                        sched_yield();
                if (load_acquire(&touched) != seen)
                        store_release(&broken, 1);
                drained++;
                store_release(&gate, 0);
        }
        store_release(&is_over, 1);
        for (unsigned i = 0; i < THREADS; i++)
                pthread_join(thread[i], NULL);
        if (load_acquire(&broken))
                _exit(4);
}

/* -- With and without membarrier -------------------------------------------------------------- */

static void bar_membarrier(void)
{
        struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
                _exit(77);
}

enum barred { NEVER, FROM_THE_START, LATER };

/* In a process of its own: what is barred stays so. */
static void check(enum barred barred)
{
        int status;
        pid_t child = fork();

        if (child == 0) {
                alarm(HANG_SECONDS);
                if (barred == FROM_THE_START)
                        bar_membarrier();
                check_that_who_is_past_the_check_is_waited_for();
                if (barred == LATER)
                        bar_membarrier();
                check_that_threads_that_end_are_not_waited_for();
                store_relaxed(&touched, 0);
                check_that_each_of_many_threads_is_waited_for();
                check_that_nothing_of_a_thread_is_read_when_it_has_ended();
                check_that_nothing_is_touched_after_the_last_one_is_out();
                _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                skip();
        assert_int_equal(status, 0);
}

static void by_membarrier(void **state)
{
        check(NEVER);
}

static void by_the_threads_themselves(void **state)
{
        check(FROM_THE_START);
}

/* A program that bars it for itself, once it runs. */
static void by_the_threads_themselves_from_some_moment_on(void **state)
{
        check(LATER);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(by_membarrier),
                cmocka_unit_test(by_the_threads_themselves),
                cmocka_unit_test(by_the_threads_themselves_from_some_moment_on),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
