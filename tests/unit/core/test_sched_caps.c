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

static void a_guarantee_lets_nobody_beyond_its_cap(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "add a cap=20 owed=20\n"
                   "  free a at 20 % with 0\n"
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

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(alone_is_free_and_keeps_its_cap_itself),
                cmocka_unit_test(a_lowered_cap_has_a_small_bank),
                cmocka_unit_test(debt_is_waited_out_to_the_nanosecond),
                cmocka_unit_test(raising_a_cap_forgives_nothing),
                cmocka_unit_test(a_debt_of_ten_seconds_is_told_once),
                cmocka_unit_test(a_guarantee_lets_nobody_beyond_its_cap),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
