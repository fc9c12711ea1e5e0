/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is found to use a GPU for longer than it says, after how many windows, and for how long that
 * is reported. A trace is so many looks, one a second, at a session that uses and claims so many
 * percent.
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

static struct claim claim;
static struct claims_policy policy;
static struct claims_sight sight; /* as last seen */

static int begin_anew(void **state)
{
        memset(&claim, 0, sizeof(claim));
        policy = (struct claims_policy){ .tolerance_percent = 10 };
        sight = (struct claims_sight){
                .is_measured = true, .is_free = true, .cap_ppm = 500000, .elapsed_ns = SECOND
        };
        claims_see(&claim, &policy, &sight);
        return 0;
}

/* True: it is reported from now on. */
static bool look(unsigned shown, unsigned claimed)
{
        sight.shown_ns = shown * PERCENT;
        sight.busy_ns += claimed * PERCENT;
        return claims_see(&claim, &policy, &sight);
}

/* At which look it is reported, or NEVER. */
static unsigned look_until_reported(unsigned shown, unsigned claimed)
{
        for (unsigned i = 1; i < NEVER; i++) {
                if (look(shown, claimed))
                        return i;
        }
        return NEVER;
}

/* After how many looks at one that claims what it uses it is no longer reported. */
static unsigned look_until_believed(void)
{
        unsigned looks = 0;

        for (; claim.is_reported && looks < NEVER; looks++)
                look(50, 50);
        return looks;
}

/* -- Who is reported -------------------------------------------------------------------------- */

static void who_claims_what_it_uses_is_never_reported(void **state)
{
        assert_int_equal(look_until_reported(50, 50), NEVER);
        assert_int_equal(look_until_reported(30, 45), NEVER);
        assert_int_equal(look_until_reported(0, 0), NEVER);
        assert_int_equal(look_until_reported(60, 50), NEVER); /* the tolerance */
}

static void who_claims_nothing_is_reported_in_ten_seconds(void **state)
{
        assert_in_range(look_until_reported(50, 0), 8, 10);
        assert_true(claim.is_reported);
        assert_int_equal(claim.why, CLAIMS_UNDERSTATED);
        assert_int_equal(claim.told_window_ns, SECOND);
        assert_int_equal(claim.told_shown_ns, 50 * PERCENT);
        assert_int_equal(claim.told_claimed_ns, 0);
}

static void who_claims_half_is_reported_too(void **state)
{
        assert_in_range(look_until_reported(50, 25), 8, 14);
}

/* The meter is honest and the bucket is not: it has the GPU for longer than its cap. */
static void who_is_above_its_cap_and_owes_nothing_is_reported(void **state)
{
        assert_in_range(look_until_reported(100, 100), 8, 11);
        assert_int_equal(claim.why, CLAIMS_ABOVE_CAP);
}

/* Leases are the scheduler's to give, and its bucket is another one. */
static void who_has_leases_is_not_asked_for_its_own_bucket(void **state)
{
        sight.is_free = false;
        assert_int_equal(look_until_reported(100, 100), NEVER);
        sight.is_free = true;
        for (unsigned i = 0; i < 30; i++) {
                sight.leases++;
                assert_false(look(100, 100));
        }
        assert_in_range(look_until_reported(100, 100), 8, 11);
}

/* A kernel of some seconds, and the pause in which it is paid for. */
static void who_owes_what_is_above_its_cap_is_not_reported(void **state)
{
        for (unsigned round = 0; round < 50; round++) {
                for (unsigned i = 1; i <= 20; i++) {
                        sight.owed_ns = i * SECOND / 2;
                        assert_false(look(100, 100));
                }
                for (unsigned i = 20; i > 0; i--) {
                        sight.owed_ns = i * SECOND / 2;
                        assert_false(look(0, 0));
                }
        }
}

/* It never stops to pay: what is above comes to more than it says it owes, and to more than anybody
 * is believed. */
static void who_says_for_ever_that_it_owes_is_reported(void **state)
{
        sight.owed_ns = 10 * SECOND;
        assert_in_range(look_until_reported(100, 100), 30, 40);
        begin_anew(state);
        sight.owed_ns = UINT64_MAX;
        assert_in_range(look_until_reported(100, 100), 150, 170);
}

static void a_meter_that_goes_back_claims_nothing(void **state)
{
        unsigned looks = 0;

        for (; !claim.is_reported && looks < NEVER; looks++) {
                sight.busy_ns = (NEVER - looks) * SECOND;
                look(45, 0);
        }
        assert_in_range(looks, 8, 20);
}

static void lying_every_second_second_is_seen(void **state)
{
        unsigned looks = 0;

        for (; !claim.is_reported && looks < NEVER; looks++)
                look(50, looks % 2 ? 50 : 0);
        assert_in_range(looks, 16, 60);
}

/* Nothing is shown of it meanwhile, and the meter stands still. */
static void programs_that_come_and_go_have_one_account(void **state)
{
        unsigned looks = 0;

        for (; !claim.is_reported && looks < NEVER; looks++)
                look(looks % 3 == 2 ? 0 : 50, 0);
        assert_in_range(looks, 8, 40);
}

/* -- What is no evidence ---------------------------------------------------------------------- */

/* A program that is stopped with work in flight tells of it when it goes on. */
static void seven_windows_report_nobody(void **state)
{
        for (unsigned i = 0; i < 50; i++) {
                for (unsigned j = 0; j < 7; j++)
                        assert_false(look(50, 0));
                assert_false(look(50, 400));
                for (unsigned j = 0; j < 14; j++)
                        assert_false(look(50, 50));
        }
}

/* Claims come before the driver's word, or after it. */
static void bursts_are_not_accused_at_any_phase(void **state)
{
        for (unsigned round = 0; round < 200; round++) {
                look(0, 90);
                look(90, 0);
                look(0, 0);
                for (unsigned i = 0; i < round % 5; i++)
                        look(0, 0);
                look(45, 0);
                look(0, 45);
                assert_int_equal(claim.score, 0);
        }
}

static void what_is_shown_a_window_late_is_no_lie(void **state)
{
        for (unsigned round = 0; round < 200; round++) {
                look(0, 90);
                look(90, 0);
                assert_int_equal(claim.score, 0);
        }
}

static void who_is_not_measured_is_not_reported(void **state)
{
        sight.is_measured = false;
        assert_int_equal(look_until_reported(100, 0), NEVER);
        sight.is_measured = true;
        assert_in_range(look_until_reported(100, 0), 8, 9);
}

static void it_may_be_off(void **state)
{
        look_until_reported(50, 0);
        policy.is_off = true;
        look(50, 0);
        assert_false(claim.is_reported);
        assert_int_equal(look_until_reported(50, 0), NEVER);
}

/* Each looks busy while the other one has its slice: together more than there is. */
static void what_others_may_have_used_is_not_held_against_anybody(void **state)
{
        assert_int_equal(claims_min(60, 90, 100), 60);
        assert_int_equal(claims_min(100, 200, 100), 0);
        assert_int_equal(claims_min(90, 130, 100), 60);
        assert_int_equal(claims_min(0, UINT64_MAX, 100), 0);
}

/* -- For how long ----------------------------------------------------------------------------- */

static void it_is_told_once_and_ends_after_sixteen_honest_windows(void **state)
{
        look_until_reported(50, 0);
        assert_int_equal(look_until_reported(50, 0), NEVER);
        assert_int_equal(look_until_believed(), CLAIMS_SCORE_MAX);
        assert_int_equal(look_until_reported(50, 50), NEVER);
        assert_in_range(look_until_reported(50, 0), 8, 10);
}

/* What it lied about until then is not counted again. */
static void who_is_believed_again_begins_anew(void **state)
{
        for (unsigned i = 0; i < 300; i++)
                look(50, 0);
        look_until_believed();
        for (unsigned i = 0; i < 100; i++)
                look(i % 2 ? 65 : 45, 50);
        assert_false(claim.is_reported);
}

/* The driver may fail to tell now and then. */
static void one_look_that_tells_nothing_ends_no_report(void **state)
{
        look_until_reported(50, 0);
        for (unsigned i = 0; i < 100; i++) {
                sight.is_measured = i % 10 != 0;
                assert_false(look(50, 0));
                assert_true(claim.is_reported);
        }
}

#define STORY(name) cmocka_unit_test_setup(name, begin_anew)

int main(void)
{
        const struct CMUnitTest tests[] = {
                STORY(who_claims_what_it_uses_is_never_reported),
                STORY(who_claims_nothing_is_reported_in_ten_seconds),
                STORY(who_claims_half_is_reported_too),
                STORY(who_is_above_its_cap_and_owes_nothing_is_reported),
                STORY(who_has_leases_is_not_asked_for_its_own_bucket),
                STORY(who_owes_what_is_above_its_cap_is_not_reported),
                STORY(who_says_for_ever_that_it_owes_is_reported),
                STORY(a_meter_that_goes_back_claims_nothing),
                STORY(lying_every_second_second_is_seen),
                STORY(programs_that_come_and_go_have_one_account),
                STORY(seven_windows_report_nobody),
                STORY(bursts_are_not_accused_at_any_phase),
                STORY(what_is_shown_a_window_late_is_no_lie),
                STORY(who_is_not_measured_is_not_reported),
                STORY(it_may_be_off),
                STORY(what_others_may_have_used_is_not_held_against_anybody),
                STORY(it_is_told_once_and_ends_after_sixteen_honest_windows),
                STORY(who_is_believed_again_begins_anew),
                STORY(one_look_that_tells_nothing_ends_no_report),
        };

        return cmocka_run_group_tests_name("claims", tests, NULL, NULL);
}
