/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members that pause and come back: whose turn they end, and what others may have in flight
 * meanwhile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sched_stage.h"

/* Two, who drain at once. */
#define TWO(terms_a, terms_b) \
        "prompt a\n"          \
        "prompt b\n"          \
        "add a" terms_a "\n"  \
        "  free a\n"          \
        "add b" terms_b "\n"

static void who_comes_back_more_than_a_turn_behind_ends_the_turn(void **state)
{
        play_sched(TWO("", "") "want b\n"
                               "  close a, free b (50ms in flight)\n"
                               "to 10ms\n"
                               "want a\n"
                               "  close b\n"
                               "  then open a until 12ms\n"
                               "to 11ms\n"
                               "idle a\n"
                               "  close a, open b until 13ms\n"
                               "to 12ms\n"
                               "want a\n"
                               "  close b\n"
                               "  then open a until 14ms\n");
}

static void who_comes_back_less_than_a_turn_behind_waits(void **state)
{
        play_sched(TWO("", "") "want a\n"
                               "  free a (50ms in flight)\n"
                               "want b\n"
                               "  open a until 2ms\n"
                               "to 1ms\n"
                               "idle a\n"
                               "  close a, open b until 3ms\n"
                               "to 2500us\n"
                               "want a\n"
                               "to 3ms\n"
                               "  3ms: close b\n"
                               "  then open a until 5ms\n");
}

/* What it was promised counts in its pauses, too. */
static void who_comes_back_to_a_guarantee_ends_the_turn(void **state)
{
        play_sched(TWO(" owed=60",
                       " weight=10000") "want a\n"
                                        "  free a (50ms in flight)\n"
                                        "want b\n"
                                        "  open a until 2ms\n"
                                        "to 2ms\n"
                                        "  2ms: close a\n"
                                        "  then open b until 4ms\n"
                                        "idle a\n"
                                        "to 3ms\n"
                                        "want a\n"
                                        "to 5ms\n"
                                        "  4ms: close b\n"
                                        "  then open a until 6ms\n"
                                        "idle a\n"
                                        "  close a, open b until 7ms (906250ns in flight)\n"
                                        "to 6ms\n"
                                        "want a\n"
                                        "  close b\n"
                                        "  then open a until 8ms\n");
}

static void who_comes_back_with_a_higher_class_ends_the_turn(void **state)
{
        play_sched(TWO("", " batch") "want b\n"
                                     "  close a, free b (50ms in flight)\n"
                                     "to 10ms\n"
                                     "want a\n"
                                     "  close b\n"
                                     "  then open a until 12ms\n"
                                     "to 12ms\n"
                                     "  12ms: open a until 14ms\n"
                                     "idle a\n"
                                     "  close a, open b until 14ms\n"
                                     "to 12500us\n"
                                     "want a\n"
                                     "  close b\n"
                                     "  then open a until 14500us\n");
}

/* It pays what was promised, and is a whole turn behind when it begins. */
static void a_turn_that_outranks_classes_is_ended_by_none(void **state)
{
        play_sched(TWO(" batch owed=40", "") "want a\n"
                                             "  free a (50ms in flight)\n"
                                             "want b\n"
                                             "  close a\n"
                                             "  then open b until 2ms\n"
                                             "to 7ms\n"
                                             "  2ms: open b until 4ms\n"
                                             "  4ms: open b until 6ms\n"
                                             "  6ms: close b\n"
                                             "  then open a until 8ms\n"
                                             "idle b\n"
                                             "want b\n"
                                             "to 8ms\n"
                                             "  8ms: close a\n"
                                             "  then open b until 10ms\n");
}

/* A quarter of its usual pause. */
static void beside_one_that_comes_back_soon_little_is_in_flight(void **state)
{
        play_sched(TWO("", " batch") "want a\n"
                                     "  free a (50ms in flight)\n"
                                     "want b\n"
                                     "  open a until 2ms\n"
                                     "to 1ms\n"
                                     "idle a\n"
                                     "  close a, open b until 3ms\n"
                                     "to 3ms\n"
                                     "  3ms: open b until 5ms\n"
                                     "want a\n"
                                     "  close b\n"
                                     "  then open a until 5ms\n"
                                     "idle a\n"
                                     "  close a, open b until 5ms (937500ns in flight)\n"
                                     "to 3400us\n"
                                     "want a\n"
                                     "  close b\n"
                                     "  then open a until 5400us\n"
                                     "idle a\n"
                                     "  close a, open b until 5400us (832812ns in flight)\n");
}

/* Who is alone may queue what it likes. */
static void who_has_no_neighbour_has_no_bound_in_flight(void **state)
{
        play_sched(TWO("", "") "want a\n"
                               "  free a (50ms in flight)\n"
                               "to 10ms\n"
                               "want b\n"
                               "  close a\n"
                               "  then open b until 12ms\n"
                               "to 11ms\n"
                               "idle b\n"
                               "  close b, open a until 13ms\n"
                               "skip 100ms\n"
                               "to 2000ms\n"
                               "  101ms: open a until 103ms\n"
                               "  103ms: open a until 105ms\n"
                               "  105ms: open a until 107ms\n"
                               "  107ms: open a until 109ms\n"
                               "  109ms: open a until 111ms\n"
                               "  111ms: free a (2ms in flight)\n"
                               "  1011ms: free a (50ms in flight)\n"
                               "remove b\n"
                               "  free a\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(who_comes_back_more_than_a_turn_behind_ends_the_turn),
                cmocka_unit_test(who_comes_back_less_than_a_turn_behind_waits),
                cmocka_unit_test(who_comes_back_to_a_guarantee_ends_the_turn),
                cmocka_unit_test(who_comes_back_with_a_higher_class_ends_the_turn),
                cmocka_unit_test(a_turn_that_outranks_classes_is_ended_by_none),
                cmocka_unit_test(beside_one_that_comes_back_soon_little_is_in_flight),
                cmocka_unit_test(who_has_no_neighbour_has_no_bound_in_flight),
        };

        return cmocka_run_group_tests_name("sched sleepers", tests, NULL, NULL);
}
