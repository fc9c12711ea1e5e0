/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of the shim and the daemon: the machine's until an authority is followed, and then
 * nobody else's. errno is as it was after each.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/clock.h"

#define MS_NS UINT64_C(1000000)

static uint64_t monotonic_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void without_an_authority_time_is_the_machines(void **state)
{
        uint64_t before_ns = monotonic_ns();
        uint64_t now_ns = clock_now_ns();

        assert_in_range(now_ns, before_ns, monotonic_ns());
        errno = ENOTTY;
        clock_sleep_ns(2 * MS_NS);
        assert_true(clock_now_ns() - now_ns >= 2 * MS_NS);
        assert_int_equal(errno, ENOTTY);
        clock_join(TIME_FOREGROUND); /* nothing to take part in */
        clock_leave();
}

static void a_wait_ends_at_its_deadline(void **state)
{
        static _Atomic uint32_t word = 7;
        uint64_t deadline_ns = clock_now_ns() + 3 * MS_NS;

        errno = ENOTTY;
        while (clock_wait(&word, 7, deadline_ns)) {
        }
        assert_true(clock_now_ns() >= deadline_ns);
        assert_int_equal(errno, ENOTTY);
        assert_false(clock_wait(&word, 7, 1));
}

static void a_word_that_has_changed_is_not_waited_for(void **state)
{
        static _Atomic uint32_t word = 8;

        errno = ENOTTY;
        assert_true(clock_wait(&word, 7, CLOCK_NEVER));
        assert_int_equal(errno, ENOTTY);
}

/* So short that nobody goes to sleep for it. */
static void a_short_wait_ends_in_the_same_two_ways(void **state)
{
        static _Atomic uint32_t word = 7;
        uint64_t deadline_ns = clock_now_ns() + 10000;

        errno = ENOTTY;
        assert_false(clock_wait(&word, 7, deadline_ns));
        assert_true(clock_now_ns() >= deadline_ns);
        assert_true(clock_wait(&word, 8, clock_now_ns() + 10000));
        assert_int_equal(errno, ENOTTY);
}

static void one_of_several_words_is_enough(void **state)
{
        static _Atomic uint32_t first = 1, second = 2;
        const _Atomic uint32_t *const words[] = { &first, &second };
        int rc = clock_wait_any(words, (const uint32_t[]){ 1, 2 }, 2, clock_now_ns() + 3 * MS_NS);

        if (rc == -ENOSYS)
                skip();
        assert_int_equal(rc, -ETIMEDOUT);
        errno = ENOTTY;
        assert_int_equal(clock_wait_any(words, (const uint32_t[]){ 1, 3 }, 2, CLOCK_NEVER), 2);
        assert_int_equal(errno, ENOTTY);
}

#define SKIPPED 77
#define FUTEX_WAITV 449 /* headers older than Linux 5.16 lack the name */

static void bar_futex_waitv(unsigned code)
{
        struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FUTEX_WAITV, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
                _exit(SKIPPED);
}

/* Who waits would turn without a pause, if it were told that a word had changed. */
static void a_filter_that_bars_the_wait_for_several_words_is_told_of(void **state)
{
        static const unsigned codes[] = { EPERM, ENOSYS };
        static _Atomic uint32_t first = 1, second = 2;
        const _Atomic uint32_t *const words[] = { &first, &second };

        for (unsigned i = 0; i < 2; i++) {
                int status;
                pid_t child = fork();

                if (child == 0) {
                        bar_futex_waitv(codes[i]);
                        _exit(-clock_wait_any(words, (const uint32_t[]){ 1, 2 }, 2,
                                              clock_now_ns() + 3 * MS_NS));
                }
                assert_int_equal(waitpid(child, &status, 0), child);
                assert_true(WIFEXITED(status));
                if (WEXITSTATUS(status) == SKIPPED)
                        skip();
                assert_int_equal(WEXITSTATUS(status), ENOSYS);
        }
}

static _Atomic uint32_t bell;

static void *ringer(void *argument)
{
        clock_sleep_ns(2 * MS_NS);
        store_release(&bell, 1);
        clock_wake(&bell, UINT32_MAX);
        return NULL;
}

static void a_change_of_the_word_wakes(void **state)
{
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, ringer, NULL), 0);
        while (load_acquire(&bell) == 0)
                assert_true(clock_wait(&bell, 0, CLOCK_NEVER));
        pthread_join(thread, NULL);
}

static uint64_t fake_now_ns = 5000;
static unsigned fake_calls;

static uint64_t fake_now(void)
{
        errno = EIO;
        return fake_now_ns;
}

static void fake_sleep_until(uint64_t deadline_ns)
{
        errno = EIO;
        fake_now_ns = deadline_ns;
}

static bool fake_wait(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns)
{
        errno = EIO;
        fake_calls++;
        return *word != expected || deadline_ns == CLOCK_NEVER;
}

static void fake_wake(const _Atomic uint32_t *word, uint32_t count)
{
        errno = EIO;
        fake_calls += count;
}

static bool fake_wait_any(const _Atomic uint32_t *const word[], const uint32_t expected[],
                          unsigned count, uint64_t deadline_ns)
{
        errno = EIO;
        fake_calls += 100000 * count;
        return *word[0] != expected[0];
}

static void fake_join(enum time_role role)
{
        errno = EIO;
        fake_calls += role == TIME_BACKGROUND ? 100 : 1000;
}

static void fake_leave(void)
{
        errno = EIO;
        fake_calls += 10000;
}

static uint32_t fake_expect(enum time_role role)
{
        errno = EIO;
        fake_calls += role == TIME_BACKGROUND ? 1000000 : 0;
        return 7;
}

static void fake_begin(uint32_t expected)
{
        errno = EIO;
        fake_calls += 1000000 * expected;
}

static void fake_forget(uint32_t expected)
{
        errno = EIO;
        fake_calls += 10000000 * expected;
}

/* The last story: there is no way back from an authority. */
static void an_authority_is_followed_in_everything(void **state)
{
        static const struct time_authority fake = {
                .version = TIME_AUTHORITY_VERSION,
                .bytes = sizeof(fake),
                .now_ns = fake_now,
                .sleep_until = fake_sleep_until,
                .wait = fake_wait,
                .wake = fake_wake,
                .join = fake_join,
                .leave = fake_leave,
                .wait_any = fake_wait_any,
                .expect = fake_expect,
                .begin = fake_begin,
                .forget = fake_forget,
        };
        static _Atomic uint32_t word = 7;

        clock_follow(NULL);
        assert_true(clock_now_ns() > 5000);
        clock_follow(&fake);
        errno = ENOTTY;
        assert_int_equal(clock_now_ns(), 5000);
        clock_sleep_ns(60 * 1000 * MS_NS);
        assert_int_equal(clock_now_ns(), 5000 + 60 * 1000 * MS_NS);
        assert_false(clock_wait(&word, 7, 1));
        clock_wake(&word, 3);
        clock_join(TIME_BACKGROUND);
        clock_leave();
        assert_int_equal(clock_wait_any((const _Atomic uint32_t *const[]){ &word, &word },
                                        (const uint32_t[]){ 7, 7 }, 2, 1),
                         -ETIMEDOUT);
        assert_int_equal(fake_calls, 1 + 3 + 100 + 10000 + 200000);
        clock_begin(clock_expect(TIME_BACKGROUND), TIME_FOREGROUND);
        clock_forget(clock_expect(TIME_FOREGROUND));
        clock_forget(TIME_NOBODY);
        clock_begin(TIME_NOBODY, TIME_FOREGROUND); /* as if there were no such call */
        assert_int_equal(fake_calls, 210104 + 8000000 + 70000000 + 1000);
        assert_int_equal(errno, ENOTTY);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(without_an_authority_time_is_the_machines),
                cmocka_unit_test(a_wait_ends_at_its_deadline),
                cmocka_unit_test(a_short_wait_ends_in_the_same_two_ways),
                cmocka_unit_test(one_of_several_words_is_enough),
                cmocka_unit_test(a_filter_that_bars_the_wait_for_several_words_is_told_of),
                cmocka_unit_test(a_word_that_has_changed_is_not_waited_for),
                cmocka_unit_test(a_change_of_the_word_wakes),
                cmocka_unit_test(an_authority_is_followed_in_everything),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
