/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A figure is read whole or refused.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plot/figure.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define AXES \
        "\"x\": {\"to\": 10, \"label\": \"s\"}, \"y\": {\"from\": -1, \"to\": 1e2, \"unit\": 4}"

static int read(const char *text, struct figure *ret, struct error *err)
{
        FILE *stream = fmemopen((void *)text, strlen(text), "r");
        int rc = figure_read(stream, ret, err);

        fclose(stream);
        return rc;
}

static void test_all_of_it(void **state)
{
        struct figure figure;
        struct error err = { 0 };

        if (read("{\"title\": \"a\", \"note\": null, \"more\": [1], " AXES
                 ", \"lines\": [{\"name\": \"n\","
                 " \"style\": \"crosses\", \"colour\": 3, \"points\": [0, 0.5, 1, 2e1]}, {}]}",
                 &figure, &err) < 0)
                fail_msg("%s", err.text);
        assert_string_equal(figure.title, "a");
        assert_string_equal(figure.note, "");
        assert_string_equal(figure.x.label, "s");
        assert_true(figure.x.from == 0 && figure.x.to == 10 && figure.x.unit == 1);
        assert_true(figure.y.from == -1 && figure.y.to == 100 && figure.y.unit == 4);
        assert_int_equal(figure.line_count, 2);
        assert_int_equal(figure.line[0].style, FIGURE_CROSSES);
        assert_int_equal(figure.line[0].colour, 3);
        assert_int_equal(figure.line[0].count, 4);
        assert_true(figure.line[0].at[1] == 0.5 && figure.line[0].at[3] == 20);
        figure_free(&figure);
}

static void test_what_is_wrong_is_said(void **state)
{
        static const struct {
                const char *text, *said;
        } table[] = {
                { "{}", "axes" },
                { "{\"x\": {\"from\": 1, \"to\": 1}, \"y\": {\"to\": 1}}", "axes" },
                { "{\"x\": {\"from\": 2, \"to\": 1}, \"y\": {\"to\": 1}}", "axes" },
                { "{\"x\": {\"to\": 1}, \"y\": {\"to\": 1, \"unit\": 0}}", "axes" },
                { "{" AXES ", \"lines\": [{\"points\": [1]}]}", "an x and a y" },
                { "{" AXES ", \"lines\": [{\"points\": [1, 2, 3]}]}", "an x and a y" },
                { "{" AXES ", \"lines\": [{\"points\": [1, \"2\"]}]}", "a number" },
                { "{" AXES ", \"lines\": [{\"points\": [1e999, 2]}]}", "not so large" },
                { "{" AXES ", \"lines\": [{\"style\": \"wavy\"}]}", "a style" },
                { "{" AXES ", \"lines\": [{\"colour\": -1}]}", "a colour" },
                { "{" AXES ", \"title\": 3}", "a text" },
                { "{" AXES "} {}", "" },
                { "", "" },
        };

        for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
                struct error err = { 0 };
                struct figure figure;

                assert_int_equal(read(table[i].text, &figure, &err), -EINVAL);
                if (!strstr(err.text, table[i].said))
                        fail_msg("\"%s\" lacks \"%s\"", err.text, table[i].said);
                assert_int_equal(figure.line_count, 0);
        }
}

static void test_as_many_lines_as_there_is_room_for(void **state)
{
        char text[1024] = "{" AXES ", \"lines\": [{}";
        struct error err = { 0 };
        struct figure figure;

        for (unsigned i = 1; i < FIGURE_LINES; i++)
                strcat(text, ", {}");
        strcat(text, "]}");
        assert_int_equal(read(text, &figure, &err), 0);
        assert_int_equal(figure.line_count, FIGURE_LINES);
        figure_free(&figure);
        strcpy(strchr(text, ']'), ", {}]}");
        assert_int_equal(read(text, &figure, &err), -EINVAL);
        assert_non_null(strstr(err.text, "more than 32 lines"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_all_of_it),
                cmocka_unit_test(test_what_is_wrong_is_said),
                cmocka_unit_test(test_as_many_lines_as_there_is_room_for),
        };

        return cmocka_run_group_tests_name("figure", tests, NULL, NULL);
}
