/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members that open and close together, and turns of their own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sched_stage.h"

static void a_gang_opens_on_all_devices_or_none(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "prompt c\n"
                   "add a on=0 gang=1\n"
                   "  free a\n"
                   "add b on=1 gang=1\n"
                   "  free b\n"
                   "add c on=1\n"
                   "  free b (50ms in flight)\n"
                   "want c\n"
                   "  close b, close a, free c (50ms in flight)\n"
                   "to 1ms\n"
                   "want a\n"
                   "  close c\n"
                   "  then open a until 7ms, open b until 7ms\n"
                   "want b\n"
                   "to 19ms\n"
                   "  7ms: close b, close a\n"
                   "  then open c until 9ms\n"
                   "  9ms: open c until 11ms\n"
                   "  11ms: open c until 13ms\n"
                   "  13ms: close c\n"
                   "  then open a until 19ms, open b until 19ms\n"
                   "  19ms: close b, close a\n"
                   "  then open c until 21ms\n");
}

static void a_gang_waits_for_the_last_drain(void **state)
{
        play_sched("add a on=0 gang=1\n"
                   "  free a\n"
                   "add b on=1 gang=1\n"
                   "  free b\n"
                   "add c on=0\n"
                   "  free a (50ms in flight)\n"
                   "add d on=1\n"
                   "want c\n"
                   "  close a, close b, free c (50ms in flight)\n"
                   "want d\n"
                   "  free d (50ms in flight)\n"
                   "to 1ms\n"
                   "want a\n"
                   "  close c, close d\n"
                   "to 2ms\n"
                   "drained c\n"
                   "to 3ms\n"
                   "drained d\n"
                   "  open a until 9ms, open b until 9ms\n");
}

static void two_gangs_never_wait_for_each_other(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "prompt c\n"
                   "prompt d\n"
                   "add a on=0 gang=1\n"
                   "  free a\n"
                   "add b on=1 gang=1\n"
                   "  free b\n"
                   "add c on=1 gang=2\n"
                   "  free b (50ms in flight)\n"
                   "add d on=0 gang=2\n"
                   "want a\n"
                   "  free a (50ms in flight)\n"
                   "want b\n"
                   "want c\n"
                   "  open a until 6ms, open b until 6ms\n"
                   "want d\n"
                   "to 19ms\n"
                   "  6ms: close a, close b\n"
                   "  then open c until 12ms, open d until 12ms\n"
                   "  12ms: close d, close c\n"
                   "  then open a until 18ms, open b until 18ms\n"
                   "  18ms: close a, close b\n"
                   "  then open c until 24ms, open d until 24ms\n");
}

static void rt_on_one_device_revokes_the_whole_gang(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "prompt c\n"
                   "add a on=0 gang=1\n"
                   "  free a\n"
                   "add b on=1 gang=1\n"
                   "  free b\n"
                   "add c on=1 rt\n"
                   "  free b (170us in flight)\n"
                   "want a\n"
                   "want b\n"
                   "to 1ms\n"
                   "want c\n"
                   "  close b, close a, open c until 2ms\n"
                   "to 3ms\n"
                   "  2ms: open c until 3ms\n"
                   "  3ms: open c until 4ms\n"
                   "idle c\n"
                   "  close c, open a until 4ms, open b until 4ms (170us in flight)\n");
}

static void members_of_one_device_can_be_a_gang(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "prompt c\n"
                   "add a gang=1\n"
                   "  free a\n"
                   "add b gang=1\n"
                   "  free b\n"
                   "add c\n"
                   "want a\n"
                   "  free a (50ms in flight), free b (50ms in flight)\n"
                   "want b\n"
                   "want c\n"
                   "  open a until 2ms, open b until 2ms\n"
                   "to 6ms\n"
                   "  2ms: close b, close a\n"
                   "  then open c until 4ms\n"
                   "  4ms: close c\n"
                   "  then open a until 6ms, open b until 6ms\n"
                   "  6ms: open a until 8ms, open b until 8ms\n"
                   "show a\n"
                   "  held 2ms, billed 0, bucket 6ms, waited 2ms, throttled 0, overran 0\n"
                   "show b\n"
                   "  held 2ms, billed 0, bucket 6ms, waited 2ms, throttled 0, overran 0\n"
                   "show c\n"
                   "  held 2ms, billed 0, bucket 6ms, waited 4ms, throttled 0, overran 0\n");
}

static void whoever_joins_a_gang_opens_with_it(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "prompt c\n"
                   "add a on=0 gang=1\n"
                   "  free a\n"
                   "add c on=0\n"
                   "want a\n"
                   "  free a (50ms in flight)\n"
                   "want c\n"
                   "  open a until 2ms\n"
                   "to 1ms\n"
                   "add b on=1 gang=1\n"
                   "to 6ms\n"
                   "  2ms: close a\n"
                   "  then open c until 4ms\n"
                   "  4ms: close c\n"
                   "  then open a until 10ms, open b until 10ms\n"
                   "change b gang=0\n"
                   "  close a, free b\n"
                   "  then open c until 8ms\n"
                   "remove a\n"
                   "  free c\n");
}

/* The gang waits on device 1, where nothing was promised to it and a higher class never pauses.
 * What a is behind on device 0 is a reason for both; else it would wait there for ever. */
static void a_gang_is_not_starved_where_it_waits_of_what_one_of_it_was_promised(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "prompt c\n"
                   "add a on=0 gang=1 batch owed=50\n"
                   "  free a\n"
                   "add b on=1 gang=1 batch\n"
                   "  free b\n"
                   "add c on=1\n"
                   "  free b (50ms in flight)\n"
                   "want a\n"
                   "want b\n"
                   "want c\n"
                   "  close b, close a\n"
                   "  then open c until 2ms\n"
                   "to 12ms\n"
                   "  2ms: open c until 4ms\n"
                   "  4ms: close c\n"
                   "  then open a until 6ms, open b until 6ms\n"
                   "  6ms: close b, close a\n"
                   "  then open c until 8ms\n"
                   "  8ms: close c\n"
                   "  then open a until 10ms, open b until 10ms\n"
                   "  10ms: close b, close a\n"
                   "  then open c until 12ms\n"
                   "  12ms: close c\n"
                   "  then open a until 14ms, open b until 14ms\n");
}

/* c drains slowly; d of a higher class, which slept, does not cut the turn short that is owed. */
static void a_gang_that_waited_for_a_drain_keeps_the_reason_of_its_turn(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "add a on=0 gang=1 batch owed=50\n"
                   "  free a\n"
                   "add b on=1 gang=1 batch\n"
                   "  free b\n"
                   "add c on=1\n"
                   "  free b (50ms in flight)\n"
                   "want a\n"
                   "want b\n"
                   "want c\n"
                   "  close b, close a\n"
                   "  then open c until 2ms\n"
                   "to 5ms\n"
                   "  2ms: open c until 4ms\n"
                   "  4ms: close c\n"
                   "drained c\n"
                   "  open a until 7ms, open b until 7ms\n"
                   "to 6500us\n"
                   "add d on=1\n"
                   "want d\n"
                   "to 7ms\n"
                   "  7ms: close b, close a\n"
                   "  then open c until 9ms\n");
}

static void a_gang_is_held_back_by_the_lowest_cap_in_it(void **state)
{
        play_sched("prompt a\n"
                   "prompt b\n"
                   "prompt c\n"
                   "add a on=0 gang=1 cap=10\n"
                   "  free a (2ms in flight)\n"
                   "add b on=1 gang=1\n"
                   "  free b\n"
                   "add c on=1\n"
                   "  free b (50ms in flight)\n"
                   "want a\n"
                   "want b\n"
                   "want c\n"
                   "  close b, close a\n"
                   "  then open c until 2ms\n"
                   "to 6ms\n"
                   "  2ms: close c\n"
                   "  then open a until 8ms, open b until 8ms\n"
                   "used a 4ms\n"
                   "to 12ms\n"
                   "  8ms: close b, close a\n"
                   "  then open c until 10ms\n"
                   "  10ms: open c until 12ms\n"
                   "  12ms: open c until 14ms\n"
                   "skip 39ms\n"
                   "to 46ms\n"
                   "  40ms: open c until 42ms\n"
                   "  42ms: close c\n"
                   "  then open a until 48ms, open b until 48ms\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_gang_opens_on_all_devices_or_none),
                cmocka_unit_test(a_gang_waits_for_the_last_drain),
                cmocka_unit_test(two_gangs_never_wait_for_each_other),
                cmocka_unit_test(rt_on_one_device_revokes_the_whole_gang),
                cmocka_unit_test(members_of_one_device_can_be_a_gang),
                cmocka_unit_test(whoever_joins_a_gang_opens_with_it),
                cmocka_unit_test(a_gang_that_waited_for_a_drain_keeps_the_reason_of_its_turn),
                cmocka_unit_test(a_gang_is_held_back_by_the_lowest_cap_in_it),
                cmocka_unit_test(
                        a_gang_is_not_starved_where_it_waits_of_what_one_of_it_was_promised),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
