/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written is the JSON that was meant: compact into memory, indented to a stream.
 */
#include "common/json.h"
#include "common/json_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct json_out out;

static int begin_anew(void **state)
{
        json_out_clear(&out);
        return 0;
}

static int end(void **state)
{
        json_out_free(&out);
        return 0;
}

static void commas_stand_between_and_nowhere_else(void **state)
{
        json_out_open(&out, NULL, '{');
        json_out_open(&out, "empty", '[');
        json_out_close(&out, ']');
        json_out_open(&out, "list", '[');
        json_out_whole(&out, NULL, 1);
        json_out_open(&out, NULL, '{');
        json_out_bool(&out, "is", true);
        json_out_null(&out, "none");
        json_out_close(&out, '}');
        json_out_bool(&out, NULL, false);
        json_out_close(&out, ']');
        json_out_raw(&out, "raw", "{\"a\":1}", 7);
        json_out_text(&out, "text", "x");
        json_out_text(&out, "nothing", NULL);
        json_out_close(&out, '}');
        assert_string_equal(json_out_done(&out),
                            "{\"empty\":[],\"list\":[1,{\"is\":true,\"none\":null},false],"
                            "\"raw\":{\"a\":1},\"text\":\"x\",\"nothing\":null}");
}

static const char *decimal(uint64_t value, unsigned digits)
{
        json_out_clear(&out);
        json_out_decimal(&out, NULL, value, digits);
        return json_out_done(&out);
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
        json_out_open(&out, NULL, '[');
        json_out_whole(&out, NULL, 0);
        json_out_whole(&out, NULL, INT64_MAX);
        json_out_whole(&out, NULL, UINT64_MAX);
        json_out_close(&out, ']');
        assert_string_equal(json_out_done(&out), "[0,9223372036854775807,9223372036854775807]");
}

static void every_text_is_read_as_it_was_written(void **state)
{
        char text[128], read[128];
        struct json_token token;
        struct json json;

        for (unsigned i = 0; i < 127; i++)
                text[i] = (char)(i + 1);
        text[127] = '\0';
        json_out_text(&out, NULL, text);
        json_begin(&json, json_out_done(&out), out.used);
        assert_int_equal(json_next(&json, &token, NULL), 0);
        assert_int_equal(json_text(&token, read, sizeof(read), NULL), 0);
        assert_string_equal(read, text);
        json_out_clear(&out);
        json_out_text(&out, NULL, "\"\\");
        assert_string_equal(json_out_done(&out), "\"\\\"\\\\\"");
}

static void what_is_taken_is_the_taker_s(void **state)
{
        size_t length = 0;
        char *text;

        json_out_text(&out, NULL, "first");
        text = json_out_take(&out, &length);
        json_out_text(&out, NULL, "second");
        assert_string_equal(text, "\"first\"");
        assert_int_equal(length, 7);
        assert_string_equal(json_out_done(&out), "\"second\"");
        free(text);
}

static void it_grows_to_what_is_written(void **state)
{
        char text[1000];

        memset(text, 'x', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        json_out_open(&out, NULL, '[');
        for (unsigned i = 0; i < 1000; i++)
                json_out_text(&out, NULL, text);
        json_out_close(&out, ']');
        assert_int_equal(strlen(json_out_done(&out)), 1000 * (sizeof(text) - 1 + 3) + 1);
}

static void what_goes_to_a_stream_is_indented(void **state)
{
        char *text = NULL;
        size_t length = 0;
        struct json_out indented = { .stream = open_memstream(&text, &length) };

        json_out_open(&indented, NULL, '{');
        json_out_percent(&indented, "percent", 125000);
        json_out_percent(&indented, "whole", 120000);
        json_out_open(&indented, "list", '[');
        json_out_seconds(&indented, NULL, UINT64_C(1500000000));
        json_out_close(&indented, ']');
        json_out_close(&indented, '}');
        assert_int_equal(json_out_end(&indented), 0);
        fclose(indented.stream);
        assert_string_equal(
                text,
                "{\n  \"percent\": 12.5,\n  \"whole\": 12,\n  \"list\": [\n    1.5\n  ]\n}\n");
        free(text);
}

static void a_stream_that_takes_nothing_is_told(void **state)
{
        struct json_out full = { .stream = fopen("/dev/full", "we") };

        assert_non_null(full.stream);
        json_out_u64(&full, NULL, 1);
        assert_int_equal(json_out_end(&full), -ENOSPC);
        fclose(full.stream);
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
                STORY(what_goes_to_a_stream_is_indented),
                STORY(a_stream_that_takes_nothing_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
