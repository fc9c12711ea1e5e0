/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How turns begin and end where all are equal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sched_stage.h"

static void two_take_turns_and_the_lease_is_two_milliseconds(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n" A_UNTIL_2MS "to 8ms\n"
                   "  2ms: close a\n"
                   "  then open b until 4ms\n"
                   "  4ms: close b\n"
                   "  then open a until 6ms\n"
                   "  6ms: close a\n"
                   "  then open b until 8ms\n"
                   "  8ms: close b\n"
                   "  then open a until 10ms\n");
}

static void weights_are_shares_of_held_time(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "add a weight=200\n"
                   "  free a\n"
                   "add b weight=100\n"
                   "want a\n"
                   "  free a (50ms in flight)\n"
                   "want b\n"
                   "  open a until 2ms\n"
                   "to 12ms\n"
                   "  2ms: close a\n"
                   "  then open b until 4ms\n"
                   "  4ms: close b\n"
                   "  then open a until 6ms\n"
                   "  6ms: open a until 8ms\n"
                   "  8ms: close a\n"
                   "  then open b until 10ms\n"
                   "  10ms: close b\n"
                   "  then open a until 12ms\n"
                   "  12ms: open a until 14ms\n"
                   "show a\n"
                   "  held 8ms, billed 0, bucket 12ms, waited 4ms, throttled 0, overran 0\n"
                   "show b\n"
                   "  held 4ms, billed 0, bucket 12ms, waited 8ms, throttled 0, overran 0\n");
}

/* Each costs the scheduler as much, whoever has it. */
static void where_many_want_it_turns_are_longer(void **state)
{
        play_sched("add a\n"
                   "  free a\n"
                   "add b\n"
                   "add c\n"
                   "add d\n"
                   "add e\n"
                   "add f\n"
                   "want a\n"
                   "  free a (50ms in flight)\n"
                   "want b\n"
                   "  open a until 2ms\n"
                   "want c\n"
                   "want d\n"
                   "want e\n"
                   "want f\n"
                   "to 2ms\n"
                   "  2ms: close a\n"
                   "drained a\n"
                   "  open b until 6ms\n");
}

/* What a hand-over takes of the device beyond the gap that is seen; but for rt, whose turns go by
 * that gap alone. */
static void turns_are_as_long_as_is_worth_what_nobody_sees_of_a_hand_over(void **state)
{
        play_sched("unseen 100us\n"
                   "add a\n"
                   "  free a\n"
                   "add b\n"
                   "want a\n"
                   "  free a (50ms in flight)\n"
                   "want b\n"
                   "  open a until 6400us\n");
        play_sched("unseen 200us\n"
                   "add a\n"
                   "  free a\n"
                   "add b\n"
                   "want a\n"
                   "  free a (50ms in flight)\n"
                   "want b\n"
                   "  open a until 10ms\n");
        play_sched("unseen 100us\n"
                   "add a\n"
                   "  free a\n"
                   "add b rt\n"
                   "add c rt\n"
                   "want b\n"
                   "  close a, free b (50ms in flight)\n"
                   "want c\n"
                   "  open b until 1ms\n");
}

static void one_that_dies_gives_way_at_once(void **state)
{
        play_sched(A_UNTIL_2MS "to 1ms\n"
                               "remove a\n"
                               "  free b\n"
                               "next\n"
                               "  never\n");
}

static void who_rests_has_told_all_of_it(void **state)
{
        play_sched("add a cap=50\n"
                   "  free a (2ms in flight)\n"
                   "to 1000ms\n"
                   "want a\n"
                   "idle a\n"
                   "used a 9ms\n"
                   "show a\n"
                   "  held 0, billed 0, bucket 10ms, waited 0, throttled 0, overran 0\n");
}

static void who_is_done_yields_at_once(void **state)
{
        play_sched(A_UNTIL_2MS "to 500us\n"
                               "idle a\n"
                               "  close a, open b until 2500us\n"
                               "drained a\n"
                               "to 700us\n"
                               "want a\n");
}

static void the_last_one_is_free_when_the_others_have_been_quiet(void **state)
{
        play_sched(A_UNTIL_2MS "prompt a\n"
                               "prompt b\n"
                               "to 2ms\n"
                               "  2ms: close a\n"
                               "  then open b until 4ms\n"
                               "idle a\n"
                               "skip 101ms\n"
                               "to 102ms\n"
                               "  102ms: free b (2ms in flight)\n"
                               "next\n"
                               "  1002ms\n"
                               "want a\n"
                               "  close b\n"
                               "  then open a until 104ms\n");
}

static void what_was_not_told_before_the_drain_cannot_be_told_later(void **state)
{
        play_sched("add a cap=50\n"
                   "  free a (2ms in flight)\n"
                   "add b\n"
                   "prompt b\n"
                   "want a\n"
                   "to 10ms\n"
                   "used a 4ms\n"
                   "want b\n"
                   "  close a\n"
                   "to 12ms\n"
                   "used a 1ms\n"
                   "drained a\n"
                   "  open b until 14ms\n"
                   "used a 9ms\n"
                   "show a\n"
                   "  held 12ms, billed 5ms, bucket 1ms, waited 2ms, throttled 0, overran 2ms\n");
}

static void a_gate_that_is_open_for_nobody_is_closed_before_another_opens(void **state)
{
        play_sched("add a\n"
                   "  free a\n"
                   "add b\n"
                   "to 500ms\n"
                   "want b\n"
                   "  close a, free b (50ms in flight)\n"
                   "drained a\n");
}

static void what_makes_no_sense_is_refused_by_name(void **state)
{
        play_sched("add a cap=0\n"
                   "  refused: compute\n"
                   "add a cap=101\n"
                   "  refused: compute\n"
                   "add a owed=30 cap=20\n"
                   "  refused: guarantee\n"
                   "add a weight=0\n"
                   "  refused: weight\n"
                   "add a weight=10001\n"
                   "  refused: weight\n"
                   "add a on=16\n"
                   "  refused: device\n"
                   "want a\n"
                   "  refused: member\n"
                   "add a owed=70\n"
                   "  free a\n"
                   "add a\n"
                   "  refused: member\n"
                   "add b owed=40\n"
                   "  refused: guarantee\n"
                   "add b owed=40 on=1\n"
                   "  free b\n"
                   "add c owed=30\n"
                   "change c owed=31\n"
                   "  refused: guarantee\n"
                   "change c cap=20\n"
                   "  refused: guarantee\n");
}

/* Whoever had the device when the scheduler fell asleep does not pay for the time of its sleep. */
static void time_in_which_nobody_looked_is_nobodys(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "add a cap=40\n"
                   "  free a (2ms in flight)\n"
                   "to 100ms\n"
                   "add b\n"
                   "want a\n"
                   "want b\n"
                   "  open a until 102ms\n"
                   "to 101ms\n"
                   "used a 1ms\n"
                   "away 2000ms\n"
                   "tick\n"
                   "  close a\n"
                   "  then open b until 2002ms\n"
                   "show a\n"
                   "  held 1ms, billed 1ms, bucket 7400us, waited 0, throttled 0, overran 0\n"
                   "show b\n"
                   "  held 0, billed 0, bucket 1ms, waited 1ms, throttled 0, overran 0\n");
}

/* Its next lease counts from when it is expected; less so with each turn that it begins. */
static void who_missed_a_turn_for_it_woke_up_late_gets_longer_ones(void **state)
{
        play_sched(A_UNTIL_2MS "prompt a\n"
                               "prompt b\n"
                               "to 2ms\n"
                               "  2ms: close a\n"
                               "  then open b until 4ms\n"
                               "missed a 3ms\n"
                               "to 5ms\n"
                               "  4ms: close b\n"
                               "  then open a until 9ms\n"
                               "began a\n"
                               "to 22ms\n"
                               "  9ms: close a\n"
                               "  then open b until 17ms\n"
                               "  17ms: close b\n"
                               "  then open a until 27750us\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(time_in_which_nobody_looked_is_nobodys),
                cmocka_unit_test(two_take_turns_and_the_lease_is_two_milliseconds),
                cmocka_unit_test(weights_are_shares_of_held_time),
                cmocka_unit_test(where_many_want_it_turns_are_longer),
                cmocka_unit_test(turns_are_as_long_as_is_worth_what_nobody_sees_of_a_hand_over),
                cmocka_unit_test(one_that_dies_gives_way_at_once),
                cmocka_unit_test(who_rests_has_told_all_of_it),
                cmocka_unit_test(who_is_done_yields_at_once),
                cmocka_unit_test(the_last_one_is_free_when_the_others_have_been_quiet),
                cmocka_unit_test(what_was_not_told_before_the_drain_cannot_be_told_later),
                cmocka_unit_test(a_gate_that_is_open_for_nobody_is_closed_before_another_opens),
                cmocka_unit_test(what_makes_no_sense_is_refused_by_name),
                cmocka_unit_test(who_missed_a_turn_for_it_woke_up_late_gets_longer_ones),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
