/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a member that is not believed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sched_stage.h"

/* It is alone, has what it holds taken from its bank whatever it tells, and waits for its cap. */
static void who_is_clamped_is_never_free_and_pays_what_it_holds(void **state)
{
        play_sched("prompt a\n"
                   "add a cap=50\n"
                   "  free a at 50 % with 0\n"
                   "to 10ms\n"
                   "want a\n"
                   "change a cap=50 clamped\n"
                   "  open a until 12ms\n"
                   "to 30ms\n"
                   "  12ms: open a until 14ms\n"
                   "  14ms: open a until 16ms\n"
                   "  16ms: open a until 18ms\n"
                   "  18ms: open a until 20ms\n"
                   "  20ms: close a\n"
                   "  20000001ns: open a until 22000001ns\n"
                   "  22000001ns: close a\n"
                   "  24000001ns: open a until 26000001ns\n"
                   "  26000001ns: close a\n"
                   "  28000001ns: open a until 30000001ns\n"
                   "used a 1ms\n"
                   "show a\n"
                   "  held 15999999ns, billed 0, bank -999999ns, waited 4000001ns, throttled 0, "
                   "overran 0\n"
                   "change a cap=50\n"
                   "  free a at 50 % with -999999ns\n"
                   "to 200ms\n");
}

static void what_is_found_is_charged_to_bank_and_turn(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "add a cap=50 clamped\n"
                   "add b\n"
                   "want a\n"
                   "want b\n"
                   "  open b until 2ms\n"
                   "to 4ms\n"
                   "  2ms: close b\n"
                   "  then open a until 4ms\n"
                   "  4ms: close a\n"
                   "  then open b until 6ms\n"
                   "found a 10ms 4ms\n"
                   "show a\n"
                   "  held 2ms, billed 0, bank -10ms, waited 2ms, throttled 0, overran 0\n"
                   "to 26ms\n"
                   "  6ms: open b until 8ms\n"
                   "  8ms: open b until 10ms\n"
                   "  10ms: open b until 12ms\n"
                   "  12ms: open b until 14ms\n"
                   "  14ms: open b until 16ms\n"
                   "  16ms: open b until 18ms\n"
                   "  18ms: open b until 20ms\n"
                   "  20ms: open b until 22ms\n"
                   "  22ms: open b until 24ms\n"
                   "  24ms: open b until 26ms\n"
                   "  26ms: close b\n"
                   "  then open a until 28ms\n"
                   "found a 20000ms\n"
                   "show a\n"
                   "  held 2ms, billed 0, bank -9999ms, waited 24ms, throttled 20ms, overran 0\n");
}

/* It may be lying: its drain is over when who watches it says so. */
static void what_a_clamped_member_says_ends_no_drain(void **state)
{
        play_sched("add a clamped\n"
                   "add b\n"
                   "want a\n"
                   "  open a until 2ms\n"
                   "want b\n"
                   "to 1ms\n"
                   "idle a\n"
                   "  close a, open b until 3ms\n"
                   "to 2ms\n"
                   "drained a\n"
                   "show a\n"
                   "  held 1500us, billed 0, bank 500us, waited 0, throttled 0, overran 1ms\n");
}

/* Nor is it let have more in flight beside rt for waking up late, which is its own word. */
static void what_a_clamped_member_says_of_its_wake_ups_is_not_believed(void **state)
{
        play_sched("prompt a\n"
                   "add a\n"
                   "  free a\n"
                   "add b clamped\n"
                   "want a\n"
                   "want b\n"
                   "  open a until 2ms\n"
                   "add c rt\n"
                   "to 2ms\n"
                   "  2ms: close a\n"
                   "  then open b until 3ms (170us in flight)\n"
                   "to 2850us\n"
                   "began b 0us\n"
                   "to 3ms\n"
                   "  3ms: open b until 4ms (170us in flight)\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(who_is_clamped_is_never_free_and_pays_what_it_holds),
                cmocka_unit_test(what_is_found_is_charged_to_bank_and_turn),
                cmocka_unit_test(what_a_clamped_member_says_ends_no_drain),
                cmocka_unit_test(what_a_clamped_member_says_of_its_wake_ups_is_not_believed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
