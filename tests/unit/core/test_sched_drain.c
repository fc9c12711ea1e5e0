/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of what was launched in a turn, piece by piece: the stories of whole turns are in
 * test_sched_*.c, and do not show each of these.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/sched_parts.h"

#define US SCHED_US
#define MS SCHED_MS
#define NOW (1000 * MS)

static struct sched sched;
static struct sched_member *const one = &sched.member[0], *const two = &sched.member[1];

/* Two members of one device, both closed for long. */
static int begin(void **state)
{
        sched_init(&sched);
        sched.device[0].first = 0;
        sched.device[0].at_ns = NOW;
        for (uint16_t i = 0; i < 2; i++)
                sched.member[i] = (struct sched_member){
                        .terms = { .cap_ppm = SCHED_WHOLE_PPM,
                                   .weight = 100,
                                   .class = SCHED_CLASS_NORMAL },
                        .mode = SCHED_MODE_CLOSED,
                        .next = i ? NOBODY : 1,
                        .mate = i,
                };
        return 0;
}

static void tell(unsigned place, int64_t ns, int64_t slack_ns)
{
        const struct sched_event event = {
                .type = SCHED_RESIDUAL, .member = (uint16_t)place, .ns = ns, .slack_ns = slack_ns
        };
        const struct step step = { .sched = &sched, .event = &event, .now_ns = NOW };

        drain_residual(&step, place);
}

static void whose_turn_was_taken_drains_until_it_says_more(void **state)
{
        one->is_wanting = one->is_lending = true;
        one->lends_ns = MS;
        drain_begin(one, NOW);
        assert_true(one->is_draining && one->is_cut && !one->is_lending);
        assert_int_equal(one->close_ns, NOW);
        assert_int_equal(one->wait_since_ns, NOW);
        assert_int_equal(one->left_ns, SCHED_WAKE_MOST_NS);
        assert_int_equal(one->lends_ns, 0);
        assert_int_equal(one->empty_ns, SCHED_NEVER);
        assert_int_equal(one->done_ns, SCHED_NEVER);
}

static void who_wanted_nothing_more_is_done_and_was_not_cut_short(void **state)
{
        drain_begin(one, NOW);
        assert_true(one->is_draining && !one->is_cut);
        assert_int_equal(one->empty_ns, NOW);
        assert_int_equal(one->done_ns, NOW);
        assert_int_equal(sched_drain_ns(&sched, 0), NOW);
}

/* For as long as it was beside others, and no longer than anybody lends. */
static void who_was_beside_others_is_done_so_much_later(void **state)
{
        drain_begin(one, NOW);
        one->shared_ns = 2 * SCHED_WAKE_MOST_NS;
        assert_int_equal(sched_drain_ns(&sched, 0), NOW);
        one->shared_ns = 1 * MS;
        assert_int_equal(sched_drain_ns(&sched, 0), NOW + 1 * MS);
        one->shared_ns = 100 * MS;
        assert_int_equal(sched_drain_ns(&sched, 0), NOW + SCHED_LENDS_NS);
}

static void what_is_told_of_the_rest_is_believed_within_bounds(void **state)
{
        one->is_wanting = true;
        drain_begin(one, NOW);
        tell(0, 3 * MS, 1 * MS);
        assert_int_equal(one->empty_ns, NOW + 3 * MS);
        assert_int_equal(one->done_ns, NOW + 2 * MS);
        tell(0, -5, 0);
        assert_int_equal(one->empty_ns, NOW);
        assert_int_equal(one->done_ns, NOW);
        tell(0, SCHED_LENDS_NS, 0);
        assert_int_equal(one->empty_ns, NOW + SCHED_LENDS_NS);
        assert_int_equal(one->done_ns, SCHED_NEVER); /* nothing is known of it */
}

/* Who said again and again how much is left could lend its time for ever. */
static void time_is_lent_once_a_turn(void **state)
{
        one->is_wanting = true;
        drain_begin(one, NOW);
        one->shared_ns = 1 * MS;
        tell(0, 2 * MS, 0);
        assert_true(one->is_lending);
        assert_int_equal(one->left_ns, 2 * MS);
        assert_int_equal(one->lends_ns, SCHED_LENDS_NS);
        one->left_ns = 500 * US;
        tell(0, 3 * MS, 0);
        assert_int_equal(one->left_ns, 500 * US);
}

/* By what it told, not by when somebody looks; but not before its gate closed. */
static void a_device_was_drained_when_the_work_was_done(void **state)
{
        const struct step step = { .sched = &sched, .now_ns = NOW };

        drain_begin(one, NOW - 5 * MS);
        one->done_ns = NOW - 2 * MS;
        drain_end(&step, 0);
        assert_int_equal(sched.device[0].drained_ns, NOW - 2 * MS);
        assert_int_equal(one->overrun_ns, 5 * MS);
        drain_begin(one, NOW - 1 * MS);
        one->done_ns = NOW - 4 * MS;
        drain_end(&step, 0);
        assert_int_equal(sched.device[0].drained_ns, NOW - 1 * MS);
}

static void only_a_turn_that_was_cut_short_counts_as_given_up(void **state)
{
        const struct step step = { .sched = &sched, .now_ns = NOW };

        drain_begin(one, NOW - MS);
        drain_end(&step, 0);
        assert_int_equal(sched.device[0].times.yield.sum_ns, 0);
        one->is_wanting = true;
        drain_begin(one, NOW - MS);
        drain_end(&step, 0);
        assert_int_equal(sched.device[0].times.yield.sum_ns, MS);
}

/* Each at its own time, whatever their places. */
static void of_several_drains_that_are_over_the_first_ends_first(void **state)
{
        for (unsigned first = 0; first < 2; first++) {
                begin(state);
                drain_begin(one, NOW);
                drain_begin(two, NOW);
                sched.member[first].empty_ns = NOW + 2 * MS;
                sched.member[!first].empty_ns = NOW + 5 * MS;
                drain_settle(&sched, 0, NOW + 100 * MS);
                assert_false(one->is_draining || two->is_draining);
                assert_int_equal(sched.member[first].overrun_ns, 2 * MS + SCHED_LENDS_NS);
                /* The other is alone from then on. */
                assert_in_range(sched.member[!first].overrun_ns, 5 * MS, 5 * MS + SCHED_LENDS_NS);
                assert_true(sched.member[!first].overrun_ns >= sched.member[first].overrun_ns);
        }
}

int main(void)
{
#define STORY(name) cmocka_unit_test_setup(name, begin)
        const struct CMUnitTest tests[] = {
                STORY(whose_turn_was_taken_drains_until_it_says_more),
                STORY(who_wanted_nothing_more_is_done_and_was_not_cut_short),
                STORY(who_was_beside_others_is_done_so_much_later),
                STORY(what_is_told_of_the_rest_is_believed_within_bounds),
                STORY(time_is_lent_once_a_turn),
                STORY(a_device_was_drained_when_the_work_was_done),
                STORY(only_a_turn_that_was_cut_short_counts_as_given_up),
                STORY(of_several_drains_that_are_over_the_first_ends_first),
        };

        return cmocka_run_group_tests_name("sched drain", tests, NULL, NULL);
}
