/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches for the processes of sessions: nobody who makes one stand still keeps the signals from
 * another user's sessions, or the daemon from its work.
 */
#include "daemon/node/hunt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/machine_clock.h"
#include "daemon/processes/victim.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define HANG_SECONDS 60
#define SESSIONS 8u

/* What the children do and saw, in memory that they share with us. */
struct seen {
        _Atomic uint32_t is_still; /* a bit a session: the search for its processes never ends */
        _Atomic uint32_t is_ended; /* likewise: the child is ended by something else */
        _Atomic uint32_t calls[SESSIONS];
        _Atomic uint32_t number[SESSIONS], is_repeated[SESSIONS], pid[SESSIONS];
        _Atomic uint32_t has_our_file;
};

static struct seen *seen;
static struct sessions all;
static struct store store;
static struct hunts *hunts;
static int our_file;
static uint64_t passed_ns;

static uint64_t now_ns(void)
{
        return clock_machine_ns() + passed_ns;
}

int folder_signal(const struct store *unused, const struct sessions_one *session,
                  const struct folder_signal *signal, struct victim_walk *walk)
{
        unsigned at = (unsigned)(session - all.session);
        const bool stands = load_acquire(&seen->is_still) >> at & 1;

        (void)unused;
        store_relaxed(&seen->number[at], (uint32_t)signal->number);
        store_relaxed(&seen->is_repeated[at], signal->is_repeated);
        store_relaxed(&seen->pid[at], (uint32_t)getpid());
        store_relaxed(&seen->has_our_file, fcntl(our_file, F_GETFD) >= 0);
        add_relaxed(&walk->steps, 1);
        add_acq_rel(&seen->calls[at], 1);
        if (load_acquire(&seen->is_ended) >> at & 1)
                _exit(1);
        while (stands)
                pause();
        add_relaxed(&walk->sent, 1);
        return 1;
}

static int setup(void **state)
{
        alarm(HANG_SECONDS);
        seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        our_file = open("/dev/null", O_RDWR | O_CLOEXEC);
        all.entries = SESSIONS;
        for (unsigned i = 0; i < SESSIONS; i++) {
                all.session[i] =
                        (struct sessions_one){ .state = SESSIONS_KILLING, .owner_uid = 1000 };
                all.session[i].id[0] = (uint8_t)(i + 1);
        }
        hunts = hunts_new(&all, &store);
        return seen == MAP_FAILED || our_file < 0 || !hunts;
}

static int teardown(void **state)
{
        hunts_free(hunts);
        close(our_file);
        return munmap(seen, sizeof(*seen));
}

static void order(unsigned at, int number)
{
        hunts_order(hunts, &all.session[at], &(struct folder_signal){ .number = number });
}

static uint32_t calls(unsigned at)
{
        return load_acquire(&seen->calls[at]);
}

static void until_called(unsigned at, uint32_t times)
{
        while (calls(at) < times) {
                hunts_tend(hunts, now_ns());
                usleep(1000);
        }
}

/* Returns how many got a signal. */
static unsigned until_over(void)
{
        unsigned sent = 0;

        while (hunts_are_on(hunts)) {
                sent += hunts_tend(hunts, now_ns());
                usleep(1000);
        }
        return sent;
}

/* As if so much time had passed without a step. */
static void pass_still_time(void)
{
        hunts_tend(hunts, now_ns());
        passed_ns += HUNT_STILL_NS;
        hunts_tend(hunts, now_ns());
}

/* -- Stories ----------------------------------------------------------------------------------- */

static void an_order_is_carried_out_once(void **state)
{
        order(0, SIGTERM);
        assert_int_equal(calls(0), 0);
        assert_int_equal(until_over(), 1);
        assert_int_equal(calls(0), 1);
        assert_int_equal(load_relaxed(&seen->number[0]), SIGTERM);
        assert_false(load_relaxed(&seen->is_repeated[0]));
}

/* Whoever holds an open listener or lock of the daemon's is the daemon, to others. */
static void the_search_has_no_file_of_the_daemons(void **state)
{
        order(0, SIGKILL);
        until_over();
        assert_false(load_relaxed(&seen->has_our_file));
        assert_int_not_equal(load_relaxed(&seen->pid[0]), getpid());
}

static void sessions_of_a_user_that_end_together_are_searched_for_by_one_process(void **state)
{
        for (unsigned i = 0; i < SESSIONS; i++)
                order(i, SIGKILL);
        assert_int_equal(until_over(), SESSIONS);
        for (unsigned i = 1; i < SESSIONS; i++)
                assert_int_equal(load_relaxed(&seen->pid[i]), load_relaxed(&seen->pid[0]));
}

static void who_stands_still_holds_up_nobody_elses(void **state)
{
        all.session[1].owner_uid = 1001;
        store_relaxed(&seen->is_still, 1);
        order(0, SIGKILL);
        until_called(0, 1);
        order(1, SIGKILL);
        until_called(1, 1);
}

/* Both sessions are root's. */
static void a_container_that_stands_still_holds_up_no_session_of_roots(void **state)
{
        all.session[0].owner_uid = all.session[1].owner_uid = 0;
        strcpy(all.session[0].container.profile, "4GiB");
        store_relaxed(&seen->is_still, 1);
        order(0, SIGKILL);
        until_called(0, 1);
        order(1, SIGKILL);
        until_called(1, 1);
}

static void who_stands_still_is_passed_over(void **state)
{
        store_relaxed(&seen->is_still, 1);
        order(0, SIGKILL);
        order(1, SIGKILL);
        until_called(0, 1);
        hunts_tend(hunts, now_ns());
        store_release(&seen->is_still, 0);
        pass_still_time();
        until_over();
        assert_int_equal(calls(0), 2);
        assert_true(load_relaxed(&seen->is_repeated[0])); /* not by the slots, which led there */
        assert_int_equal(calls(1), 1);
}

static void one_that_always_stands_still_is_given_up_until_the_next_order(void **state)
{
        store_relaxed(&seen->is_still, 1);
        order(0, SIGKILL);
        for (uint32_t times = 1; hunts_are_on(hunts); times++) {
                while (hunts_are_on(hunts) && calls(0) < times) {
                        hunts_tend(hunts, now_ns());
                        usleep(1000);
                }
                pass_still_time();
        }
        assert_in_range(calls(0), 2, 20);
        store_release(&seen->is_still, 0);
        order(0, SIGKILL);
        assert_int_equal(until_over(), 1);
}

static void a_later_order_replaces_one_that_waits(void **state)
{
        order(0, SIGTERM);
        order(0, SIGKILL);
        assert_int_equal(until_over(), 1);
        assert_int_equal(load_relaxed(&seen->number[0]), SIGKILL);
}

static void a_kill_is_not_softened_by_a_later_order(void **state)
{
        order(0, SIGKILL);
        order(0, SIGTERM);
        until_over();
        assert_int_equal(load_relaxed(&seen->number[0]), SIGKILL);
}

static void a_search_that_is_ended_by_something_else_goes_on(void **state)
{
        store_release(&seen->is_ended, 1);
        order(0, SIGTERM);
        order(1, SIGTERM);
        until_called(0, 1);
        store_release(&seen->is_ended, 0);
        until_over();
        assert_in_range(calls(0), 2, 9);
        assert_int_equal(calls(1), 1);
}

/* Its search has begun: it may have passed by what the later one is for. */
static void a_later_order_is_carried_out_after_one_that_was_begun(void **state)
{
        store_relaxed(&seen->is_still, 1);
        order(0, SIGTERM);
        until_called(0, 1);
        order(0, SIGKILL);
        store_release(&seen->is_still, 0);
        pass_still_time();
        until_over();
        assert_int_equal(load_relaxed(&seen->number[0]), SIGKILL);
}

static void no_signal_is_sent_for_the_next_session_of_a_place(void **state)
{
        order(0, SIGKILL);
        all.session[0].id[0]++;
        assert_int_equal(until_over(), 0);
        assert_int_equal(calls(0), 0);
}

static void one_for_each(unsigned first, unsigned after)
{
        for (unsigned i = first; i < after; i++) {
                all.session[i].owner_uid = 2000 + i;
                order(i, SIGKILL);
        }
}

static unsigned called(void)
{
        unsigned count = 0;

        for (unsigned i = 0; i < SESSIONS; i++)
                count += calls(i) != 0;
        return count;
}

/* What stands still is no search that goes on: it keeps nobody's place. */
static void searches_of_all_users_together_are_bounded(void **state)
{
        const uint64_t began_ns = now_ns();

        store_relaxed(&seen->is_still, ~0u);
        one_for_each(0, SESSIONS);
        for (unsigned i = 0; i < 20 || called() < HUNTS_AT_ONCE; i++) {
                hunts_tend(hunts, began_ns); /* as if no time passed */
                usleep(1000);
        }
        assert_int_equal(called(), HUNTS_AT_ONCE);
        while (called() < SESSIONS) {
                hunts_tend(hunts, now_ns());
                usleep(1000);
        }
}

static void no_users_are_always_the_first(void **state)
{
        one_for_each(0, SESSIONS);
        while (called() < SESSIONS) {
                hunts_tend(hunts, now_ns());
                one_for_each(0, HUNTS_AT_ONCE); /* again and again */
                assert_true(calls(0) < 100);
        }
}

static void users_without_number_are_served(void **state)
{
        for (unsigned i = 0; i < 2 * HUNTS_MAX; i++) {
                all.session[0].owner_uid = 2000 + i;
                order(0, SIGKILL);
                assert_int_equal(until_over(), 1);
        }
}

#define hunt_story(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                hunt_story(an_order_is_carried_out_once),
                hunt_story(the_search_has_no_file_of_the_daemons),
                hunt_story(sessions_of_a_user_that_end_together_are_searched_for_by_one_process),
                hunt_story(who_stands_still_holds_up_nobody_elses),
                hunt_story(a_container_that_stands_still_holds_up_no_session_of_roots),
                hunt_story(who_stands_still_is_passed_over),
                hunt_story(one_that_always_stands_still_is_given_up_until_the_next_order),
                hunt_story(a_later_order_replaces_one_that_waits),
                hunt_story(a_kill_is_not_softened_by_a_later_order),
                hunt_story(a_search_that_is_ended_by_something_else_goes_on),
                hunt_story(a_later_order_is_carried_out_after_one_that_was_begun),
                hunt_story(no_signal_is_sent_for_the_next_session_of_a_place),
                hunt_story(searches_of_all_users_together_are_bounded),
                hunt_story(no_users_are_always_the_first),
                hunt_story(users_without_number_are_served),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
