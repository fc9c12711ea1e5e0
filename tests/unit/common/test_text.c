/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text, UUIDs, random names, log lines: bounded, locale-proof, and quiet unless asked.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/random.h"
#include "common/text.h"
#include "common/uuid.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const uint8_t some_uuid[16] = { 0x34, 0x30, 0xf7, 0x78, 0x77, 0x5a, 0x70, 0x4c,
                                       0x90, 0x90, 0x8b, 0x0b, 0xb2, 0x47, 0x81, 0x14 };

static void test_a_full_buffer_is_noticed_not_overrun(void **state)
{
        char buffer[8];
        struct text text;

        text_begin(&text, buffer, sizeof(buffer));
        text_add(&text, "%s", "1234567");
        assert_false(text.is_cut);
        text_add(&text, "%s", "8");
        assert_true(text.is_cut);
        assert_int_equal(strlen(buffer), 7);
        assert_int_equal(text_put(buffer, 8, NULL, "%s", "too long for it"), -ENAMETOOLONG);
        assert_string_equal(buffer, "1234567");
}

static void test_strangers_text_is_quoted_harmlessly(void **state)
{
        char buffer[16];

        assert_string_equal(text_quote("a\033[2Jb\n", buffer, sizeof(buffer)), "a?[2Jb?");
        assert_string_equal(text_quote("0123456789abcdefgh", buffer, sizeof(buffer)),
                            "0123456789ab...");
}

static void test_plain_text_is_utf8_without_control_characters(void **state)
{
        static const char *const bad[] = { "a\nb",
                                           "\x7f",
                                           "\x80",
                                           "\xc0\xaf",
                                           "\xe0\x80\xaf",
                                           "\xed\xa0\x80",
                                           "\xf5\x80\x80\x80",
                                           "\xc3",
                                           "\xe2\x82",
                                           "\xf4\x90\x80\x80" };

        assert_true(text_is_plain(""));
        assert_true(text_is_plain("a \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf"));
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                if (text_is_plain(bad[i]))
                        fail_msg("text %zu", i);
        }
}

/* Every one that a terminal acts on or that nobody sees, at both ends of its range. */
static void test_what_deceives_a_reader_is_hidden_and_the_length_stays(void **state)
{
        static const char *const bad[] = {
                "\x1b",         "\x7f",         "\xc2\x80",     "\xc2\x9b",         "\xc2\xad",
                "\xd8\x9c",     "\xe2\x80\x8b", "\xe2\x80\x8f", "\xe2\x80\xa8",     "\xe2\x80\xae",
                "\xe2\x81\xa6", "\xe2\x81\xaf", "\xef\xbb\xbf", "\xf3\xa0\x80\x81", "\xff",
                "\xe2\x80"
        };
        char text[64], expected[64];

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                snprintf(text, sizeof(text), "a%sb", bad[i]);
                snprintf(expected, sizeof(expected), "a%.*sb", (int)strlen(bad[i]), "????");
                text_hide(text);
                assert_string_equal(text, expected);
        }
        snprintf(text, sizeof(text), "a \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\xa0");
        snprintf(expected, sizeof(expected), "%s", text);
        text_hide(text);
        assert_string_equal(text, expected);
}

static void test_case_is_ascii_only(void **state)
{
        assert_true(text_is_same("GPU-3F", "gpu-3f"));
        assert_false(text_is_same("gpu", "gpus"));
        assert_true(text_begins("ALIQUOT_X", "aliquot_"));
        assert_false(text_begins("ALI", "aliquot_"));
}

static void test_uuids_read_back(void **state)
{
        char text[UUID_TEXT_BYTES];
        uint8_t back[16];

        uuid_format(some_uuid, false, text);
        assert_string_equal(text, "GPU-3430f778-775a-704c-9090-8b0bb2478114");
        assert_true(uuid_parse("gpu-3430F778-775A-704c-9090-8b0bb2478114", back));
        assert_memory_equal(back, some_uuid, 16);
        uuid_format(some_uuid, true, text);
        assert_true(uuid_parse(text, back));
        assert_memory_equal(text, "MIG-", 4);
        assert_false(uuid_parse("3430f778-775a-704c-9090-8b0bb2478114", back));
        assert_false(uuid_parse("GPU-3430f778-775a-704c-9090-8b0bb247811", back));
        assert_false(uuid_parse("GPU-3430f778-775a-704c-9090-8b0bb24781144", back));
        assert_false(uuid_parse("GPU-3430f778x775a-704c-9090-8b0bb2478114", back));
}

static void test_beginnings_of_uuids(void **state)
{
        assert_true(uuid_matches(some_uuid, false, "GPU-3430F778"));
        assert_true(uuid_matches(some_uuid, false, "3430f778-77"));
        assert_true(uuid_matches(some_uuid, false, "gpu-3"));
        assert_false(uuid_matches(some_uuid, false, "GPU-3431"));
        assert_false(uuid_matches(some_uuid, false, "MIG-3430"));
        assert_true(uuid_matches(some_uuid, true, "mig-3430"));
        assert_true(uuid_is_prefix("GPU-3430f778-"));
        assert_false(uuid_is_prefix("GPU-"));
        assert_false(uuid_is_prefix(""));
        assert_false(uuid_is_prefix("GPU-3430f7788"));
        assert_false(uuid_is_prefix("GPU-x"));
        assert_false(uuid_is_prefix("../../etc/passwd"));
}

static void test_random_bytes_differ(void **state)
{
        uint64_t a[4], b[4];

        assert_int_equal(random_fill(a, sizeof(a), NULL), 0);
        assert_int_equal(random_fill(b, sizeof(b), NULL), 0);
        assert_memory_not_equal(a, b, sizeof(a));
}

/* Nobody asked: not a byte, and errno is the program's. */
static void test_log_is_silent_unless_asked(void **state)
{
        struct log_config config = { .level = LOG_OFF };
        int pipe_fds[2], kept = dup(STDERR_FILENO);
        char seen[64];

        assert_int_equal(pipe2(pipe_fds, O_NONBLOCK), 0);
        dup2(pipe_fds[1], STDERR_FILENO);
        log_start(&config);
        errno = 1234;
        log_line(LOG_ERROR, "nobody wants to know");
        assert_int_equal(errno, 1234);
        config.level = LOG_WARN;
        log_start(&config);
        log_line(LOG_INFO, "still nobody");
        assert_int_equal(read(pipe_fds[0], seen, sizeof(seen)), -1);
        log_line(LOG_WARN, "this one");
        dup2(kept, STDERR_FILENO);
        assert_true(read(pipe_fds[0], seen, sizeof(seen)) > 0);
        config.level = LOG_OFF;
        log_start(&config);
        close(kept);
        close(pipe_fds[0]);
        close(pipe_fds[1]);
}

/* A line is one write to a file that is open no longer than that. */
static void test_log_lines_go_to_the_file(void **state)
{
        struct log_config config = { .level = LOG_DEBUG };
        char line[4096] = "";
        char large[3000];
        FILE *file;

        snprintf(config.path, sizeof(config.path), "/tmp/aliquot-test-log-%d", getpid());
        unlink(config.path);
        log_start(&config);
        log_line(LOG_DEBUG, "value %d", 42);
        memset(large, 'x', sizeof(large));
        large[sizeof(large) - 1] = '\0';
        log_line(LOG_ERROR, "%s", large);
        file = fopen(config.path, "r");
        assert_non_null(file);
        assert_non_null(fgets(line, sizeof(line), file));
        assert_non_null(strstr(line, "debug: value 42\n"));
        /* Too long: cut, but still one line. */
        assert_non_null(fgets(line, sizeof(line), file));
        assert_int_equal(line[strlen(line) - 1], '\n');
        assert_true(strlen(line) <= 1024);
        fclose(file);
        unlink(config.path);
        config.level = LOG_OFF;
        log_start(&config);
}

static void test_one_line_a_cause(void **state)
{
        _Atomic bool told = false;

        assert_true(log_once(&told));
        assert_false(log_once(&told));
}

static void test_levels(void **state)
{
        enum log_level level;

        assert_true(log_level_parse("WARN", &level));
        assert_int_equal(level, LOG_WARN);
        assert_false(log_level_parse("loud", &level));
        assert_false(log_level_parse("", &level));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_full_buffer_is_noticed_not_overrun),
                cmocka_unit_test(test_strangers_text_is_quoted_harmlessly),
                cmocka_unit_test(test_plain_text_is_utf8_without_control_characters),
                cmocka_unit_test(test_what_deceives_a_reader_is_hidden_and_the_length_stays),
                cmocka_unit_test(test_case_is_ascii_only),
                cmocka_unit_test(test_uuids_read_back),
                cmocka_unit_test(test_beginnings_of_uuids),
                cmocka_unit_test(test_random_bytes_differ),
                cmocka_unit_test(test_log_is_silent_unless_asked),
                cmocka_unit_test(test_log_lines_go_to_the_file),
                cmocka_unit_test(test_one_line_a_cause),
                cmocka_unit_test(test_levels),
        };

        return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
