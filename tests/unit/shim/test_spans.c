/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The union of intervals: nothing is lost, nothing counted twice, in whatever order it is told.
 */
#include "shim/spans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CELLS 4000

static struct spans spans;

static int none(void **state)
{
        spans = (struct spans){ 0 };
        return 0;
}

static void what_nobody_covered_counts_whole(void **state)
{
        assert_int_equal(spans_add(&spans, 10, 20), 10);
        assert_int_equal(spans_add(&spans, 30, 35), 5);
}

static void what_is_covered_counts_once(void **state)
{
        spans_add(&spans, 10, 20);
        assert_int_equal(spans_add(&spans, 10, 20), 0);
        assert_int_equal(spans_add(&spans, 12, 15), 0);
        assert_int_equal(spans_add(&spans, 15, 25), 5);
}

static void a_long_one_told_late_counts_its_gaps(void **state)
{
        spans_add(&spans, 10, 20);
        spans_add(&spans, 30, 40);
        assert_int_equal(spans_add(&spans, 0, 100), 80);
        assert_int_equal(spans_add(&spans, 0, 100), 0);
        assert_int_equal(spans.count, 1);
}

static void neighbours_become_one(void **state)
{
        spans_add(&spans, 10, 20);
        assert_int_equal(spans_add(&spans, 20, 30), 10);
        assert_int_equal(spans.count, 1);
        assert_int_equal(spans_add(&spans, 5, 10), 5);
        assert_int_equal(spans.count, 1);
}

static void an_interval_that_ends_before_it_begins_is_none(void **state)
{
        assert_int_equal(spans_add(&spans, 20, 10), 0);
        assert_int_equal(spans_add(&spans, 20, 20), 0);
        assert_int_equal(spans.count, 0);
}

static void what_is_forgotten_is_what_ended_before(void **state)
{
        spans_add(&spans, 10, 20);
        spans_add(&spans, 30, 40);
        spans_forget(&spans, 20); /* the next one may begin where this ends */
        assert_int_equal(spans.count, 2);
        spans_forget(&spans, 30);
        assert_int_equal(spans.count, 1);
        assert_int_equal(spans_add(&spans, 30, 40), 0);
}

/* Wherever it is, the first and the last of them too. */
static void too_many_gaps_cost_the_smallest(void **state)
{
        for (int64_t small = 0; small < (int64_t)SPANS; small++) {
                int64_t at_ns = 100 * small, other_ns = small == 4 ? 550 : 450;

                spans = (struct spans){ 0 };
                for (int64_t i = 0; i <= (int64_t)SPANS; i++)
                        assert_int_equal(
                                spans_add(&spans, i * 100, i * 100 + (i == small ? 99 : 50)),
                                i == small ? 99 : 50);
                assert_int_equal(spans.count, SPANS);
                assert_int_equal(spans_add(&spans, at_ns + 99, at_ns + 100), 0);
                assert_int_equal(spans_add(&spans, other_ns, other_ns + 50), 50);
        }
}

/* Against a field of cells, each ticked once. */
static void random_intervals_count_what_a_field_of_cells_counts(void **state)
{
        static bool cell[CELLS];

        srand(7);
        for (unsigned round = 0; round < 200; round++) {
                memset(cell, 0, sizeof(cell));
                spans = (struct spans){ 0 };
                for (unsigned i = 0; i < SPANS; i++) {
                        int64_t from = rand() % CELLS;
                        int64_t to = from + rand() % 300;
                        uint64_t fresh = 0;

                        to = to < CELLS ? to : CELLS;
                        for (int64_t at = from; at < to; at++) {
                                fresh += !cell[at];
                                cell[at] = true;
                        }
                        assert_int_equal(spans_add(&spans, from, to), fresh);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(what_nobody_covered_counts_whole, none),
                cmocka_unit_test_setup(what_is_covered_counts_once, none),
                cmocka_unit_test_setup(a_long_one_told_late_counts_its_gaps, none),
                cmocka_unit_test_setup(neighbours_become_one, none),
                cmocka_unit_test_setup(an_interval_that_ends_before_it_begins_is_none, none),
                cmocka_unit_test_setup(what_is_forgotten_is_what_ended_before, none),
                cmocka_unit_test_setup(too_many_gaps_cost_the_smallest, none),
                cmocka_unit_test_setup(random_intervals_count_what_a_field_of_cells_counts, none),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
