/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual time among those who wait for it: who goes when, and what time it is then.
 */
#include "authority_stage.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

enum { STEPS = 200 };

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

static int is_placed(unsigned who)
{
        cpu_set_t processors;

        authority_join(&stage->time, TIME_FOREGROUND, 2);
        sched_getaffinity(0, sizeof(processors), &processors);
        return CPU_COUNT(&processors) == 1 && CPU_ISSET(stage->time.processor, &processors) ? 0 : 1;
}

static void all_who_take_part_run_on_one_processor(void **state)
{
        pid_t first = start(is_placed, 0), second = start(is_placed, 1);

        ends_well(first);
        ends_well(second);
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
        authority_forget(&stage->time, authority_expect(&stage->time, TIME_FOREGROUND));
        pthread_create(&thread, NULL, expected,
                       (void *)(uintptr_t)authority_expect(&stage->time, TIME_FOREGROUND));
        sleep_ns(2 * SECOND_NS);
        assert_int_equal(authority_now(&stage->time) - start_ns, 2 * SECOND_NS);
        pthread_join(thread, NULL);
        authority_leave(&stage->time);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                STORY(two_processes_go_in_the_order_of_their_times),
                STORY(a_change_of_a_shared_word_wakes_another_process_at_that_time),
                STORY(a_wait_for_a_word_ends_at_its_deadline),
                STORY(one_waits_for_any_of_several_words),
                STORY(all_who_take_part_run_on_one_processor),
                STORY(what_a_program_computes_takes_no_time),
                STORY(the_background_is_on_time_and_hurries_nothing),
                STORY(threads_of_a_process_take_part_each),
                STORY(a_thread_that_is_expected_holds_time_up),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
