/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whoever comes first finds the session, however many come at once; nobody waits for a thread that
 * is not there, or for itself.
 */
#include <pthread.h>

#include "shim/charge.h"

#include "session_fixture.h"

#define THREADS 16
#define PROCESSES 16

static void *start_and_look(void *unused)
{
        return (void *)(uintptr_t)session_start(two_gpus);
}

static void start_from_many_threads(void)
{
        pthread_t threads[THREADS];
        void *seen;

        for (int i = 0; i < THREADS; i++)
                CHECK(pthread_create(&threads[i], NULL, start_and_look, NULL) == 0);
        for (int i = 0; i < THREADS; i++) {
                CHECK(pthread_join(threads[i], &seen) == 0);
                CHECK((uintptr_t)seen == SESSION_ACTIVE);
        }
}

static void test_many_threads_come_first(void **state)
{
        struct answer answer = run_with(start_from_many_threads, "ALIQUOT_MEMORY=4GiB");

        assert_int_equal(answer.state, SESSION_ACTIVE);
        assert_int_equal(answer.calls_of_lister, 1);
}

static int gate[2];

/* Stays in the driver until it is let go. */
static int slow_lister(struct session_gpu *ret, size_t max)
{
        char go;

        CHECK(write(gate[1], "x", 1) == 1);
        CHECK(read(gate[0], &go, 1) == 1);
        return two_gpus(ret, max);
}

static void *start_slowly(void *unused)
{
        session_start(slow_lister);
        return NULL;
}

static void fork_while_a_thread_finds_out(void)
{
        int there[2], back[2], status;
        pthread_t thread;
        char go;
        pid_t child;

        CHECK(pipe(there) == 0 && pipe(back) == 0);
        gate[0] = back[0];
        gate[1] = there[1];
        CHECK(pthread_create(&thread, NULL, start_slowly, NULL) == 0);
        CHECK(read(there[0], &go, 1) == 1);
        child = fork();
        if (child == 0) {
                alarm(HANG_SECONDS);
                _exit(session_start(two_gpus) != SESSION_ACTIVE);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        CHECK(write(back[1], "x", 1) == 1);
        pthread_join(thread, NULL);
}

/* The thread that was finding out does not exist in the child. */
static void test_a_child_does_not_wait_for_a_thread_that_it_lacks(void **state)
{
        struct answer answer = run_with(fork_while_a_thread_finds_out, "ALIQUOT_MEMORY=4GiB");

        assert_int_equal(answer.state, SESSION_ACTIVE);
}

static int nosy_lister(struct session_gpu *ret, size_t max)
{
        /* As when the driver, asked by us, calls an entry of ours. */
        CHECK(session_start(two_gpus) == SESSION_UNKNOWN);
        CHECK(session_device((const uint8_t[16]){ 0xaa }, GIB) == CHARGE_NO_DEVICE);
        return two_gpus(ret, max);
}

static void start_nosily(void)
{
        CHECK(session_start(nosy_lister) == SESSION_ACTIVE);
}

static void test_a_call_from_inside_is_passed_on(void **state)
{
        struct answer answer = run_with(start_nosily, "ALIQUOT_MEMORY=4GiB");

        assert_int_equal(answer.state, SESSION_ACTIVE);
}

static void start_many_processes(void)
{
        int out[2];

        CHECK(pipe(out) == 0);
        for (int i = 0; i < PROCESSES; i++) {
                if (fork() == 0) {
                        if (session_start(two_gpus) != SESSION_ACTIVE)
                                _exit(1);
                        _exit(write(out[1], session_limits()->session_id, 16) != 16);
                }
        }
        CHECK(session_start(two_gpus) == SESSION_ACTIVE);
        for (int i = 0; i < PROCESSES; i++) {
                uint64_t id[2];
                int status;

                CHECK(wait(&status) > 0 && status == 0);
                CHECK(read(out[0], id, 16) == 16);
                CHECK(memcmp(id, session_limits()->session_id, 16) == 0);
        }
}

static void test_many_processes_come_first(void **state)
{
        struct answer answer = run_with(start_many_processes, "ALIQUOT_MEMORY=3GiB");

        assert_int_equal(answer.state, SESSION_ACTIVE);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(test_many_threads_come_first),
                story(test_a_child_does_not_wait_for_a_thread_that_it_lacks),
                story(test_a_call_from_inside_is_passed_on),
                story(test_many_processes_come_first),
        };

        return cmocka_run_group_tests_name("session, at once", tests, NULL, NULL);
}
