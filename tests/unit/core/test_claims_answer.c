/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes of it for who was found to use a GPU for longer than it says: what is charged, how
 * long it is clamped, the first time and each further one, and when all is forgotten.
 */
#include "claims_stage.h"

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

int main(void)
{
        const struct CMUnitTest tests[] = {
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
        };

        return cmocka_run_group_tests_name("claims answer", tests, NULL, NULL);
}
