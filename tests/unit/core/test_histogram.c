/* SPDX-License-Identifier: Apache-2.0 */
#include "core/histogram.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void each_is_in_the_first_bucket_that_bounds_it(void **state)
{
        for (unsigned i = 0; i < HISTOGRAM_BOUNDS; i++) {
                struct histogram histogram = { 0 };

                histogram_add(&histogram, histogram_bound_ns[i]);
                histogram_add(&histogram, histogram_bound_ns[i] + 1);
                assert_int_equal(histogram.count[i], 1);
                assert_int_equal(histogram.count[i + 1], 1);
                assert_int_equal(histogram.sum_ns, 2 * histogram_bound_ns[i] + 1);
                if (i)
                        assert_true(histogram_bound_ns[i] > histogram_bound_ns[i - 1]);
        }
}

static void what_went_back_took_nothing(void **state)
{
        struct histogram histogram = { 0 };

        histogram_add(&histogram, -1);
        histogram_add(&histogram, INT64_MIN);
        assert_int_equal(histogram.count[0], 2);
        assert_int_equal(histogram.sum_ns, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_is_in_the_first_bucket_that_bounds_it),
                cmocka_unit_test(what_went_back_took_nothing),
        };

        return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
