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
                   "  free a (2ms in flight)\n"
                   "to 1000ms\n"
                   "want a\n"
                   "used a 10ms\n"
                   "change a cap=50\n"
                   "show a\n"
                   "  held 0, billed 10ms, bucket -4ms, waited 0, throttled 0, overran 0\n"
                   "change a cap=100\n"
                   "  free a\n"
                   "next\n"
                   "  never\n");
}

static void a_lowered_cap_has_a_small_bucket(void **state)
{
        play_sched("add a\n"
                   "  free a\n"
                   "to 1000ms\n"
                   "change a cap=10\n"
                   "  free a (2ms in flight)\n"
                   "show a\n"
                   "  held 0, billed 0, bucket 2ms, waited 0, throttled 0, overran 0\n");
}

static void debt_is_waited_out_to_the_nanosecond(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "add a cap=20\n"
                   "  free a (2ms in flight)\n"
                   "add b\n"
                   "to 2ms\n"
                   "want a\n"
                   "want b\n"
                   "  open a until 4ms\n"
                   "to 3500us\n"
                   "used a 1500us\n"
                   "idle b\n"
                   "show a\n"
                   "  held 1500us, billed 1500us, bucket -800us, waited 0, throttled 0, overran 0\n"
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
                   "  free a (2ms in flight)\n"
                   "to 1000ms\n"
                   "want a\n"
                   "used a 500ms\n"
                   "change a cap=50\n"
                   "to 1100ms\n"
                   "show a\n"
                   "  held 0, billed 500ms, bucket -498ms, waited 0, throttled 0, overran 0\n"
                   "change a cap=10\n"
                   "show a\n"
                   "  held 100ms, billed 500ms, bucket -448ms, waited 0, throttled 0, overran 0\n");
}

static void a_debt_of_ten_seconds_is_told_once(void **state)
{
        play_sched("add a cap=50\n"
                   "  free a (2ms in flight)\n"
                   "to 30000ms\n"
                   "want a\n"
                   "used a 10100ms\n"
                   "  alarm a\n"
                   "used a 10ms\n"
                   "show a\n"
                   "  held 0, billed 10110ms, bucket -10100ms, waited 0, throttled 0, overran 0\n");
}

static void a_guarantee_lets_nobody_beyond_its_cap(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "add a cap=20 owed=20\n"
                   "  free a (2ms in flight)\n"
                   "add b\n"
                   "to 2ms\n"
                   "want a\n"
                   "want b\n"
                   "  open a until 4ms\n"
                   "to 3900us\n"
                   "used a 1900us\n"
                   "to 13ms\n"
                   "  4ms: close a\n"
                   "  then open b until 6ms\n"
                   "  6ms: open b until 8ms\n"
                   "  8ms: open b until 10ms\n"
                   "  10ms: close b\n"
                   "  then open a until 12ms\n"
                   "  12ms: open a until 14ms\n");
}

/* What it had alone, where its cap kept it from more, is not taken from it when others come. */
static void who_was_alone_under_a_cap_has_its_turns_when_others_come(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "add a cap=40\n"
                   "  free a (2ms in flight)\n"
                   "add b\n"
                   "to 100ms\n"
                   "want a\n"
                   "to 120ms\n"
                   "used a 17ms\n"
                   "to 1120ms\n"
                   "used a 401ms\n"
                   "to 2120ms\n"
                   "used a 398ms\n"
                   "want b\n"
                   "  close a\n"
                   "  then open b until 2122ms\n"
                   "to 2132ms\n"
                   "  2122ms: open b until 2124ms\n"
                   "  2124ms: open b until 2126ms\n"
                   "  2126ms: open b until 2128ms\n"
                   "  2128ms: close b\n"
                   "  then open a until 2130ms\n"
                   "  2130ms: close a\n"
                   "  then open b until 2132ms\n"
                   "  2132ms: close b\n"
                   "  then open a until 2134ms\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(alone_is_free_and_keeps_its_cap_itself),
                cmocka_unit_test(a_lowered_cap_has_a_small_bucket),
                cmocka_unit_test(debt_is_waited_out_to_the_nanosecond),
                cmocka_unit_test(raising_a_cap_forgives_nothing),
                cmocka_unit_test(a_debt_of_ten_seconds_is_told_once),
                cmocka_unit_test(a_guarantee_lets_nobody_beyond_its_cap),
                cmocka_unit_test(who_was_alone_under_a_cap_has_its_turns_when_others_come),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
