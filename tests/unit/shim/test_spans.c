/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of addresses: which one does an address lie in?
 */
#include "shim/spans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#define MANY 3000u

static void put(struct spans *spans, uint64_t start, uint64_t end, void *of)
{
        assert_true(spans_reserve(spans));
        spans_put(spans, (struct address_span){ start, end, of });
}

static void an_address_is_in_one_range_or_none(void **state)
{
        struct spans spans = { 0 };
        int a, b;

        assert_null(spans_find(&spans, 0));
        assert_null(spans_above(&spans, 0));
        put(&spans, 300, 400, &b);
        put(&spans, 100, 200, &a);
        assert_null(spans_find(&spans, 99));
        assert_ptr_equal(spans_find(&spans, 100), &a);
        assert_ptr_equal(spans_find(&spans, 199), &a);
        assert_null(spans_find(&spans, 200));
        assert_null(spans_find(&spans, 299));
        assert_ptr_equal(spans_find(&spans, 399), &b);
        assert_null(spans_find(&spans, 400));
        assert_ptr_equal(spans_above(&spans, 0)->of, &a);
        assert_ptr_equal(spans_above(&spans, 200)->of, &b);
        assert_null(spans_above(&spans, 400));
}

static void only_what_begins_there_is_taken_out(void **state)
{
        struct spans spans = { 0 };
        int a, b;

        put(&spans, 100, 200, &a);
        put(&spans, 200, 300, &b);
        spans_take(&spans, 150);
        spans_take(&spans, 300);
        assert_int_equal(spans.count, 2);
        spans_take(&spans, 100);
        assert_null(spans_find(&spans, 150));
        assert_ptr_equal(spans_find(&spans, 200), &b);
        assert_true(spans_reserve(&spans));
        spans_unreserve(&spans);
        assert_int_equal(spans.reserved, 0);
}

/* What is reserved has its place, however many come meanwhile. */
static void many_are_kept_in_order(void **state)
{
        static struct spans spans;
        uint64_t seed = 1;

        assert_true(spans_reserve(&spans));
        for (uint64_t i = 0; i < MANY; i++) {
                uint64_t start = (i * 1777 % MANY) * 16;

                put(&spans, start, start + 8, (void *)(uintptr_t)(start + 1));
        }
        spans_put(&spans, (struct address_span){ MANY * 16, MANY * 16 + 8, &seed });
        for (uint64_t i = 0; i < MANY; i++) {
                assert_int_equal((uintptr_t)spans_find(&spans, i * 16 + 7), i * 16 + 1);
                assert_null(spans_find(&spans, i * 16 + 8));
        }
        for (uint64_t i = 0; i < MANY; i += 2)
                spans_take(&spans, i * 16);
        assert_int_equal(spans.count, MANY / 2 + 1);
        for (uint64_t i = 0; i < MANY; i++)
                assert_int_equal((uintptr_t)spans_find(&spans, i * 16), i % 2 ? i * 16 + 1 : 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_address_is_in_one_range_or_none),
                cmocka_unit_test(only_what_begins_there_is_taken_out),
                cmocka_unit_test(many_are_kept_in_order),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
