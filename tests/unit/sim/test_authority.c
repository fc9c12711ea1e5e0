/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual time itself, with processes and threads that do nothing but wait for it: who goes when,
 * and that neither the dead nor those who are busy elsewhere stop it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "sim/node/authority.h"
#include "sim/node/robust.h"

#define MS_NS UINT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)
/* Far beyond the host's patience with anything here. */
#define LONG_NS (1000000 * SECOND_NS)
#define ENTRIES 4096

/* What all processes of a test share. */
struct stage {
        struct authority time;
        _Atomic uint32_t word;
        _Atomic uint32_t length;
        _Atomic uint32_t flag;
        _Atomic uint32_t steps[2];
        uint32_t entry[ENTRIES]; /* who ran, in order */
        uint64_t at_ns[ENTRIES];
};

static struct stage *stage;

static int setup(void **state)
{
        stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0);
        assert_true(stage != MAP_FAILED);
        authority_make(&stage->time);
        return 0;
}

static int teardown(void **state)
{
        return munmap(stage, sizeof(*stage));
}

static void sleep_ns(uint64_t ns)
{
        authority_wait(&stage->time, NULL, 0, 0, authority_now(&stage->time) + ns);
}

static void note(uint32_t who)
{
        uint32_t i = add_acq_rel(&stage->length, 1);

        stage->entry[i] = who;
        stage->at_ns[i] = authority_now(&stage->time);
}

static pid_t start(int (*body)(unsigned who), unsigned who)
{
        pid_t child = fork();

        if (child == 0)
                _exit(body(who));
        assert_true(child > 0);
        return child;
}

static void ends_well(pid_t child)
{
        int status;

        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
}

enum { STEPS = 200 };

/* Who of 0 and 1 it is differs in length of step only. */
static int stepper(unsigned who)
{
        authority_join(&stage->time, TIME_FOREGROUND, 2);
        for (unsigned i = 0; i < STEPS; i++) {
                note(who);
                sleep_ns((2 + who) * SECOND_NS);
        }
        authority_leave(&stage->time);
        return 0;
}

/* 0 is due at 0, 2, 4, ..., 1 at 0, 3, 6, ...: when both are, the older process goes first. */
static void two_processes_go_in_the_order_of_their_times(void **state)
{
        pid_t first = start(stepper, 0), second = start(stepper, 1);
        uint64_t start_ns, due_ns[2] = { 0, 0 };

        ends_well(first);
        ends_well(second);
        assert_int_equal(stage->length, 2 * STEPS);
        start_ns = stage->at_ns[0];
        for (unsigned i = 0; i < 2 * STEPS; i++) {
                unsigned who = stage->entry[i];

                assert_int_equal(stage->at_ns[i] - start_ns, due_ns[who]);
                assert_true(i == 0 || stage->at_ns[i - 1] <= stage->at_ns[i]);
                due_ns[who] += (2 + who) * SECOND_NS;
        }
        assert_int_equal(stage->entry[0], 0);
        assert_int_equal(stage->entry[1], 1);
}

/* The word counts up; each waits for it to be even, or odd. */
static int player(unsigned who)
{
        uint64_t word = authority_word(&stage->word, false);

        authority_join(&stage->time, TIME_FOREGROUND, 2);
        for (uint32_t i = 0; i < STEPS; i++) {
                uint32_t seen;

                while ((seen = load_acquire(&stage->word)) % 2 != who)
                        if (!authority_wait(&stage->time, &stage->word, seen, word, TIME_NEVER))
                                return 1;
                sleep_ns(MS_NS);
                add_acq_rel(&stage->word, 1);
                authority_wake(&stage->time, word, 1);
        }
        return 0;
}

static void a_change_of_a_shared_word_wakes_another_process_at_that_time(void **state)
{
        uint64_t start_ns = authority_now(&stage->time);
        pid_t first = start(player, 0), second = start(player, 1);

        ends_well(first);
        ends_well(second);
        assert_int_equal(stage->word, 2 * STEPS);
        assert_true(authority_now(&stage->time) - start_ns >= 2 * STEPS * MS_NS);
}

static void a_wait_for_a_word_ends_at_its_deadline(void **state)
{
        uint64_t word = authority_word(&stage->word, true), start_ns;

        authority_join(&stage->time, TIME_FOREGROUND, 1);
        start_ns = authority_now(&stage->time);
        assert_false(authority_wait(&stage->time, &stage->word, 0, word, start_ns + SECOND_NS));
        assert_int_equal(authority_now(&stage->time) - start_ns, SECOND_NS);
        assert_true(authority_wait(&stage->time, &stage->word, 1, word, TIME_NEVER));
        assert_false(authority_wait(&stage->time, &stage->word, 0, word, start_ns));
        authority_leave(&stage->time);
}

/* 0 and 1 have a word each; the third waits for both, as a daemon does. */
static _Atomic uint32_t *word_of(unsigned who)
{
        return who == 0 ? &stage->word : &stage->flag;
}

static int ringer(unsigned who)
{
        authority_join(&stage->time, TIME_FOREGROUND, 2);
        for (unsigned i = 0; i < STEPS; i++) {
                sleep_ns((3 + who) * MS_NS);
                add_acq_rel(word_of(who), 1);
                authority_wake(&stage->time, authority_word(word_of(who), false), 1);
        }
        return 0;
}

static void one_waits_for_any_of_several_words(void **state)
{
        const _Atomic uint32_t *const words[] = { word_of(0), word_of(1) };
        uint32_t seen[2] = { 0, 0 };
        pid_t first, second;
        uint64_t start_ns;

        authority_join(&stage->time, TIME_BACKGROUND, 0);
        start_ns = authority_now(&stage->time);
        assert_false(authority_wait_any(&stage->time, words, seen, 2, start_ns + SECOND_NS / 100));
        first = start(ringer, 0);
        second = start(ringer, 1);
        while (seen[0] + seen[1] < 2 * STEPS) {
                assert_true(authority_wait_any(&stage->time, words, seen, 2, TIME_NEVER));
                for (unsigned who = 0; who < 2; who++)
                        seen[who] = load_acquire(word_of(who));
        }
        authority_leave(&stage->time);
        ends_well(first);
        ends_well(second);
}

static int long_sleeper(unsigned who)
{
        authority_join(&stage->time, TIME_FOREGROUND, 2);
        sleep_ns(LONG_NS);
        return 1;
}

static int waits_for_nothing(unsigned who)
{
        authority_join(&stage->time, TIME_FOREGROUND, 2);
        sleep_ns(SECOND_NS);
        store_release(&stage->flag, 1);
        /* Its turn, until the other is dead. */
        while (load_acquire(&stage->flag) != 2)
                nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        authority_wait(&stage->time, &stage->word, 0, authority_word(&stage->word, false),
                       TIME_NEVER);
        return authority_now(&stage->time) < LONG_NS ? 0 : 1;
}

static void time_does_not_leap_to_where_a_dead_sleeper_wanted(void **state)
{
        pid_t killed = start(long_sleeper, 0), other = start(waits_for_nothing, 1);

        while (load_acquire(&stage->flag) != 1)
                nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        kill(killed, SIGKILL);
        assert_int_equal(waitpid(killed, NULL, 0), killed);
        store_release(&stage->flag, 2);
        /* As fast as the machine's, now that nobody waits for a time. */
        while (authority_now(&stage->time) < 2 * SECOND_NS + 50 * MS_NS)
                nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        store_release(&stage->word, 1);
        authority_wake(&stage->time, authority_word(&stage->word, false), 1);
        ends_well(other);
}

/* Killed with the turn in hand, it never gives it on. */
static int dies_at_its_turn(unsigned who)
{
        authority_join(&stage->time, TIME_FOREGROUND, 2);
        return raise(SIGKILL);
}

static int outlives(unsigned who)
{
        authority_join(&stage->time, TIME_FOREGROUND, 2);
        sleep_ns(SECOND_NS);
        return 0;
}

static void one_that_is_killed_at_its_turn_gives_it_on(void **state)
{
        pid_t killed = start(dies_at_its_turn, 0), other = start(outlives, 1);

        ends_well(other);
        waitpid(killed, NULL, 0);
}

/* In the midst of a change of who runs. */
static int ends_with_a_draft(unsigned signal)
{
        struct cell_draft draft;
        struct authority_state *state;

        authority_join(&stage->time, TIME_FOREGROUND, 2);
        state = cell_begin(&stage->time.cell, stage->time.state, &draft);
        state->running = 1;
        state->next_turn = 0;
        raise((int)signal);
        if (cell_commit(&draft))
                return 1;
        sleep_ns(MS_NS);
        return 0;
}

static void *locker(void *argument)
{
        robust_lock(argument);
        store_release(&stage->flag, 1);
        pthread_mutex_unlock(argument);
        return NULL;
}

/* As when the waiter that was woken is killed at once, and the lock was taken and given back by one
 * who knows of no other waiter. */
static void a_wake_up_that_is_lost_keeps_nobody_from_a_lock(void **state)
{
        pthread_mutex_t *mutex = &stage->time.place[0].alive;
        pthread_t thread;

        robust_init(mutex);
        assert_int_equal(robust_lock(mutex), 0);
        assert_int_equal(pthread_create(&thread, NULL, locker, mutex), 0);
        /* Until it sleeps, which the mutex then knows, and forgets. */
        while (!((uint32_t)load_acquire((_Atomic int *)&mutex->__data.__lock) & FUTEX_WAITERS))
                nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        store_release((_Atomic int *)&mutex->__data.__lock, gettid());
        pthread_mutex_unlock(mutex);
        pthread_join(thread, NULL);
        assert_int_equal(stage->flag, 1);
}

static void one_that_is_killed_while_it_decides_has_decided_nothing(void **state)
{
        pid_t killed = start(ends_with_a_draft, SIGKILL), other = start(outlives, 1);

        ends_well(other);
        waitpid(killed, NULL, 0);
}

static void one_that_is_stopped_while_it_decides_has_decided_nothing(void **state)
{
        pid_t stopped = start(ends_with_a_draft, SIGSTOP), other = start(outlives, 1);

        ends_well(other);
        kill(stopped, SIGCONT);
        ends_well(stopped);
}

/* Steps for as long as it may, side by side with another, and counts. */
static int walker(unsigned who)
{
        authority_join(&stage->time, TIME_FOREGROUND, 2);
        while (!load_acquire(&stage->flag)) {
                add_acq_rel(&stage->steps[who], 1);
                sleep_ns(MS_NS);
        }
        return 0;
}

static void goes_on(unsigned who)
{
        uint32_t seen = load_acquire(&stage->steps[who]);

        for (unsigned ms = 0; load_acquire(&stage->steps[who]) - seen < 10; ms++) {
                assert_in_range(ms, 0, 20000);
                nanosleep(&(struct timespec){ .tv_nsec = MS_NS }, NULL);
        }
}

enum { MOMENTS = 60, COLLECTED = CELL_COPIES - 4 };

static void one_that_is_stopped_at_any_moment_holds_nobody_up(void **state)
{
        pid_t stopped = start(walker, 0), other = start(walker, 1);

        for (unsigned i = 0; i < MOMENTS; i++) {
                goes_on(0);
                nanosleep(&(struct timespec){ .tv_nsec = (i * 7919) % 60000 }, NULL);
                kill(stopped, SIGSTOP);
                assert_int_equal(waitpid(stopped, NULL, WUNTRACED), stopped);
                goes_on(1);
                kill(stopped, SIGCONT);
        }
        store_release(&stage->flag, 1);
        ends_well(stopped);
        ends_well(other);
}

static int holds_a_draft(unsigned signal)
{
        struct cell_draft draft;

        cell_begin(&stage->time.cell, stage->time.state, &draft);
        add_acq_rel(&stage->flag, 1);
        raise((int)signal);
        cell_drop(&draft);
        return 0;
}

/* And what the dead had in hand is used again. */
static void many_that_are_stopped_while_they_decide_leave_room(void **state)
{
        pid_t stopped[COLLECTED];

        for (unsigned i = 0; i < 2 * CELL_COPIES; i++)
                waitpid(start(holds_a_draft, SIGKILL), NULL, 0);
        for (unsigned i = 0; i < COLLECTED; i++) {
                stopped[i] = start(holds_a_draft, SIGSTOP);
                assert_int_equal(waitpid(stopped[i], NULL, WUNTRACED), stopped[i]);
        }
        two_processes_go_in_the_order_of_their_times(state);
        for (unsigned i = 0; i < COLLECTED; i++) {
                kill(stopped[i], SIGCONT);
                ends_well(stopped[i]);
        }
}

static int channel[2];

/* Waits for something that the authority knows nothing of, and that only comes when time goes on.
 */
static int blocked(unsigned who)
{
        char byte;

        authority_join(&stage->time, TIME_FOREGROUND, 2);
        if (read(channel[0], &byte, 1) != 1)
                return 1;
        sleep_ns(MS_NS);
        return 0;
}

static int unblocker(unsigned who)
{
        authority_join(&stage->time, TIME_FOREGROUND, 2);
        sleep_ns(10 * SECOND_NS);
        return write(channel[1], "x", 1) == 1 ? 0 : 1;
}

static void one_that_blocks_elsewhere_is_passed_over(void **state)
{
        pid_t first, second;

        assert_int_equal(pipe(channel), 0);
        first = start(blocked, 0);
        second = start(unblocker, 1);
        ends_well(second);
        ends_well(first);
        close(channel[0]);
        close(channel[1]);
}

static int spinner(unsigned who)
{
        authority_join(&stage->time, TIME_FOREGROUND, 2);
        while (load_acquire(&stage->flag) == 0)
                ;
        sleep_ns(MS_NS);
        return 0;
}

static int releaser(unsigned who)
{
        authority_join(&stage->time, TIME_FOREGROUND, 2);
        sleep_ns(10 * SECOND_NS);
        store_release(&stage->flag, 1);
        return 0;
}

static void one_that_spins_is_passed_over(void **state)
{
        pid_t first = start(spinner, 0), second = start(releaser, 1);

        ends_well(first);
        ends_well(second);
}

static int stopped(unsigned who)
{
        authority_join(&stage->time, TIME_FOREGROUND, 2);
        raise(SIGSTOP);
        sleep_ns(MS_NS);
        return 0;
}

static void one_that_is_stopped_is_passed_over(void **state)
{
        pid_t first = start(stopped, 0), second = start(outlives, 1);

        ends_well(second);
        kill(first, SIGCONT);
        ends_well(first);
}

static int computes(unsigned who)
{
        struct timespec now, end;
        uint64_t start_ns;

        authority_join(&stage->time, TIME_FOREGROUND, 1);
        start_ns = authority_now(&stage->time);
        clock_gettime(CLOCK_MONOTONIC, &end);
        do
                clock_gettime(CLOCK_MONOTONIC, &now);
        while ((now.tv_sec - end.tv_sec) * 1000 + (now.tv_nsec - end.tv_nsec) / 1000000 < 100);
        if (authority_now(&stage->time) != start_ns)
                return 1;
        sleep_ns(SECOND_NS);
        return authority_now(&stage->time) == start_ns + SECOND_NS ? 0 : 2;
}

static void what_a_program_computes_takes_no_time(void **state)
{
        ends_well(start(computes, 0));
}

/* As a daemon's thread: on time, but time does not hurry for it. */
static int background(unsigned who)
{
        authority_join(&stage->time, TIME_BACKGROUND, 0);
        while (load_acquire(&stage->flag) == 0) {
                sleep_ns(SECOND_NS / 10);
                note(who);
        }
        return 0;
}

static void the_background_is_on_time_and_hurries_nothing(void **state)
{
        uint64_t start_ns, real_ns = 60 * SECOND_NS;
        pid_t behind = start(background, 7);

        nanosleep(&(struct timespec){ .tv_nsec = 250000000 }, NULL);
        assert_true(authority_now(&stage->time) - SECOND_NS < real_ns);
        authority_join(&stage->time, TIME_FOREGROUND, 1);
        start_ns = authority_now(&stage->time);
        store_release(&stage->length, 0);
        sleep_ns(100 * SECOND_NS);
        assert_int_equal(authority_now(&stage->time) - start_ns, 100 * SECOND_NS);
        assert_int_equal(stage->length, 1000);
        authority_leave(&stage->time);
        kill(behind, SIGKILL);
        waitpid(behind, NULL, 0);
}

/* A thread's mistakes cannot be asserted off the main thread. */
static void *napper(void *argument)
{
        authority_join(&stage->time, TIME_FOREGROUND, 1);
        for (unsigned i = 0; i < STEPS; i++)
                sleep_ns((uintptr_t)argument * MS_NS);
        authority_leave(&stage->time);
        return NULL;
}

static void *expected(void *argument)
{
        authority_begin(&stage->time, (uint32_t)(uintptr_t)argument);
        sleep_ns(SECOND_NS);
        authority_leave(&stage->time);
        return NULL;
}

static void threads_of_a_process_take_part_each(void **state)
{
        pthread_t thread[8];

        for (uintptr_t i = 0; i < 8; i++)
                assert_int_equal(pthread_create(&thread[i], NULL, napper, (void *)(i + 1)), 0);
        for (unsigned i = 0; i < 8; i++)
                pthread_join(thread[i], NULL);
        assert_true(authority_now(&stage->time) >= SECOND_NS + STEPS * 8 * MS_NS);
}

static void a_thread_that_is_expected_holds_time_up(void **state)
{
        pthread_t thread;
        uint64_t start_ns;

        authority_join(&stage->time, TIME_FOREGROUND, 1);
        start_ns = authority_now(&stage->time);
        authority_forget(&stage->time, authority_expect(&stage->time));
        pthread_create(&thread, NULL, expected, (void *)(uintptr_t)authority_expect(&stage->time));
        sleep_ns(2 * SECOND_NS);
        assert_int_equal(authority_now(&stage->time) - start_ns, 2 * SECOND_NS);
        pthread_join(thread, NULL);
        authority_leave(&stage->time);
}

int main(void)
{
#define STORY(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                STORY(two_processes_go_in_the_order_of_their_times),
                STORY(a_change_of_a_shared_word_wakes_another_process_at_that_time),
                STORY(a_wait_for_a_word_ends_at_its_deadline),
                STORY(one_waits_for_any_of_several_words),
                STORY(time_does_not_leap_to_where_a_dead_sleeper_wanted),
                STORY(one_that_is_killed_at_its_turn_gives_it_on),
                STORY(one_that_is_killed_while_it_decides_has_decided_nothing),
                STORY(one_that_is_stopped_while_it_decides_has_decided_nothing),
                STORY(one_that_is_stopped_at_any_moment_holds_nobody_up),
                STORY(many_that_are_stopped_while_they_decide_leave_room),
                STORY(a_wake_up_that_is_lost_keeps_nobody_from_a_lock),
                STORY(one_that_blocks_elsewhere_is_passed_over),
                STORY(one_that_spins_is_passed_over),
                STORY(one_that_is_stopped_is_passed_over),
                STORY(what_a_program_computes_takes_no_time),
                STORY(the_background_is_on_time_and_hurries_nothing),
                STORY(threads_of_a_process_take_part_each),
                STORY(a_thread_that_is_expected_holds_time_up),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
