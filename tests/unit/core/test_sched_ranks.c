/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn is next: rt, normal and batch, guarantees, the floor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sched_stage.h"

static void rt_opens_at_once_and_does_not_wait(void **state)
{
        play_sched("add a batch\n"
                   "  free a\n"
                   "add b rt\n"
                   "want a\n"
                   "  free a (170us in flight)\n"
                   "to 500us\n"
                   "want b\n"
                   "  close a, open b until 1500us\n"
                   "to 700us\n"
                   "drained a\n"
                   "to 900us\n"
                   "idle b\n"
                   "  close b, open a until 1900us (170us in flight)\n");
}

static void while_rt_is_there_leases_and_flights_are_short(void **state)
{
        play_sched(A_UNTIL_2MS "add c rt\n"
                               "to 2ms\n"
                               "  2ms: close a\n"
                               "drained a\n"
                               "  open b until 3ms (170us in flight)\n");
}

static void the_device_is_kept_for_rt_that_comes_back_soon(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "add a batch\n"
                   "  free a\n"
                   "add b rt\n"
                   "want a\n"
                   "  free a (170us in flight)\n"
                   "to 100ms\n"
                   "want b\n"
                   "  close a, open b until 101ms\n"
                   "to 101ms\n"
                   "  101ms: open b until 102ms\n"
                   "idle b\n"
                   "  close b, open a until 102ms (170us in flight)\n"
                   "to 101200us\n"
                   "want b\n"
                   "  close a, open b until 102200us\n"
                   "to 102ms\n"
                   "idle b\n"
                   "  close b\n"
                   "to 102200us\n"
                   "want b\n"
                   "  open b until 103200us\n"
                   "to 103ms\n"
                   "idle b\n"
                   "  close b\n"
                   "to 104ms\n"
                   "  103400000ns: open a until 104400us (170us in flight)\n");
}

static void batch_has_its_floor_and_rt_waits_for_that_turn(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "add a batch\n"
                   "  free a\n"
                   "add b rt\n"
                   "want a\n"
                   "  free a (170us in flight)\n"
                   "want b\n"
                   "  close a, open b until 1ms\n"
                   "skip 99ms\n"
                   "to 100ms\n"
                   "  100ms: close b\n"
                   "  then open a until 101ms (170us in flight)\n"
                   "idle b\n"
                   "to 100500us\n"
                   "want b\n"
                   "to 102ms\n"
                   "  101ms: close a, open b until 102ms\n"
                   "  102ms: open b until 103ms\n");
}

static void classes_are_strict_below_the_floor(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "add a batch\n"
                   "  free a\n"
                   "add b normal\n"
                   "want a\n"
                   "  free a (50ms in flight)\n"
                   "want b\n"
                   "  close a\n"
                   "  then open b until 2ms\n"
                   "to 6ms\n"
                   "  2ms: open b until 4ms\n"
                   "  4ms: open b until 6ms\n"
                   "  6ms: open b until 8ms\n");
}

static void a_guarantee_comes_before_weight(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "add a owed=50 weight=1\n"
                   "  free a\n"
                   "add b weight=10000\n"
                   "want a\n"
                   "  free a (50ms in flight)\n"
                   "want b\n"
                   "  open a until 2ms\n"
                   "to 12ms\n"
                   "  2ms: close a\n"
                   "  then open b until 4ms\n"
                   "  4ms: close b\n"
                   "  then open a until 6ms\n"
                   "  6ms: close a\n"
                   "  then open b until 8ms\n"
                   "  8ms: close b\n"
                   "  then open a until 10ms\n"
                   "  10ms: close a\n"
                   "  then open b until 12ms\n"
                   "  12ms: close b\n"
                   "  then open a until 14ms\n");
}

static void a_guarantee_that_is_a_turn_behind_outranks_rt(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "add a batch owed=50\n"
                   "  free a\n"
                   "add b rt\n"
                   "want a\n"
                   "  free a (170us in flight)\n"
                   "want b\n"
                   "  close a, open b until 1ms\n"
                   "to 6ms\n"
                   "  1ms: open b until 2ms\n"
                   "  2ms: close b\n"
                   "  then open a until 3ms\n"
                   "  3ms: close a\n"
                   "  then open b until 4ms\n"
                   "  4ms: close b\n"
                   "  then open a until 5ms\n"
                   "  5ms: close a\n"
                   "  then open b until 6ms\n"
                   "  6ms: close b\n"
                   "  then open a until 7ms\n");
}

/* Turns beside rt are short, and who wakes up for one would pay the promise by waking up. But that
 * it began 300 us late is its own word: with all of that given back it would go on at 3 ms. */
static void what_is_owed_hardly_pays_for_a_turn_before_it_began(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "add a batch owed=65\n"
                   "  free a\n"
                   "add b rt\n"
                   "want a\n"
                   "  free a (170us in flight)\n"
                   "want b\n"
                   "  close a, open b until 1ms\n"
                   "to 2300us\n"
                   "  1ms: open b until 2ms\n"
                   "  2ms: close b\n"
                   "  then open a until 3ms\n"
                   "began a 0us\n"
                   "to 5ms\n"
                   "  3ms: close a\n"
                   "  then open b until 4200us\n"
                   "  4200000ns: close b\n"
                   "  then open a until 5400us\n");
}

static void nobody_starves_beside_guarantees_of_all_there_is(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "add a owed=100\n"
                   "  free a\n"
                   "add b\n"
                   "want a\n"
                   "  free a (50ms in flight)\n"
                   "want b\n"
                   "  open a until 2ms\n"
                   "skip 397ms\n"
                   "to 402ms\n"
                   "  398ms: open a until 400ms\n"
                   "  400ms: open a until 402ms\n"
                   "  402ms: open a until 404ms\n"
                   "skip 1000ms\n"
                   "show b\n"
                   "  held 6ms, billed 0, bucket 104ms, waited 994ms, throttled 0, overran 0\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(rt_opens_at_once_and_does_not_wait),
                cmocka_unit_test(while_rt_is_there_leases_and_flights_are_short),
                cmocka_unit_test(the_device_is_kept_for_rt_that_comes_back_soon),
                cmocka_unit_test(batch_has_its_floor_and_rt_waits_for_that_turn),
                cmocka_unit_test(classes_are_strict_below_the_floor),
                cmocka_unit_test(a_guarantee_comes_before_weight),
                cmocka_unit_test(a_guarantee_that_is_a_turn_behind_outranks_rt),
                cmocka_unit_test(what_is_owed_hardly_pays_for_a_turn_before_it_began),
                cmocka_unit_test(nobody_starves_beside_guarantees_of_all_there_is),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
