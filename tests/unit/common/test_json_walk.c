/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text is read value by value; what the reader does not know is skipped, what is none is refused.
 */
#include <errno.h>
#include <string.h>

#include "common/json_walk.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

struct seen {
        uint64_t sum;
        unsigned items;
};

static int add_item(struct json_walk *walk, void *context)
{
        struct seen *seen = context;
        uint64_t value;
        int rc = json_whole(&walk->token, &value, walk->err);

        seen->items++;
        seen->sum += rc == 0 ? value : 0;
        return rc;
}

static int read_member(struct json_walk *walk, const struct json_token *key, void *context)
{
        if (json_walk_is(key, "numbers"))
                return json_walk_array(walk, add_item, context);
        if (json_walk_is(key, "inner"))
                return json_walk_object(walk, read_member, context);
        return json_walk_skip(walk);
}

static int read(const char *text, struct seen *ret)
{
        struct json_walk walk;
        struct error err;
        int rc = json_walk_begin(&walk, text, strlen(text), &err);

        *ret = (struct seen){ 0 };
        if (rc == 0)
                rc = json_walk_object(&walk, read_member, ret);
        return rc == 0 ? json_walk_end(&walk) : rc;
}

static void test_what_is_known_is_read_and_the_rest_is_skipped(void **state)
{
        struct seen seen;

        assert_int_equal(read("{}", &seen), 0);
        assert_int_equal(seen.items, 0);
        assert_int_equal(read("{\"a\": [[1], {\"numbers\": [5]}], \"numbers\": [1, 2], \"b\": null,"
                              " \"inner\": {\"c\": \"]\", \"numbers\": [40]}, \"d\": {}}",
                              &seen),
                         0);
        assert_int_equal(seen.items, 3);
        assert_int_equal(seen.sum, 43);
}

static void test_another_kind_of_value_is_refused(void **state)
{
        static const char *const wrong[] = { "[]",
                                             "3",
                                             "",
                                             "{\"numbers\": 1}",
                                             "{\"numbers\": [1, \"2\"]}",
                                             "{\"inner\": []}",
                                             "{\"numbers\": [1}",
                                             "{\"a\": [1, 2",
                                             "{} {}" };
        struct seen seen;

        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
                assert_int_equal(read(wrong[i], &seen), -EINVAL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_is_known_is_read_and_the_rest_is_skipped),
                cmocka_unit_test(test_another_kind_of_value_is_refused),
        };

        return cmocka_run_group_tests_name("json_walk", tests, NULL, NULL);
}
