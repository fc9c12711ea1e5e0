/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written is the JSON that was meant, as jansson reads it.
 */
#include "daemon/json_text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct json_text out;

static int begin_anew(void **state)
{
        json_text_clear(&out);
        return 0;
}

static int end(void **state)
{
        json_text_free(&out);
        return 0;
}

static void commas_stand_between_and_nowhere_else(void **state)
{
        json_text_open(&out, NULL, '{');
        json_text_open(&out, "empty", '[');
        json_text_close(&out, ']');
        json_text_open(&out, "list", '[');
        json_text_whole(&out, NULL, 1);
        json_text_open(&out, NULL, '{');
        json_text_bool(&out, "is", true);
        json_text_null(&out, "none");
        json_text_close(&out, '}');
        json_text_bool(&out, NULL, false);
        json_text_close(&out, ']');
        json_text_raw(&out, "raw", "{\"a\":1}", 7);
        json_text_string(&out, "text", "x");
        json_text_string(&out, "nothing", NULL);
        json_text_close(&out, '}');
        assert_string_equal(json_text_done(&out),
                            "{\"empty\":[],\"list\":[1,{\"is\":true,\"none\":null},false],"
                            "\"raw\":{\"a\":1},\"text\":\"x\",\"nothing\":null}");
}

static const char *decimal(uint64_t value, unsigned digits)
{
        json_text_clear(&out);
        json_text_decimal(&out, NULL, value, digits);
        return json_text_done(&out);
}

static void decimals_are_exact_and_always_decimals(void **state)
{
        assert_string_equal(decimal(33300, 3), "33.3");
        assert_string_equal(decimal(2000, 3), "2.0");
        assert_string_equal(decimal(0, 9), "0.0");
        assert_string_equal(decimal(1, 9), "0.000000001");
        assert_string_equal(decimal(10050, 3), "10.05");
        assert_string_equal(decimal(7, 1), "0.7");
        assert_string_equal(decimal(UINT64_MAX, 9), "18446744073.709551615");
}

static void what_no_reader_can_hold_is_the_most_that_it_can(void **state)
{
        json_text_open(&out, NULL, '[');
        json_text_whole(&out, NULL, 0);
        json_text_whole(&out, NULL, INT64_MAX);
        json_text_whole(&out, NULL, UINT64_MAX);
        json_text_close(&out, ']');
        assert_string_equal(json_text_done(&out), "[0,9223372036854775807,9223372036854775807]");
}

static void every_text_is_read_as_it_was_written(void **state)
{
        char text[128];
        json_t *json;

        for (unsigned i = 0; i < 127; i++)
                text[i] = (char)(i + 1);
        text[127] = '\0';
        json_text_string(&out, NULL, text);
        json = json_loads(json_text_done(&out), JSON_DECODE_ANY, NULL);
        assert_string_equal(json_string_value(json), text);
        json_decref(json);
        json_text_clear(&out);
        json_text_string(&out, NULL, "\"\\");
        assert_string_equal(json_text_done(&out), "\"\\\"\\\\\"");
}

static void what_is_taken_is_the_taker_s(void **state)
{
        size_t length = 0;
        char *text;

        json_text_string(&out, NULL, "first");
        text = json_text_take(&out, &length);
        json_text_string(&out, NULL, "second");
        assert_string_equal(text, "\"first\"");
        assert_int_equal(length, 7);
        assert_string_equal(json_text_done(&out), "\"second\"");
        free(text);
}

static void it_grows_to_what_is_written(void **state)
{
        char text[1000];

        memset(text, 'x', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        json_text_open(&out, NULL, '[');
        for (unsigned i = 0; i < 1000; i++)
                json_text_string(&out, NULL, text);
        json_text_close(&out, ']');
        assert_int_equal(strlen(json_text_done(&out)), 1000 * (sizeof(text) - 1 + 3) + 1);
}

int main(void)
{
#define STORY(name) cmocka_unit_test_setup_teardown(name, begin_anew, end)
        const struct CMUnitTest tests[] = {
                STORY(commas_stand_between_and_nowhere_else),
                STORY(decimals_are_exact_and_always_decimals),
                STORY(what_no_reader_can_hold_is_the_most_that_it_can),
                STORY(every_text_is_read_as_it_was_written),
                STORY(what_is_taken_is_the_taker_s),
                STORY(it_grows_to_what_is_written),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
