/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shim's lock: threads exclude each other, and who waits for it waits by the clock, so that a
 * holder whose driver keeps a time of its own does not stop that time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <unistd.h>

#include "common/clock.h"
#include "shim/lock.h"

#define HANG_SECONDS 60

#define ROUNDS 20000

static struct lock lock;
static unsigned long count;

static void *counter(void *argument)
{
        for (unsigned i = 0; i < ROUNDS; i++) {
                lock_take(&lock);
                count++;
                lock_drop(&lock);
        }
        return argument;
}

static void threads_exclude_each_other(void **state)
{
        pthread_t thread[4];

        for (unsigned i = 0; i < 4; i++)
                assert_int_equal(pthread_create(&thread[i], NULL, counter, NULL), 0);
        for (unsigned i = 0; i < 4; i++)
                pthread_join(thread[i], NULL);
        assert_int_equal(count, 4 * ROUNDS);
        assert_int_equal(load_relaxed(&lock.word), 0);
}

static unsigned waits, wakes;

/* The holder lets go meanwhile. */
static bool authority_wait(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns)
{
        assert_ptr_equal(word, &lock.word);
        assert_int_equal(deadline_ns, CLOCK_NEVER);
        waits++;
        lock_drop(&lock);
        return true;
}

static void authority_wake(const _Atomic uint32_t *word, uint32_t at_least)
{
        wakes++;
}

/* The last story: there is no way back from an authority. */
static void a_contended_lock_is_waited_for_by_the_clock(void **state)
{
        static const struct time_authority authority = {
                .version = TIME_AUTHORITY_VERSION,
                .bytes = sizeof(authority),
                .wait = authority_wait,
                .wake = authority_wake,
        };

        clock_follow(&authority);
        lock_take(&lock);
        lock_take(&lock);
        assert_int_equal(waits, 1);
        assert_int_equal(wakes, 1);
        assert_int_not_equal(load_relaxed(&lock.word), 0); /* who was woken has it */
        lock_drop(&lock);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(threads_exclude_each_other),
                cmocka_unit_test(a_contended_lock_is_waited_for_by_the_clock),
        };

        alarm(HANG_SECONDS);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
