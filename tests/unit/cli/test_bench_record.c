/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of a record, and that what is written is read again.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/bench/record.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MS UINT64_C(1000000)
#define SAMPLES 40u

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-9)

/* 4 s in 100 ms: the first session has 30 %, but 40 % in the last second; the second one, which
 * begins after a second, 60 %. */
static struct record make(void)
{
        struct record record = { .period_ns = 100 * MS,
                                 .samples = SAMPLES,
                                 .gpu = "Tesla T4",
                                 .clock = "virtual",
                                 .judge = LOAD_JUDGE_ENGINE };
        uint64_t first = 0, second = 0;

        assert_int_equal(mix_add(&record.mix, "30", NULL), 0);
        assert_int_equal(mix_add(&record.mix, "60,+1s", NULL), 0);
        record.sample = calloc(2 * SAMPLES, sizeof(*record.sample));
        for (unsigned i = 0; i < SAMPLES; i++) {
                first += (i < 30 ? 30 : 40) * MS;
                second += i < 10 ? 0 : 60 * MS;
                record.sample[i] = (struct load_sample){ (i + 1) * 100 * MS, first };
                record.sample[SAMPLES + i] = (struct load_sample){ (i + 1) * 100 * MS, second };
        }
        return record;
}

static void test_figures_are_of_the_time_in_which_it_wants_the_gpu(void **state)
{
        struct record record = make();
        struct record_figures figures;
        struct record_summary summary;

        record_figures(&record, 0, &figures);
        assert_true(figures.has_any);
        assert_near(figures.promised, 0.3);
        assert_near(figures.delivered,
                    (25 * 0.3 + 10 * 0.4) / 35); /* without the first half second */
        assert_near(figures.worst_second, 0.1);
        record_figures(&record, 1, &figures);
        assert_near(figures.promised, 0.6);
        assert_near(figures.delivered, 0.6);
        assert_near(figures.worst_second, 0);
        record_summarize(&record, &summary);
        assert_int_equal(summary.count, 2);
        assert_near(summary.mean_error, 1.0 / 35 / 2);
        assert_near(summary.together, (30 * 0.3 + 10 * 0.4 + 30 * 0.6) / 40);
        assert_near(summary.worst_second, 0.1);
        assert_true(summary.jain < 1 && summary.jain > 0.99);
        record_free(&record);
}

static void test_who_wants_it_too_briefly_has_none(void **state)
{
        struct record record = make();
        struct record_figures figures;

        record.mix.session[1].until_ns = 1400 * MS;
        record_figures(&record, 1, &figures);
        assert_false(figures.has_any);
        record.mix.session[1].until_ns = 1800 * MS;
        record_figures(&record, 1, &figures);
        assert_true(figures.has_any && figures.worst_second < 0);
        record_free(&record);
}

/* Who was promised next to nothing is not measured by that. */
static void test_who_was_promised_next_to_nothing_makes_nobody_unfair(void **state)
{
        struct record record = make();
        struct record_summary summary;

        record.mix.session[1].cap_ppm = 1;
        record_summarize(&record, &summary);
        assert_int_equal(summary.count, 2);
        assert_near(summary.jain, 1);
        record_free(&record);
}

static void test_a_program_that_stood_still_makes_no_result(void **state)
{
        struct record record = make();
        struct error err = { 0 };

        assert_int_equal(record_check(&record, &err), 0);
        /* Stopped after half a second, and woken after two and a half more. */
        for (unsigned i = 5; i < 31; i++)
                record.sample[i].at_ns = 3100 * MS;
        assert_int_equal(record_check(&record, &err), -EIO);
        assert_string_equal(err.text,
                            "30: its program stood still for 2.5 s; what it had of the GPU is no "
                            "result");
        record_free(&record);
}

static void test_a_program_that_had_nothing_makes_no_result(void **state)
{
        struct record record = make();
        struct error err = { 0 };

        for (unsigned i = 0; i < SAMPLES; i++)
                record.sample[SAMPLES + i].busy_ns = 0;
        assert_int_equal(record_check(&record, &err), -EIO);
        assert_string_equal(err.text,
                            "60,+1s: its program made no progress: it received no GPU time");
        /* One kernel of others may take all of the time that it was there. */
        record.mix.session[0].kernel_ns = 100 * MS;
        assert_int_equal(record_check(&record, &err), 0);
        /* It wanted the GPU too briefly to be measured. */
        record.mix.session[0].kernel_ns = MS;
        record.mix.session[1].until_ns = 1400 * MS;
        assert_int_equal(record_check(&record, &err), 0);
        record_free(&record);
}

static char *write_text(const char *text)
{
        static char path[64];
        int fd;

        strcpy(path, "/tmp/aliquot-unit-XXXXXX");
        fd = mkstemp(path);
        assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
        close(fd);
        return path;
}

static void test_what_is_written_is_read_again(void **state)
{
        struct record record = make(), again;
        struct error err = { 0 };
        char *text = NULL, *path;
        size_t length;
        FILE *stream = open_memstream(&text, &length);

        assert_int_equal(record_write(&record, stream), 0);
        fclose(stream);
        path = write_text(text);
        if (record_read(path, &again, &err) < 0)
                fail_msg("%s", err.text);
        unlink(path);
        assert_int_equal(again.mix.count, 2);
        assert_string_equal(again.mix.session[1].word, "60,+1s");
        assert_int_equal(again.samples, SAMPLES);
        assert_true(again.period_ns == record.period_ns && again.judge == record.judge);
        assert_string_equal(again.gpu, "Tesla T4");
        assert_string_equal(again.clock, "virtual");
        assert_memory_equal(again.sample, record.sample, 2 * SAMPLES * sizeof(*record.sample));
        free(text);
        record_free(&record);
        record_free(&again);
}

static void test_what_is_no_record_is_refused(void **state)
{
        static const char *const wrong[] = {
                "",
                "[]",
                "{}",
                "{\"period_us\": 0}",
                "{\"period_us\": 100000, \"sessions\": [{\"mix\": \"30\"}]}",
                "{\"period_us\": 100000, \"sessions\": [{\"at_us\": [1], \"mix\": \"30\"}]}",
                "{\"period_us\": 100000, \"sessions\": [{\"mix\": \"fast\"}]}",
                "{\"period_us\": 100000, \"sessions\": [{\"mix\": 30}]}",
                "{\"period_us\": 100000, \"sessions\": [{\"mix\": \"30\", \"at_us\": [2, 1]}]}",
                ("{\"period_us\": 1, \"sessions\": [{\"mix\": \"30\", \"at_us\": [1, 2]},"
                 " {\"mix\": \"30\", \"at_us\": [1]}]}"),
                "{\"period_us\": 1, \"sessions\": [{\"mix\": \"3\", \"busy_us\": [1, 2]}]}",
                "{\"period_us\": 1, \"judge\": \"me\"}",
                "{\"period_us\": 1, \"sessions\": [{\"mix\": \"3\", \"at_us\": [1, -2]}]}",
        };

        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                char *path = write_text(wrong[i]);
                struct error err = { 0 };
                struct record record;

                assert_int_equal(record_read(path, &record, &err), -EINVAL);
                assert_non_null(strstr(err.text, path));
                unlink(path);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_figures_are_of_the_time_in_which_it_wants_the_gpu),
                cmocka_unit_test(test_who_wants_it_too_briefly_has_none),
                cmocka_unit_test(test_a_program_that_stood_still_makes_no_result),
                cmocka_unit_test(test_a_program_that_had_nothing_makes_no_result),
                cmocka_unit_test(test_who_was_promised_next_to_nothing_makes_nobody_unfair),
                cmocka_unit_test(test_what_is_written_is_read_again),
                cmocka_unit_test(test_what_is_no_record_is_refused),
        };

        return cmocka_run_group_tests_name("bench_record", tests, NULL, NULL);
}
