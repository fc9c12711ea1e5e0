/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drawing of a record, to the cell.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench/chart.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MS UINT64_C(1000000)
#define SAMPLES 40u

/* 4 s in 100 ms. One has its 30 %, then its 60 %, some milliseconds late; the other comes and goes.
 */
static struct record make(void)
{
        struct record record = { .period_ns = 100 * MS,
                                 .samples = SAMPLES,
                                 .gpu = "simulated Tesla T4",
                                 .clock = "virtual",
                                 .judge = LOAD_JUDGE_ENGINE };
        uint64_t first = 0, second = 0;

        assert_int_equal(mix_add(&record.mix, "30,60@2s", NULL), 0);
        assert_int_equal(mix_add(&record.mix, "10,graph,20us,+1s,-3s", NULL), 0);
        record.sample = calloc(2 * SAMPLES, sizeof(*record.sample));
        for (unsigned i = 0; i < SAMPLES; i++) {
                first += (i < 20 ? 30 : i < 21 ? 45 : 60) * MS;
                second += i >= 10 && i < 30 ? 10 * MS : 0;
                record.sample[i] = (struct load_sample){ (i + 1) * 100 * MS, first };
                record.sample[SAMPLES + i] = (struct load_sample){ (i + 1) * 100 * MS, second };
        }
        return record;
}

static char *text_of(bool is_utf8, bool is_coloured)
{
        struct record record = make();
        struct grid grid = { .is_utf8 = is_utf8 };
        char *text = NULL;
        size_t length;
        FILE *stream = open_memstream(&text, &length);

        assert_int_equal(chart_draw(&record, &grid), 0);
        if (is_coloured)
                chart_print_coloured(&grid, stream);
        else
                grid_print(&grid, stream);
        fclose(stream);
        grid_finish(&grid);
        record_free(&record);
        return text;
}

static void expect(const char *got, const char *wanted)
{
        if (strcmp(got, wanted) != 0)
                fail_msg("drawn:\n%s\nwanted:\n%s", got, wanted);
}

static void test_in_ascii(void **state)
{
        char *text = text_of(false, false);

        expect(text,
               "Share of the GPU: delivered (marks) and promised (lines), in percent\n"
               "simulated Tesla T4, virtual time, judged by the simulator's engine, every 100 ms\n"
               "\n"
               " 100 +\n"
               "     |\n"
               "  90 +\n"
               "     |\n"
               "  80 +\n"
               "     |\n"
               "  70 +\n"
               "     |\n"
               "  60 +                                     --aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
               "     |\n"
               "  50 +\n"
               "     |                                     aa\n"
               "  40 +\n"
               "     |\n"
               "  30 +aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
               "     |\n"
               "  20 +\n"
               "     |\n"
               "  10 +                   bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n"
               "     |\n"
               "   0 +\n"
               "     +--------------------------------------------------------------------------\n"
               "      0             0.8            1.6           2.4            3.2          4 s\n"
               "\n"
               "  SESSION                         PROMISED   DELIVERED      OFF BY   WORST 1 s\n"
               "a 30,60@2s                           47.14       46.71       -0.43        1.50\n"
               "b 10,graph,20us,+1s,-3s              10.00       10.00        0.00        0.00\n"
               "\n"
               "Mean error 0.21 points; fairness (Jain) 0.99998; together 49.62 % of the GPU\n"
               "PROMISED to WORST leave out each session's first 0.5 s; together does not\n");
        free(text);
}

/* The same, row for row, in other characters. */
static void test_in_unicode(void **state)
{
        static const char *const drawn[] = { "●", "○", "─", "┤", "│", "└" };
        char *ascii = text_of(false, false), *utf8 = text_of(true, false);

        assert_non_null(strstr(utf8, "\n  60 ┤                                     ──●●●●●"));
        assert_non_null(strstr(utf8, "\n     └─────────"));
        assert_non_null(strstr(utf8, "\n● 30,60@2s     "));
        for (size_t i = 0; i < sizeof(drawn) / sizeof(drawn[0]); i++)
                assert_non_null(strstr(utf8, drawn[i]));
        for (const char *a = ascii, *u = utf8; *a; a++, u++) {
                if (*a == '\n')
                        assert_int_equal(*u, '\n');
                while ((u[1] & 0xc0) == 0x80)
                        u++;
        }
        free(ascii);
        free(utf8);
}

/* Every mark in its session's colour, nothing coloured behind the end of a line. */
static void test_in_colours(void **state)
{
        char *text = text_of(true, true);

        assert_non_null(strstr(text, "\033[0;36m●●●"));
        assert_non_null(strstr(text, "\033[0;33m○○○"));
        assert_non_null(strstr(text, "\033[0;36;2m─"));
        assert_null(strstr(text, "m\033[0m\n"));
        for (const char *at = strchr(text, '\n'); at; at = strchr(at + 1, '\n'))
                assert_true(at == text || at[-1] != ' ');
        free(text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_in_ascii),
                cmocka_unit_test(test_in_unicode),
                cmocka_unit_test(test_in_colours),
        };

        return cmocka_run_group_tests_name("bench_chart", tests, NULL, NULL);
}
