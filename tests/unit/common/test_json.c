/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader takes RFC 8259 and nothing else; the writer writes what the reader takes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/json_out.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* The kinds of the tokens as letters, or "!" where it was refused. */
static const char *shape(const char *text, char ret[128])
{
        static const char letters[] = ".{}[]ksntf0";
        struct json_token token;
        struct json json;
        size_t used = 0;

        json_begin(&json, text, strlen(text));
        while (used < 126) {
                if (json_next(&json, &token, NULL) < 0) {
                        ret[used++] = '!';
                        break;
                }
                ret[used++] = letters[token.kind];
                if (token.kind == JSON_END)
                        break;
        }
        ret[used] = '\0';
        return ret;
}

static void test_what_is_json(void **state)
{
        static const struct {
                const char *text, *shape;
        } table[] = {
                { "{}", "{}." },
                { " [ ] ", "[]." },
                { "{\"0\": 2147483648}", "{kn}." },
                { "{\"a\":1,\"b\":[true,false,null,\"x\",-1.5e+3]}", "{knk[tf0sn]}." },
                { "3", "n." },
                { "\"\\u00e9\\n\"", "s." },
                { "[[[]],{}]", "[[[]]{}]." },
        };
        char seen[128];

        for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
                assert_string_equal(shape(table[i].text, seen), table[i].shape);
}

static void test_what_is_not(void **state)
{
        static const char *const table[] = {
                "",           "{",        "}",           "[",
                "{]",         "[}",       "{\"a\"}",     "{a:1}",
                "{1:1}",      "{\"a\":}", "{\"a\":1,}",  "[1,]",
                "[,1]",       "{,}",      "01",          "1.",
                ".5",         "+1",       "-",           "1e",
                "0x10",       "nul",      "True",        "'a'",
                "\"a",        "\"\\x\"",  "\"\\u12g4\"", "\"a\nb\"",
                "{} {}",      "1 2",      "[1 2]",       "{\"a\":1 \"b\":2}",
                "{\"a\" 1}",  "nan",      "\"\\",        "\"\\u12",
                "{\"a\":1}x", "[1,,2]",   "tru",         "-a",
        };
        char seen[128];

        for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
                if (!strchr(shape(table[i], seen), '!'))
                        fail_msg("'%s' was taken for JSON: %s", table[i], seen);
        }
}

static void test_depth_is_bounded(void **state)
{
        char deep[2 * JSON_DEPTH + 3];
        struct json_token token;
        struct json json;
        int rc = 0;

        memset(deep, '[', JSON_DEPTH);
        memset(deep + JSON_DEPTH, ']', JSON_DEPTH);
        json_begin(&json, deep, 2 * JSON_DEPTH);
        do
                rc = json_next(&json, &token, NULL);
        while (rc == 0 && token.kind != JSON_END);
        assert_int_equal(rc, 0);

        memset(deep, '[', JSON_DEPTH + 1);
        json_begin(&json, deep, JSON_DEPTH + 1);
        for (unsigned i = 0; i <= JSON_DEPTH; i++)
                rc = json_next(&json, &token, NULL);
        assert_int_equal(rc, -E2BIG);
        /* And it stays refused. */
        assert_true(json_next(&json, &token, NULL) < 0);
}

static int text_of(const char *quoted, char *ret, size_t bytes)
{
        struct json_token token;
        struct json json;

        json_begin(&json, quoted, strlen(quoted));
        assert_int_equal(json_next(&json, &token, NULL), 0);
        return json_text(&token, ret, bytes, NULL);
}

static void test_escapes(void **state)
{
        char text[32] = "before";

        assert_int_equal(text_of("\"a\\\"\\\\\\/\\n\\t\"", text, sizeof(text)), 0);
        assert_string_equal(text, "a\"\\/\n\t");
        assert_int_equal(text_of("\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"", text, sizeof(text)), 0);
        assert_string_equal(text, "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
        /* Half a pair is nothing, but harmless. */
        assert_int_equal(text_of("\"\\ud83d\"", text, sizeof(text)), 0);
        assert_string_equal(text, "\xef\xbf\xbd");
        strcpy(text, "before");
        assert_int_equal(text_of("\"a\\u0000b\"", text, sizeof(text)), -EINVAL);
        assert_int_equal(text_of("\"12345678\"", text, 8), -ENAMETOOLONG);
        assert_string_equal(text, "before");
        assert_int_equal(text_of("\"1234567\"", text, 8), 0);
}

static void test_whole_numbers(void **state)
{
        static const char *const bad[] = { "-1",   "1.0", "1e3", "\"1\"", "18446744073709551616",
                                           "true", "1.5" };
        struct json_token token;
        struct json json;
        uint64_t value = 7;

        json_begin(&json, "18446744073709551615", 20);
        assert_int_equal(json_next(&json, &token, NULL), 0);
        assert_int_equal(json_whole(&token, &value, NULL), 0);
        assert_int_equal(value, UINT64_MAX);
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                value = 7;
                json_begin(&json, bad[i], strlen(bad[i]));
                assert_int_equal(json_next(&json, &token, NULL), 0);
                assert_true(json_whole(&token, &value, NULL) < 0);
                assert_int_equal(value, 7);
        }
}

static void test_writer(void **state)
{
        char *text = NULL;
        size_t length = 0;
        struct json_out out = { .stream = open_memstream(&text, &length) };
        char seen[128];

        json_out_open(&out, NULL, '{');
        json_out_text(&out, "name", "a\"b\\c\n\x01\xff\xc3\xa9\xed\xa0\x80");
        json_out_u64(&out, "bytes", UINT64_MAX);
        json_out_bool(&out, "live", true);
        json_out_text(&out, "none", NULL);
        json_out_open(&out, "empty", '[');
        json_out_close(&out, ']');
        json_out_open(&out, "list", '[');
        json_out_u64(&out, NULL, 1);
        json_out_u64(&out, NULL, 2);
        json_out_close(&out, ']');
        json_out_close(&out, '}');
        assert_int_equal(json_out_end(&out), 0);
        fclose(out.stream);
        assert_string_equal(shape(text, seen), "{ksknktk0k[]k[nn]}.");
        assert_non_null(strstr(text, "\"a\\\"b\\\\c\\n\\u0001\\ufffd\xc3\xa9\\ufffd"));
        assert_non_null(strstr(text, "18446744073709551615"));
        free(text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_is_json),     cmocka_unit_test(test_what_is_not),
                cmocka_unit_test(test_depth_is_bounded), cmocka_unit_test(test_escapes),
                cmocka_unit_test(test_whole_numbers),    cmocka_unit_test(test_writer),
        };

        return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
