/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How sessions end: when their time is over, by which ending, and on which clock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sessions_stage.h"

static void a_session_ends_when_its_ttl_has_passed_and_not_before(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G ttl=60\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "next\n"
             "  1060\n"
             "at 1059\n"
             "tick\n"
             "  yes\n"
             "at 1060\n"
             "next\n"
             "  now\n"
             "tick\n"
             "  yes, one: save tell(expired) shut\n"
             "show one\n"
             "  ending uid 1000 v2 A=1G weight 100 priority 1 on-end deny-new ttl 60 until 1060 "
             "ended 1060\n"
             "next\n"
             "  nothing is due\n"
             "empty one\n"
             "  yes, one: remove forget tell(gone)\n"
             "tick\n"
             "  yes\n");
}

static void deny_new_lets_programs_stay_and_keeps_what_they_have(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=16G ttl=60 end=deny-new\n"
             "  yes, one: save tell(created) make(A=16G)\n"
             "run one\n"
             "at 1060\n"
             "tick\n"
             "  yes, one: save tell(expired) shut\n"
             "next\n"
             "  nothing is due\n"
             "at 9999\n"
             "tick\n"
             "  yes\n"
             "create two A=1G\n"
             "  no-room memory: A wants 1G, free 0G\n"
             "empty one\n"
             "  yes, one: remove forget tell(gone)\n"
             "create two A=1G\n"
             "  yes, two: save tell(created) make(A=1G)\n");
}

static void term_asks_and_kills_after_the_grace_period(void **state)
{
        play("policy strict grace=30\n"
             "  yes\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G ttl=60 end=term\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "run one stubborn\n"
             "at 1061\n"
             "tick\n"
             "  yes, one: save tell(expired) tell(terminated) shut sigterm\n"
             "next\n"
             "  1091\n"
             "at 1090\n"
             "tick\n"
             "  yes\n"
             "at 1091\n"
             "tick\n"
             "  yes, one: save tell(killed) shut sigkill\n"
             "show one\n"
             "  killing uid 1000 v3 A=1G weight 100 priority 1 on-end term ttl 60 until 1060 ended "
             "1061\n"
             "empty one\n"
             "  yes, one: remove forget tell(gone)\n");
}

static void who_leaves_within_the_grace_period_is_not_killed(void **state)
{
        play("policy strict grace=30\n"
             "  yes\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G ttl=60 end=term\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "at 1060\n"
             "tick\n"
             "  yes, one: save tell(expired) tell(terminated) shut sigterm\n"
             "empty one\n"
             "  yes, one: remove forget tell(gone)\n"
             "next\n"
             "  nothing is due\n"
             "at 1090\n"
             "tick\n"
             "  yes\n");
}

static void without_grace_both_come_at_once(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G end=term\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "run one stubborn\n"
             "release one force\n"
             "  yes, one: save tell(released) tell(terminated) shut sigterm\n"
             "tick\n"
             "  yes, one: save tell(killed) shut sigkill\n"
             "tick\n"
             "  yes\n");
}

static void kill_is_said_again_until_nobody_is_left(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G end=kill\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "run one\n"
             "release one force\n"
             "  yes, one: save tell(released) tell(killed) shut sigkill\n"
             "next\n"
             "  1001\n"
             "tick\n"
             "  yes\n"
             "at 1001\n"
             "tick\n"
             "  yes, one: shut sigkill\n"
             "next\n"
             "  1003\n"
             "at 1003\n"
             "tick\n"
             "  yes, one: shut sigkill\n"
             "next\n"
             "  1007\n"
             "empty one\n"
             "  yes, one: remove forget tell(gone)\n"
             "next\n"
             "  nothing is due\n");
}

/* Many that cannot be ended are little work. */
static void kill_is_said_again_ever_more_seldom_up_to_once_a_minute(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G end=kill\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "release one force\n"
             "  yes, one: save tell(released) tell(killed) shut sigkill\n"
             "at 1063\n"
             "tick\n"
             "  yes, one: shut sigkill\n"
             "at 1065\n"
             "tick\n"
             "  yes, one: shut sigkill\n"
             "at 1069\n"
             "tick\n"
             "  yes, one: shut sigkill\n"
             "at 1077\n"
             "tick\n"
             "  yes, one: shut sigkill\n"
             "at 1093\n"
             "tick\n"
             "  yes, one: shut sigkill\n"
             "at 1125\n"
             "tick\n"
             "  yes, one: shut sigkill\n"
             "next\n"
             "  1185\n"
             "at 1185\n"
             "tick\n"
             "  yes, one: shut sigkill\n"
             "next\n"
             "  1245\n");
}

static void a_release_without_force_kills_nobody_who_slips_in(void **state)
{
        play("policy strict grace=30\n"
             "  yes\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G end=kill\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "release one\n"
             "  yes, one: save tell(released) shut\n"
             "show one\n"
             "  ending uid 1000 v2 A=1G weight 100 priority 1 on-end deny-new ended 1000\n"
             "run one\n"
             "at 9999\n"
             "tick\n"
             "  yes\n");
}

static void a_grace_period_is_the_policy_s_when_it_began(void **state)
{
        play("policy strict grace=30\n"
             "  yes\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G end=term\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "release one force\n"
             "  yes, one: save tell(released) tell(terminated) shut sigterm\n"
             "policy strict grace=5\n"
             "  yes\n"
             "next\n"
             "  1030\n");
}

static void an_open_session_may_be_empty(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "empty one\n"
             "  yes\n"
             "show one\n"
             "  open uid 1000 v1 A=1G weight 100 priority 1 on-end deny-new\n"
             "empty two\n"
             "  unknown name\n");
}

static void the_next_end_is_the_earliest(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "next\n"
             "  nothing is due\n"
             "create one A=1G ttl=60\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "create two A=1G ttl=30\n"
             "  yes, two: save tell(created) make(A=1G)\n"
             "create three A=1G\n"
             "  yes, three: save tell(created) make(A=1G)\n"
             "next\n"
             "  1030\n"
             "renew two ttl=90\n"
             "  yes, two: save tell(renewed)\n"
             "next\n"
             "  1060\n"
             "change one ttl=none\n"
             "  yes, one: save tell(changed)\n"
             "next\n"
             "  1090\n");
}

static void of_several_ends_each_tick_has_one(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G ttl=60\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "create two A=1G ttl=60\n"
             "  yes, two: save tell(created) make(A=1G)\n"
             "create three A=1G ttl=60\n"
             "  yes, three: save tell(created) make(A=1G)\n"
             "at 2000\n"
             "tick\n"
             "  yes, one: save tell(expired) shut, more\n"
             "tick\n"
             "  yes, two: save tell(expired) shut, more\n"
             "tick\n"
             "  yes, three: save tell(expired) shut\n"
             "tick\n"
             "  yes\n");
}

static void a_clock_that_goes_back_only_makes_it_later(void **state)
{
        play("policy strict grace=30\n"
             "  yes\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G ttl=60 end=term\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "create two A=1G ttl=60\n"
             "  yes, two: save tell(created) make(A=1G)\n"
             "at 10\n"
             "tick\n"
             "  yes\n"
             "renew two\n"
             "  yes, two: save tell(renewed)\n"
             "next\n"
             "  70\n"
             "at 1060\n"
             "tick\n"
             "  yes, one: save tell(expired) tell(terminated) shut sigterm, more\n"
             "tick\n"
             "  yes, two: save tell(expired) shut\n"
             "tick\n"
             "  yes\n"
             "at 10\n"
             "tick\n"
             "  yes\n"
             "at 1090\n"
             "tick\n"
             "  yes, one: save tell(killed) shut sigkill\n");
}

static void what_is_killed_is_killed_again_on_a_clock_that_went_back(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G end=kill\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "release one force\n"
             "  yes, one: save tell(released) tell(killed) shut sigkill\n"
             "at 10\n"
             "tick\n"
             "  yes, one: shut sigkill\n"
             "next\n"
             "  12\n");
}

static void a_clock_that_jumps_ahead_ends_what_is_over_on_it(void **state)
{
        play("policy strict grace=30\n"
             "  yes\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G ttl=60 end=term\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "run one stubborn\n"
             "at 500000\n"
             "tick\n"
             "  yes, one: save tell(expired) tell(terminated) shut sigterm\n"
             "next\n"
             "  500030\n"
             "tick\n"
             "  yes\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_session_ends_when_its_ttl_has_passed_and_not_before),
                cmocka_unit_test(deny_new_lets_programs_stay_and_keeps_what_they_have),
                cmocka_unit_test(term_asks_and_kills_after_the_grace_period),
                cmocka_unit_test(who_leaves_within_the_grace_period_is_not_killed),
                cmocka_unit_test(without_grace_both_come_at_once),
                cmocka_unit_test(kill_is_said_again_until_nobody_is_left),
                cmocka_unit_test(kill_is_said_again_ever_more_seldom_up_to_once_a_minute),
                cmocka_unit_test(a_release_without_force_kills_nobody_who_slips_in),
                cmocka_unit_test(a_grace_period_is_the_policy_s_when_it_began),
                cmocka_unit_test(an_open_session_may_be_empty),
                cmocka_unit_test(the_next_end_is_the_earliest),
                cmocka_unit_test(of_several_ends_each_tick_has_one),
                cmocka_unit_test(a_clock_that_goes_back_only_makes_it_later),
                cmocka_unit_test(what_is_killed_is_killed_again_on_a_clock_that_went_back),
                cmocka_unit_test(a_clock_that_jumps_ahead_ends_what_is_over_on_it),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
