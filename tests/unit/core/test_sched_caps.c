/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a hard cap is kept, by the scheduler or by the session alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sched_stage.h"

static void alone_is_free_and_keeps_its_cap_itself(void **state)
{
        play_sched("add a cap=30\n"
                   "  free a at 30 % with 0\n"
                   "to 1000ms\n"
                   "want a\n"
                   "used a 10ms\n"
                   "change a cap=50\n"
                   "  free a at 50 % with -4ms\n"
                   "change a cap=100\n"
                   "  free a\n"
                   "next\n"
                   "  never\n");
}

static void a_lowered_cap_has_a_small_bank(void **state)
{
        play_sched("add a\n"
                   "  free a\n"
                   "to 1000ms\n"
                   "change a cap=10\n"
                   "  free a at 10 % with 2ms\n");
}

static void debt_is_waited_out_to_the_nanosecond(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "add a cap=20\n"
                   "  free a at 20 % with 0\n"
                   "add b\n"
                   "to 2ms\n"
                   "want a\n"
                   "want b\n"
                   "  open a until 4ms\n"
                   "to 3500us\n"
                   "used a 1500us\n"
                   "idle b\n"
                   "show a\n"
                   "  held 1500us, billed 1500us, bank -800us, waited 0, throttled 0, overran 0\n"
                   "to 5ms\n"
                   "  4ms: close a\n"
                   "next\n"
                   "  7500001ns\n"
                   "to 8ms\n"
                   "  7500001ns: open a until 9500001ns\n");
}

static void raising_a_cap_forgives_nothing(void **state)
{
        play_sched("add a cap=10\n"
                   "  free a at 10 % with 0\n"
                   "to 1000ms\n"
                   "want a\n"
                   "used a 500ms\n"
                   "change a cap=50\n"
                   "  free a at 50 % with -498ms\n"
                   "to 1100ms\n"
                   "show a\n"
                   "  held 0, billed 500ms, bank -498ms, waited 0, throttled 0, overran 0\n"
                   "change a cap=10\n"
                   "  free a at 10 % with -448ms\n"
                   "show a\n"
                   "  held 100ms, billed 500ms, bank -448ms, waited 0, throttled 0, overran 0\n");
}

static void a_debt_of_ten_seconds_is_told_once(void **state)
{
        play_sched("add a cap=50\n"
                   "  free a at 50 % with 0\n"
                   "to 30000ms\n"
                   "want a\n"
                   "used a 10100ms\n"
                   "  alarm a\n"
                   "used a 10ms\n"
                   "show a\n"
                   "  held 0, billed 10110ms, bank -10100ms, waited 0, throttled 0, overran 0\n");
}

static void what_a_member_says_of_its_bank_is_believed_against_it_only(void **state)
{
        play_sched("add a cap=50\n"
                   "  free a at 50 % with 0\n"
                   "to 1000ms\n"
                   "want a\n"
                   "used a 1ms 20ms\n"
                   "show a\n"
                   "  held 0, billed 1ms, bank 9ms, waited 0, throttled 0, overran 0\n"
                   "used a 1ms 3ms\n"
                   "show a\n"
                   "  held 0, billed 2ms, bank 3ms, waited 0, throttled 0, overran 0\n");
}

/* Who measures some of its launches for all tells too much in one turn, and too little in many. */
static void samples_beyond_what_was_held_are_billed_with_what_is_held_later(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "add b\n"
                   "  free b\n"
                   "want b\n"
                   "add a cap=50\n"
                   "to 20ms\n"
                   "want a\n"
                   "  close b\n"
                   "  then open a until 22ms\n"
                   "to 21ms\n"
                   "used a 3ms sampled\n"
                   "show a\n"
                   "  held 1ms, billed 1ms, bank 9500us, waited 0, throttled 0, overran 0\n"
                   "to 30ms\n"
                   "  22ms: open a until 24ms\n"
                   "  24ms: open a until 26ms\n"
                   "  26ms: close a\n"
                   "  then open b until 28ms\n"
                   "  28ms: close b\n"
                   "  then open a until 30ms\n"
                   "  30ms: close a\n"
                   "  then open b until 32ms\n"
                   "show a\n"
                   "  held 8ms, billed 3ms, bank 12ms, waited 2ms, throttled 0, overran 0\n");
}

/* It keeps its cap itself then, and by all that it measured. */
static void samples_beyond_what_was_held_are_not_billed_to_who_is_free(void **state)
{
        play_sched("add a cap=50\n"
                   "  free a at 50 % with 0\n"
                   "add b\n"
                   "want a\n"
                   "want b\n"
                   "  close a\n"
                   "used a 5ms sampled\n"
                   "remove b\n"
                   "  free a at 50 % with 0\n"
                   "to 100ms\n"
                   "used a 1ms\n"
                   "show a\n"
                   "  held 100ms, billed 1ms, bank 49ms, waited 0, throttled 0, overran 0\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(alone_is_free_and_keeps_its_cap_itself),
                cmocka_unit_test(a_lowered_cap_has_a_small_bank),
                cmocka_unit_test(debt_is_waited_out_to_the_nanosecond),
                cmocka_unit_test(raising_a_cap_forgives_nothing),
                cmocka_unit_test(a_debt_of_ten_seconds_is_told_once),
                cmocka_unit_test(what_a_member_says_of_its_bank_is_believed_against_it_only),
                cmocka_unit_test(samples_beyond_what_was_held_are_billed_with_what_is_held_later),
                cmocka_unit_test(samples_beyond_what_was_held_are_not_billed_to_who_is_free),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
