/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A token is taken from a file that only its owner could have written and read, and whoever
 * brings anything else than the token is refused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/base/token.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define GOOD "0123456789abcdef"

static char path[64];

static int fresh_file(void **state)
{
        snprintf(path, sizeof(path), "/tmp/aliquot-token-XXXXXX");
        int fd = mkstemp(path);

        assert_true(fd >= 0);
        return close(fd);
}

static int drop_file(void **state)
{
        return unlink(path);
}

static void put(const char *text, size_t length)
{
        FILE *file = fopen(path, "w");

        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, length, file), length);
        assert_int_equal(fclose(file), 0);
}

static void expect_refused(int code, const char *word)
{
        struct token token = { .length = 3, .text = "old" };
        struct error err = { 0 };
        int rc = token_read(path, TOKEN_MIN, &token, &err);

        if (rc != code || !strstr(err.text, word))
                fail_msg("%d, expected %d and '%s' in: %s", rc, code, word, err.text);
        assert_null(strstr(err.text, GOOD));
        assert_int_equal(token.length, 3);
}

static void test_the_newline_at_the_end_is_not_part_of_it(void **state)
{
        struct token token;

        put(GOOD "\n", 17);
        assert_int_equal(token_read(path, TOKEN_MIN, &token, NULL), 0);
        assert_true(token_is(&token, GOOD, 16));
        assert_false(token_is(&token, GOOD "\n", 17));
        put(GOOD, 16);
        assert_int_equal(token_read(path, TOKEN_MIN, &token, NULL), 0);
        assert_true(token_is(&token, GOOD, 16));
        put(GOOD "\n\n", 18);
        expect_refused(-EINVAL, "character 17");
}

static void test_only_the_whole_token_is_the_token(void **state)
{
        struct token token;
        char other[] = GOOD;

        put(GOOD, 16);
        assert_int_equal(token_read(path, TOKEN_MIN, &token, NULL), 0);
        assert_false(token_is(&token, GOOD, 15));
        assert_false(token_is(&token, GOOD "g", 17));
        assert_false(token_is(&token, "", 0));
        for (size_t i = 0; i < 16; i++) {
                for (unsigned bit = 0; bit < 8; bit++) {
                        other[i] = (char)(GOOD[i] ^ (1 << bit));
                        assert_false(token_is(&token, other, 16));
                }
                other[i] = GOOD[i];
        }
        token_wipe(&token);
        assert_false(token_is(&token, GOOD, 16));
        assert_false(token_is(&token, "", 0)); /* no token is not the empty token */
}

static void test_what_is_too_short_too_long_or_not_text_is_refused(void **state)
{
        char text[TOKEN_MAX + 2];
        struct token token;

        memset(text, 'x', sizeof(text));
        put(text, TOKEN_MAX);
        assert_int_equal(token_read(path, TOKEN_MIN, &token, NULL), 0);
        text[TOKEN_MAX] = '\n';
        put(text, TOKEN_MAX + 1);
        assert_int_equal(token_read(path, TOKEN_MIN, &token, NULL), 0);
        text[TOKEN_MAX] = 'x';
        put(text, TOKEN_MAX + 1);
        expect_refused(-EINVAL, "more than 4096");
        put(text, TOKEN_MAX + 2);
        expect_refused(-EINVAL, "more than 4096");
        put(text, TOKEN_MIN - 1);
        expect_refused(-EINVAL, "less than 16");
        put("", 0);
        expect_refused(-EINVAL, "less than 16");
        assert_true(token_read(path, 1, &token, NULL) < 0);
        put("x\n", 2); /* where a short one is good enough */
        assert_int_equal(token_read(path, 1, &token, NULL), 0);
        assert_true(token_is(&token, "x", 1));
        put("0123456789 abcdef", 17);
        expect_refused(-EINVAL, "character 11");
        put("0123456789\0abcdef", 17);
        expect_refused(-EINVAL, "character 11");
        put("0123456789\377abcdef", 17);
        expect_refused(-EINVAL, "character 11");
}

static void test_a_file_that_others_can_read_or_write_is_refused(void **state)
{
        static const mode_t bad[] = { 0604, 0602, 0620, 0601, 0666 };
        struct token token;

        put(GOOD, 16);
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                assert_int_equal(chmod(path, bad[i]), 0);
                expect_refused(-EPERM, "by others");
        }
        assert_int_equal(chmod(path, 0640), 0);
        assert_int_equal(token_read(path, TOKEN_MIN, &token, NULL), 0);
        if (geteuid() == 0) {
                assert_int_equal(chown(path, 12345, 0), 0);
                expect_refused(-EPERM, "belongs to user 12345");
        }
}

static void test_what_is_no_plain_file_is_refused_and_does_not_hang(void **state)
{
        assert_int_equal(unlink(path), 0);
        expect_refused(-ENOENT, path);
        assert_int_equal(mkfifo(path, 0600), 0);
        expect_refused(-EINVAL, "not a plain file");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_the_newline_at_the_end_is_not_part_of_it,
                                                fresh_file, drop_file),
                cmocka_unit_test_setup_teardown(test_only_the_whole_token_is_the_token, fresh_file,
                                                drop_file),
                cmocka_unit_test_setup_teardown(
                        test_what_is_too_short_too_long_or_not_text_is_refused, fresh_file,
                        drop_file),
                cmocka_unit_test_setup_teardown(
                        test_a_file_that_others_can_read_or_write_is_refused, fresh_file,
                        drop_file),
                cmocka_unit_test_setup_teardown(
                        test_what_is_no_plain_file_is_refused_and_does_not_hang, fresh_file,
                        drop_file),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
