/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums and products that end where 64 bits do.
 */
#include "common/sums.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void what_fits_is_exact(void **state)
{
        assert_int_equal(sum_of(2, 3), 5);
        assert_true(sum_of(UINT64_MAX - 3, 3) == UINT64_MAX);
        assert_true(sum_of(UINT64_MAX - 4, 3) == UINT64_MAX - 1);
        assert_int_equal(product_of(6, 7), 42);
        assert_int_equal(product_of(UINT64_MAX, 0), 0);
        assert_true(product_of(UINT64_C(1) << 32, (UINT64_C(1) << 32) - 1) == UINT64_MAX << 32);
}

static void what_does_not_is_more_than_anything(void **state)
{
        assert_true(sum_of(UINT64_MAX, 1) == UINT64_MAX);
        assert_true(sum_of(UINT64_MAX - 3, 4) == UINT64_MAX);
        assert_true(sum_of(UINT64_MAX, UINT64_MAX) == UINT64_MAX);
        assert_true(product_of(UINT64_C(1) << 33, UINT64_C(1) << 33) == UINT64_MAX);
        assert_true(product_of(UINT64_MAX, 2) == UINT64_MAX);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_fits_is_exact),
                cmocka_unit_test(what_does_not_is_more_than_anything),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
