/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual time and those who are away: neither the dead nor the stopped stop it, at whatever
 * instant, nor those who wait or compute where it cannot be seen.
 */
#include "authority_stage.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/machine_clock.h"

/* Far beyond the host's patience with anything here. */
#define LONG_NS (1000000 * SECOND_NS)

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
                nap_ms();
        authority_wait(&stage->time, &stage->word, 0, authority_word(&stage->word, false),
                       TIME_NEVER);
        return authority_now(&stage->time) < LONG_NS ? 0 : 1;
}

static void time_does_not_leap_to_where_a_dead_sleeper_wanted(void **state)
{
        pid_t killed = start(long_sleeper, 0), other = start(waits_for_nothing, 1);

        while (load_acquire(&stage->flag) != 1)
                nap_ms();
        kill(killed, SIGKILL);
        assert_int_equal(waitpid(killed, NULL, 0), killed);
        store_release(&stage->flag, 2);
        /* As fast as the machine's, now that nobody waits for a time. */
        while (authority_now(&stage->time) < 2 * SECOND_NS + 50 * MS_NS)
                nap_ms();
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
                nap_ms();
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
enum { PASSED_OVER = 3, TOO_SOON = 4 };
/* For so long who may be waiting for a thread at work is waited for: authority_watch.c. */
#define HELD_UP_NS SECOND_NS

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

static int releaser(unsigned who)
{
        authority_join(&stage->time, TIME_FOREGROUND, 2);
        sleep_ns(10 * SECOND_NS);
        store_release(&stage->flag, 1);
        return 0;
}

/* At work until then: stage->flag, or so much of the machine's time. */
static void *works(void *until_ns)
{
        while (load_acquire(&stage->flag) == 0 && clock_machine_ns() < *(uint64_t *)until_ns)
                ;
        return write(channel[1], "x", 1) == 1 ? NULL : until_ns;
}

/* Waits for a thread of its own, of which the authority knows nothing. Where that one gets no
 * processor for long it may be passed over. */
static int waits_for_worker(unsigned work_ms)
{
        uint64_t from_ns = clock_machine_ns(), until_ns = from_ns + work_ms * MS_NS, began_ns;
        pthread_t worker;
        char byte;

        authority_join(&stage->time, TIME_FOREGROUND, 2);
        began_ns = authority_now(&stage->time);
        pthread_create(&worker, NULL, works, &until_ns);
        if (read(channel[0], &byte, 1) != 1)
                return 1;
        pthread_join(worker, NULL);
        if (authority_now(&stage->time) == began_ns)
                return 0;
        return clock_machine_ns() - from_ns < HELD_UP_NS ? TOO_SOON : PASSED_OVER;
}

/* What it answers as it ends. */
static int exit_of(pid_t pid)
{
        int status;

        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

/* As where the thread that holds a lock is kept from the processor by others. */
static void one_that_waits_for_a_thread_at_work_is_waited_for(void **state)
{
        pid_t first, second;
        int status;

        assert_int_equal(pipe(channel), 0);
        first = start(waits_for_worker, 120);
        second = start(outlives, 1);
        status = exit_of(first);
        assert_in_range(status, 0, PASSED_OVER);
        assert_int_not_equal(status, 1);
        ends_well(second);
        close(channel[0]);
        close(channel[1]);
}

static void but_not_for_ever(void **state)
{
        pid_t first, second;

        assert_int_equal(pipe(channel), 0);
        first = start(waits_for_worker, 1000000);
        second = start(releaser, 1);
        ends_well(second);
        assert_int_equal(exit_of(first), PASSED_OVER);
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

int main(void)
{
        const struct CMUnitTest tests[] = {
                STORY(time_does_not_leap_to_where_a_dead_sleeper_wanted),
                STORY(one_that_is_killed_at_its_turn_gives_it_on),
                STORY(one_that_is_killed_while_it_decides_has_decided_nothing),
                STORY(one_that_is_stopped_while_it_decides_has_decided_nothing),
                STORY(one_that_is_stopped_at_any_moment_holds_nobody_up),
                STORY(many_that_are_stopped_while_they_decide_leave_room),
                STORY(one_that_blocks_elsewhere_is_passed_over),
                STORY(one_that_waits_for_a_thread_at_work_is_waited_for),
                STORY(but_not_for_ever),
                STORY(one_that_spins_is_passed_over),
                STORY(one_that_is_stopped_is_passed_over),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
