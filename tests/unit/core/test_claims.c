/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is found to use a GPU for longer than it says, and after how many windows.
 * A trace is so many looks, one a second, at a session that uses and claims so many percent.
 */
#include "claims_stage.h"

static void who_claims_what_it_uses_is_never_accused(void **state)
{
        assert_int_equal(look_until(CLAIMS_TELL, 50, 50), NEVER);
        assert_int_equal(look_until(CLAIMS_TELL, 30, 45), NEVER);
        assert_int_equal(look_until(CLAIMS_TELL, 0, 0), NEVER);
        assert_int_equal(look_until(CLAIMS_TELL, 60, 50), NEVER); /* the tolerance */
}

static void who_claims_nothing_is_told_of_in_a_few_seconds(void **state)
{
        look(0, 0);
        assert_in_range(look_until(CLAIMS_TELL, 50, 0), 3, 4);
        assert_int_equal(action[0].answer, WATCH_CLAMP);
        assert_int_equal(action[0].shown_ns, 50 * PERCENT);
        assert_int_equal(action[0].claimed_ns, 0);
        assert_true(did(CLAIMS_CLAMP) && did(CLAIMS_CHARGE));
        assert_true(is_clamped_on(0));
        assert_false(is_clamped_on(1));
}

static void two_windows_convict_nobody(void **state)
{
        look(0, 0);
        for (unsigned i = 0; i < 100; i++) {
                look(i % 6 < 2 ? 70 : 50, i % 6 < 2 ? 0 : 50);
                assert_int_equal(actions, 0);
        }
}

static void who_claims_half_takes_longer(void **state)
{
        look(0, 0);
        assert_in_range(look_until(CLAIMS_TELL, 50, 25), 4, 8);
}

/* The meter is honest and the bucket is not: it has the GPU for longer than its cap. */
static void who_is_above_its_cap_and_owes_nothing_is_told_of(void **state)
{
        look(0, 0);
        assert_in_range(look_until(CLAIMS_TELL, 100, 100), 3, 5);
}

/* Leases are the scheduler's to give, and its bucket is another one. */
static void who_has_leases_is_not_asked_for_its_own_bucket(void **state)
{
        look(0, 0);
        sight.is_free = false;
        assert_int_equal(look_until(CLAIMS_TELL, 100, 100), NEVER);
        sight.is_free = true;
        for (unsigned i = 0; i < 20; i++) {
                sight.leases++;
                look(100, 100);
                assert_int_equal(actions, 0);
        }
        assert_in_range(look_until(CLAIMS_TELL, 100, 100), 3, 5);
}

/* A kernel of some seconds is measured when it is over, and then owed. */
static void who_owes_what_is_above_its_cap_is_not_accused(void **state)
{
        for (unsigned round = 0; round < 50; round++) {
                sight.is_in_flight = true;
                for (unsigned i = 0; i < 4; i++)
                        look(100, 0);
                sight.busy_ns += 4 * SECOND;
                for (unsigned i = 0; i < 4; i++) {
                        sight.is_in_flight = false;
                        sight.owed_ns = (4 - i) * SECOND / 2;
                        look(0, 0);
                        assert_int_equal(actions, 0);
                }
        }
}

/* It never stops to pay: what is above comes to more than it says it owes, and to more than anybody
 * is believed. */
static void who_says_for_ever_that_it_owes_is_told_of(void **state)
{
        look(0, 0);
        sight.owed_ns = 10 * SECOND;
        assert_in_range(look_until(CLAIMS_TELL, 100, 100), 25, 35);
        begin_anew(state);
        look(0, 0);
        sight.owed_ns = UINT64_MAX;
        assert_in_range(look_until(CLAIMS_TELL, 100, 100), 150, 160);
}

static void what_is_in_flight_is_waited_for_so_long_and_no_longer(void **state)
{
        look(0, 0);
        sight.is_in_flight = true;
        assert_in_range(look_until(CLAIMS_TELL, 100, 0), 7, 9);
}

/* Claims come before the driver's word, or after it. */
static void bursts_are_not_accused_at_any_phase(void **state)
{
        for (unsigned round = 0; round < 200; round++) {
                unsigned pause = round % 5;

                look(0, 90);
                look(90, 0);
                look(0, 0);
                for (unsigned i = 0; i < pause; i++)
                        look(0, 0);
                look(45, 0);
                look(0, 45);
                assert_int_equal(actions, 0);
        }
}

static void what_is_shown_a_window_late_is_no_lie(void **state)
{
        for (unsigned round = 0; round < 200; round++) {
                look(0, 90);
                look(90, 0);
                assert_int_equal(actions, 0);
        }
}

static void a_meter_that_goes_back_claims_nothing(void **state)
{
        unsigned looks = 0;

        look(0, 0);
        for (actions = 0; !did(CLAIMS_TELL) && looks < NEVER; looks++) {
                sight.busy_ns = (NEVER - looks) * SECOND;
                look(45, 0);
        }
        assert_in_range(looks, 3, 20);
}

static void lying_every_second_second_does_not_pay_for_long(void **state)
{
        unsigned looks = 0;

        look(0, 0);
        for (actions = 0; !did(CLAIMS_TELL) && looks < NEVER; looks++)
                look(50, looks % 2 ? 50 : 0);
        assert_in_range(looks, 6, 30);
}

/* Without a cap, and alone, nothing was measured; and what is queued runs on. */
static void what_was_queued_unmeasured_is_no_lie(void **state)
{
        sight.cap_ppm = CLAIMS_WHOLE_PPM;
        sight.is_measured = false;
        for (unsigned i = 0; i < 10; i++)
                look(100, 0);
        sight.is_measured = true;
        for (unsigned i = 0; i < 20; i++) {
                look(50, 0);
                assert_int_equal(actions, 0);
        }
        look(50, 50);
        assert_int_equal(look_until(CLAIMS_TELL, 50, 50), NEVER);
        sight.is_measured = false;
        look(100, 0);
        sight.is_measured = true;
        for (unsigned i = 0; i < 20; i++) {
                look(50, 0);
                assert_int_equal(actions, 0);
        }
        look(50, 50);
        assert_in_range(look_until(CLAIMS_TELL, 50, 0), 3, 6);
}

static void who_never_claims_anything_has_half_a_minute(void **state)
{
        sight.cap_ppm = CLAIMS_WHOLE_PPM;
        assert_in_range(look_until(CLAIMS_TELL, 50, 0), 30, 36);
}

static void programs_that_come_and_go_have_one_account(void **state)
{
        unsigned looks = 0;

        look(0, 0);
        for (actions = 0; !did(CLAIMS_TELL) && looks < NEVER; looks++) {
                if (looks % 3 == 2)
                        look_at(false);
                else
                        look(50, 0);
        }
        assert_in_range(looks, 3, 20);
}

/* Each looks busy while the other one has its slice: together more than there is. */
static void what_others_may_have_used_is_not_held_against_anybody(void **state)
{
        assert_int_equal(claims_least(60, 90, 100), 60);
        assert_int_equal(claims_least(100, 200, 100), 0);
        assert_int_equal(claims_least(90, 130, 100), 60);
        assert_int_equal(claims_least(0, UINT64_MAX, 100), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                STORY(who_claims_what_it_uses_is_never_accused),
                STORY(who_claims_nothing_is_told_of_in_a_few_seconds),
                STORY(two_windows_convict_nobody),
                STORY(who_claims_half_takes_longer),
                STORY(who_is_above_its_cap_and_owes_nothing_is_told_of),
                STORY(who_has_leases_is_not_asked_for_its_own_bucket),
                STORY(who_owes_what_is_above_its_cap_is_not_accused),
                STORY(who_says_for_ever_that_it_owes_is_told_of),
                STORY(what_is_in_flight_is_waited_for_so_long_and_no_longer),
                STORY(bursts_are_not_accused_at_any_phase),
                STORY(what_is_shown_a_window_late_is_no_lie),
                STORY(a_meter_that_goes_back_claims_nothing),
                STORY(lying_every_second_second_does_not_pay_for_long),
                STORY(what_was_queued_unmeasured_is_no_lie),
                STORY(who_never_claims_anything_has_half_a_minute),
                STORY(programs_that_come_and_go_have_one_account),
                STORY(what_others_may_have_used_is_not_held_against_anybody),
        };

        return cmocka_run_group_tests_name("claims", tests, NULL, NULL);
}
