/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was launched in a turn comes to its end after it: for how long that is waited for, and who
 * pays where it is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sched_stage.h"

/* And its lease is over. */
#define A_WAS_CLOSED                        \
        "prompt b\n" A_UNTIL_2MS "to 2ms\n" \
        "  2ms: close a\n"

static void the_next_one_opens_when_the_last_one_has_drained(void **state)
{
        play_sched(A_WAS_CLOSED
                   "to 5ms\n"
                   "drained a\n"
                   "  open b until 7ms\n"
                   "show a\n"
                   "  held 5ms, billed 0, bucket 5ms, waited 3ms, throttled 0, overran 3ms\n");
}

/* From then on each of the two holds half. */
static void who_does_not_drain_is_waited_for_20_ms(void **state)
{
        play_sched(A_WAS_CLOSED
                   "next\n"
                   "  22ms\n"
                   "to 23ms\n"
                   "  22ms: open b until 24ms\n"
                   "used a 23ms\n"
                   "used b 1ms\n"
                   "show a\n"
                   "  held 22500us, billed 23ms, bucket 0, waited 21ms, throttled 0, overran 0\n"
                   "show b\n"
                   "  held 500us, billed 1ms, bucket 22ms, waited 22ms, throttled 0, overran 0\n"
                   "drained a\n"
                   "to 24ms\n"
                   "  24ms: open b until 26ms\n"
                   "show b\n"
                   "  held 1500us, billed 1ms, bucket 23ms, waited 22ms, throttled 0, overran 0\n");
}

/* Also when its next turn is over: a kernel that never ends costs the others one deadline. */
static void nobody_waits_for_who_is_late_until_it_has_drained(void **state)
{
        play_sched(A_WAS_CLOSED "skip 23ms\n"
                                "idle b\n"
                                "  close b, open a until 25ms\n"
                                "to 24ms\n"
                                "want b\n"
                                "  close a, open b until 26ms\n"
                                "idle b\n"
                                "  close b, open a until 26ms (250us in flight)\n"
                                "drained a\n"
                                "to 25ms\n"
                                "want b\n"
                                "  close a\n"
                                "next\n"
                                "  45ms\n");
}

/* It comes before b by its weight. What it would submit now would keep its flight from ending. */
#define A_IS_LATE                     \
        "prompt b\n"                  \
        "add a weight=10000\n"        \
        "  free a\n"                  \
        "add b\n"                     \
        "want a\n"                    \
        "  free a (50ms in flight)\n" \
        "want b\n"                    \
        "  open a until 2ms\n"        \
        "to 24ms\n"                   \
        "  2ms: close a\n"            \
        "  22ms: open b until 24ms\n" \
        "  24ms: open b until 26ms\n"

static void who_is_late_is_passed_over_until_it_has_drained(void **state)
{
        play_sched(A_IS_LATE "skip 51ms\n"
                             "drained a\n"
                             "to 52ms\n"
                             "  52ms: close b\n"
                             "  then open a until 54ms\n");
}

/* What is in flight may wait for what it has yet to submit. */
static void who_is_late_is_passed_over_for_a_while_only(void **state)
{
        play_sched(A_IS_LATE "skip 101ms\n"
                             "to 102ms\n"
                             "  102ms: close b\n"
                             "  then open a until 104ms\n"
                             "skip 1000ms\n"
                             "show a\n"
                             "  held 711ms, billed 0, bucket 1000ms, waited 598ms, throttled 0, "
                             "overran 0\n");
}

/* Nobody is there whose work would take longer. */
static void who_is_late_and_alone_has_its_turn(void **state)
{
        play_sched(A_IS_LATE "idle b\n"
                             "  close b, open a until 26ms\n");
}

/* Four of its drains, and never longer than a second, as kernels may. */
static void who_always_drains_long_is_waited_for_a_second(void **state)
{
        play_sched(A_WAS_CLOSED "skip 301ms\n"
                                "drained a\n"
                                "skip 500ms\n"
                                "next\n"
                                "  924ms\n"
                                "skip 2000ms\n"
                                "drained a\n"
                                "idle b\n"
                                "  close b, open a until 2002ms\n"
                                "want b\n"
                                "skip 2500ms\n"
                                "next\n"
                                "  3002ms\n");
}

/* The lengths of the drains that ended, by the clock of who schedules. */
static void who_drains_long_is_waited_for_longer(void **state)
{
        play_sched(A_WAS_CLOSED "to 22ms\n"
                                "  22ms: open b until 24ms\n"
                                "drained a\n"
                                "to 24ms\n"
                                "  24ms: open b until 26ms\n"
                                "skip 45ms\n"
                                "to 86ms\n"
                                "  46ms: close a\n"
                                "  86ms: open b until 88ms\n");
}

/* Nothing of it can be seen: it has died, or was stopped. */
static void who_rests_has_drained(void **state)
{
        play_sched(A_WAS_CLOSED
                   "to 10ms\n"
                   "idle a\n"
                   "  open b until 12ms\n"
                   "show a\n"
                   "  held 10ms, billed 0, bucket 10ms, waited 8ms, throttled 0, overran 8ms\n");
}

/* It would be waited for the longer, the longer it hangs. */
static void a_drain_that_never_ends_teaches_nothing(void **state)
{
        play_sched(A_WAS_CLOSED "skip 299ms\n"
                                "idle a\n"
                                "idle b\n"
                                "  close b\n"
                                "want a\n"
                                "  open a until 301ms\n"
                                "want b\n"
                                "  close a\n"
                                "next\n"
                                "  319ms\n");
}

/* It opened beside the drain, and goes on beside it. */
static void rt_that_did_not_wait_for_a_drain_is_not_stopped_by_it(void **state)
{
        play_sched("prompt b\n"
                   "add a batch\n"
                   "  free a\n"
                   "add b rt\n"
                   "want a\n"
                   "  free a (170us in flight)\n"
                   "want b\n"
                   "  close a, open b until 1ms\n"
                   "to 3ms\n"
                   "  1ms: open b until 2ms\n"
                   "  2ms: open b until 3ms\n"
                   "  3ms: open b until 4ms\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_next_one_opens_when_the_last_one_has_drained),
                cmocka_unit_test(who_does_not_drain_is_waited_for_20_ms),
                cmocka_unit_test(nobody_waits_for_who_is_late_until_it_has_drained),
                cmocka_unit_test(who_is_late_is_passed_over_until_it_has_drained),
                cmocka_unit_test(who_is_late_is_passed_over_for_a_while_only),
                cmocka_unit_test(who_is_late_and_alone_has_its_turn),
                cmocka_unit_test(who_drains_long_is_waited_for_longer),
                cmocka_unit_test(who_always_drains_long_is_waited_for_a_second),
                cmocka_unit_test(who_rests_has_drained),
                cmocka_unit_test(a_drain_that_never_ends_teaches_nothing),
                cmocka_unit_test(rt_that_did_not_wait_for_a_drain_is_not_stopped_by_it),
        };

        return cmocka_run_group_tests_name("sched drain", tests, NULL, NULL);
}
