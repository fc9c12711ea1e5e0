/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is found to use a GPU for longer than it says, after how many windows, and what comes of it.
 * A trace is so many looks, one a second, at a session that uses and claims so many percent.
 */
#include "core/claims.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define PERCENT (SECOND / 100)
#define NEVER 1000u

static struct claims claims;
static struct claims_policy policy;
static struct claims_sight sight; /* of the only session, as last seen */
static uint64_t now_ns;
static struct claims_action action[8];
static unsigned actions;
static uint64_t charged_ns, beyond_ns;

static int begin_anew(void **state)
{
        memset(&claims, 0, sizeof(claims));
        policy = (struct claims_policy){ .answer = WATCH_CLAMP,
                                         .tolerance_percent = 10,
                                         .grace_ns = 2 * SECOND };
        sight = (struct claims_sight){ .session = { 1 },
                                       .is_measured = true,
                                       .is_free = true,
                                       .cap_ppm = 500000,
                                       .elapsed_ns = SECOND };
        now_ns = SECOND;
        charged_ns = beyond_ns = 0;
        return 0;
}

static bool is_clamped_on(unsigned share)
{
        struct claims_clamp clamp;

        return claims_clamp(&claims, sight.session, share, &clamp);
}

static void look_at(bool is_there)
{
        claims_begin(&claims);
        if (is_there)
                claims_see(&claims, &policy, &sight);
        claims_end(&claims, &policy, sight.elapsed_ns);
        actions = 0;
        while (actions < 8 && claims_next(&claims, &policy, now_ns, &action[actions])) {
                charged_ns += action[actions].ns;
                beyond_ns += action[actions].beyond_ns;
                actions++;
        }
        assert_true(actions < 8);
        now_ns += SECOND;
}

/* It held the GPU for what it used. */
static void look(unsigned shown, unsigned claimed)
{
        sight.shown_ns = shown * PERCENT;
        sight.busy_ns += claimed * PERCENT;
        sight.held_ns += shown * PERCENT;
        look_at(true);
}

static bool did(enum claims_action_type type)
{
        for (unsigned i = 0; i < actions; i++) {
                if (action[i].type == type)
                        return true;
        }
        return false;
}

/* Looks until that is done; at which look it was, or NEVER. */
static unsigned look_until(enum claims_action_type type, unsigned shown, unsigned claimed)
{
        for (unsigned i = 1; i < NEVER; i++) {
                look(shown, claimed);
                if (did(type))
                        return i;
        }
        return NEVER;
}

/* -- Who is guilty ---------------------------------------------------------------------------- */

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

/* -- What comes of it ------------------------------------------------------------------------- */

static void what_was_unexplained_is_charged_once(void **state)
{
        look(0, 0);
        look_until(CLAIMS_CHARGE, 50, 0);
        assert_in_range(charged_ns, SECOND, 2 * SECOND);
        assert_int_equal(beyond_ns, 0);
        for (unsigned i = 0; i < 20; i++)
                look(50, 0); /* and holds what it uses, which is charged as it is held */
        assert_in_range(charged_ns, SECOND, 2 * SECOND);
}

static void who_goes_around_the_gate_is_charged_what_it_did_not_hold(void **state)
{
        look(0, 0);
        look_until(CLAIMS_CLAMP, 50, 0);
        charged_ns = 0;
        for (unsigned i = 0; i < 20; i++) {
                sight.held_ns -= 40 * PERCENT;
                look(50, 0);
        }
        assert_in_range(charged_ns, 7 * SECOND, 9 * SECOND);
        assert_int_equal(charged_ns, beyond_ns);
}

static void ten_honest_windows_end_a_clamp(void **state)
{
        look(0, 0);
        look_until(CLAIMS_CLAMP, 50, 0);
        assert_int_equal(look_until(CLAIMS_RELEASE, 30, 30), 10);
        assert_false(is_clamped_on(0));
        /* Again, and told of again. */
        assert_in_range(look_until(CLAIMS_TELL, 50, 0), 3, 4);
}

/* Caught, and then honest until it is believed again; for how many seconds that was. */
static unsigned lie_once(void)
{
        assert_int_not_equal(look_until(CLAIMS_CLAMP, 50, 0), NEVER);
        return look_until(CLAIMS_RELEASE, 30, 30);
}

static void each_further_clamp_lasts_twice_as_long_up_to_640_seconds(void **state)
{
        static const unsigned seconds[] = { 10, 20, 40, 80, 160, 320, 640, 640, 640 };
        struct claims_clamp clamp = { 0 };

        look(0, 0);
        for (unsigned i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
                look_until(CLAIMS_CLAMP, 50, 0);
                assert_true(claims_clamp(&claims, sight.session, 0, &clamp));
                assert_int_equal(clamp.left_ns, seconds[i] * SECOND);
                assert_int_equal(clamp.times, i < 7 ? i + 1 : 7);
                assert_int_equal(look_until(CLAIMS_RELEASE, 30, 30), seconds[i]);
                assert_false(is_clamped_on(0));
        }
}

static void ten_minutes_without_a_lie_take_one_doubling_back(void **state)
{
        look(0, 0);
        assert_int_equal(lie_once(), 10);
        assert_int_equal(lie_once(), 20);
        for (unsigned i = 0; i < 601; i++)
                look(30, 30);
        assert_int_equal(lie_once(), 20);
        for (unsigned i = 0; i < 590; i++)
                look(30, 30);
        assert_int_equal(lie_once(), 40);
        for (unsigned i = 0; i < 3 * 601; i++)
                look(30, 30);
        assert_int_equal(lie_once(), 10);
}

static void what_was_forgiven_is_so_also_while_nobody_is_there(void **state)
{
        look(0, 0);
        lie_once();
        lie_once();
        for (unsigned i = 0; i < 300; i++)
                look_at(false);
        assert_int_equal(lie_once(), 40);
        for (unsigned i = 0; i < 3 * 601; i++)
                look_at(false);
        assert_int_equal(claims.places, 0);
        look(0, 0);
        assert_int_equal(lie_once(), 10);
}

/* A daemon that was stopped for an hour has seen nobody be honest for an hour. */
static void a_long_window_is_worth_one_second(void **state)
{
        look(0, 0);
        look_until(CLAIMS_CLAMP, 50, 0);
        sight.elapsed_ns = 3600 * SECOND;
        assert_int_equal(look_until(CLAIMS_RELEASE, 30, 30), 10);
}

static void a_clamp_says_why_and_when_it_ends_at_the_earliest(void **state)
{
        struct claims_clamp clamp = { 0 };

        look(0, 0);
        look_until(CLAIMS_CLAMP, 50, 0);
        assert_int_equal(action[0].why, CLAIMS_UNDERSTATED);
        for (unsigned i = 0; i < 4; i++)
                look(30, 30);
        assert_true(claims_clamp(&claims, sight.session, 0, &clamp));
        assert_int_equal(clamp.why, CLAIMS_UNDERSTATED);
        assert_int_equal(clamp.left_ns, 6 * SECOND);
        assert_int_equal(clamp.shown_ns, 50 * PERCENT);
        assert_int_equal(clamp.claimed_ns, 0);
        for (unsigned i = 0; i < 2; i++)
                look(50, 0);
        assert_true(claims_clamp(&claims, sight.session, 0, &clamp));
        assert_int_equal(clamp.left_ns, 10 * SECOND);
        assert_false(is_clamped_on(1));
        begin_anew(state);
        look(0, 0);
        look_until(CLAIMS_CLAMP, 100, 100);
        assert_true(claims_clamp(&claims, sight.session, 0, &clamp));
        assert_int_equal(clamp.why, CLAIMS_ABOVE_CAP);
}

/* Each report stands for itself: nothing was lasting. */
static void who_is_only_told_of_is_told_of_again_after_ten_seconds(void **state)
{
        policy.answer = WATCH_REPORT;
        look(0, 0);
        for (unsigned i = 0; i < 5; i++) {
                look_until(CLAIMS_TELL, 50, 0);
                for (unsigned j = 0; j < 10; j++)
                        look(30, 30);
                assert_in_range(look_until(CLAIMS_TELL, 50, 0), 3, 4);
        }
}

static void who_is_gone_for_good_is_forgotten(void **state)
{
        look(0, 0);
        look_until(CLAIMS_CLAMP, 50, 0);
        claims_forget(&claims, sight.session);
        assert_false(is_clamped_on(0));
        look_at(false);
        assert_int_equal(claims.places, 0);
}

static void who_is_new_takes_the_room_of_who_is_only_remembered(void **state)
{
        struct claims_sight other = sight;

        look(0, 0);
        lie_once();
        claims_begin(&claims);
        for (unsigned i = 1; i < CLAIMS_CASES; i++) {
                other.session[1] = (uint8_t)(i & 255);
                other.session[2] = (uint8_t)(i >> 8);
                claims_see(&claims, &policy, &other);
        }
        claims_end(&claims, &policy, SECOND);
        assert_int_equal(claims.places, CLAIMS_CASES);
        other.session[3] = 1;
        claims_see(&claims, &policy, &other);
        assert_memory_equal(claims.file[0].session, other.session, sizeof(other.session));
}

static void who_lies_now_and_then_stays_clamped(void **state)
{
        look(0, 0);
        look_until(CLAIMS_CLAMP, 50, 0);
        for (unsigned i = 0; i < 50; i++) {
                look(50, i % 3 == 2 ? 0 : 50);
                assert_false(did(CLAIMS_RELEASE));
        }
}

/* Before it was clamped nothing was to be held against it. */
static void what_was_only_told_of_is_not_charged_later(void **state)
{
        policy.answer = WATCH_REPORT;
        look(0, 0);
        look_until(CLAIMS_TELL, 50, 0);
        for (unsigned i = 0; i < 50; i++) {
                sight.held_ns -= 40 * PERCENT;
                look(50, 0);
        }
        policy.answer = WATCH_CLAMP;
        look_until(CLAIMS_CHARGE, 50, 0);
        assert_in_range(charged_ns, SECOND, 2 * SECOND);
}

static void a_clamp_outlasts_the_programs_for_ten_windows(void **state)
{
        unsigned looks = 0;

        look(0, 0);
        look_until(CLAIMS_CLAMP, 50, 0);
        for (actions = 0; !did(CLAIMS_RELEASE) && looks < NEVER; looks++)
                look_at(false);
        assert_int_equal(looks, 10);
        for (unsigned i = 0; i < 600; i++)
                look_at(false);
        assert_int_equal(claims.places, 0);
}

static void a_clamp_ends_when_the_policy_is_another(void **state)
{
        look(0, 0);
        look_until(CLAIMS_CLAMP, 50, 0);
        policy.answer = WATCH_REPORT;
        look(50, 0);
        assert_int_equal(actions, 1);
        assert_int_equal(action[0].type, CLAIMS_RELEASE);
        look(50, 0);
        assert_int_equal(actions, 0);
}

static void it_may_be_told_and_nothing_else(void **state)
{
        policy.answer = WATCH_REPORT;
        look(0, 0);
        look_until(CLAIMS_TELL, 50, 0);
        assert_int_equal(actions, 1);
        assert_int_equal(look_until(CLAIMS_TELL, 50, 0), NEVER);
        claims_untold(&claims, sight.session, 0);
        assert_int_equal(look_until(CLAIMS_TELL, 50, 0), 1);
        policy.answer = WATCH_IGNORE;
        begin_anew(NULL);
        policy.answer = WATCH_IGNORE;
        assert_int_equal(look_until(CLAIMS_TELL, 50, 0), NEVER);
}

static void who_does_not_go_at_sigterm_is_killed_after_the_grace(void **state)
{
        policy.answer = WATCH_TERM;
        look(0, 0);
        look_until(CLAIMS_TELL, 50, 0);
        assert_true(did(CLAIMS_SIGTERM));
        assert_in_range(look_until(CLAIMS_SIGKILL, 50, 0), 2, 3);
        assert_int_equal(look_until(CLAIMS_SIGKILL, 50, 0), NEVER);
        begin_anew(NULL);
        policy.answer = WATCH_KILL;
        look(0, 0);
        look_until(CLAIMS_TELL, 50, 0);
        assert_true(did(CLAIMS_SIGKILL) && !did(CLAIMS_SIGTERM));
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
#define STORY(name) cmocka_unit_test_setup(name, begin_anew)
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
                STORY(what_was_unexplained_is_charged_once),
                STORY(who_goes_around_the_gate_is_charged_what_it_did_not_hold),
                STORY(ten_honest_windows_end_a_clamp),
                STORY(each_further_clamp_lasts_twice_as_long_up_to_640_seconds),
                STORY(ten_minutes_without_a_lie_take_one_doubling_back),
                STORY(what_was_forgiven_is_so_also_while_nobody_is_there),
                STORY(a_long_window_is_worth_one_second),
                STORY(a_clamp_says_why_and_when_it_ends_at_the_earliest),
                STORY(who_is_only_told_of_is_told_of_again_after_ten_seconds),
                STORY(who_is_gone_for_good_is_forgotten),
                STORY(who_is_new_takes_the_room_of_who_is_only_remembered),
                STORY(who_lies_now_and_then_stays_clamped),
                STORY(what_was_only_told_of_is_not_charged_later),
                STORY(a_clamp_outlasts_the_programs_for_ten_windows),
                STORY(a_clamp_ends_when_the_policy_is_another),
                STORY(it_may_be_told_and_nothing_else),
                STORY(who_does_not_go_at_sigterm_is_killed_after_the_grace),
                STORY(what_others_may_have_used_is_not_held_against_anybody),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
