/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What arrives at a session's socket is somebody else's word: understood whole, or refused with the
 * reason; two versions of Aliquot find the highest that both speak, or say which they do.
 */
#include "proto/message.h" /* before cmocka.h: it has a macro fail() */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t id[16] = { 1, 2, 3 };

static union {
        char bytes[MESSAGE_MAX + 1];
        struct message_hello hello;
        struct message_welcome welcome;
        struct message_refused refused;
} sent;
static size_t length;
static struct message_asked asked;
static union message_answer answer;
static struct error err;

static int nothing_said(void **state)
{
        memset(&sent, 0xee, sizeof(sent));
        memset(&asked, 0, sizeof(asked));
        memset(&answer, 0, sizeof(answer));
        memset(&err, 0, sizeof(err));
        return 0;
}

static void say_hello(const char *token)
{
        length = message_write_hello(&sent, &(struct message_wish){ id, "python3", token });
}

static void expect_refused(int code, const char *word)
{
        assert_int_equal(message_read_hello(&sent, length, &asked, &err), code);
        assert_non_null(strstr(err.text, word));
        assert_int_equal(asked.version, 0);
}

static void a_hello_is_understood(void **state)
{
        say_hello("a token of any kind");
        assert_int_equal(message_read_hello(&sent, length, &asked, &err), 0);
        assert_int_equal(asked.version, 1);
        assert_true(asked.has_session_id);
        assert_memory_equal(asked.session_id, id, sizeof(id));
        assert_string_equal(asked.command, "python3");
        assert_int_equal(asked.token_bytes, strlen("a token of any kind"));
        assert_memory_equal(asked.token, "a token of any kind", asked.token_bytes);
}

static void session_and_token_may_be_left_out(void **state)
{
        length = message_write_hello(&sent, &(struct message_wish){ .command = NULL });
        assert_int_equal(message_read_hello(&sent, length, &asked, &err), 0);
        assert_false(asked.has_session_id);
        assert_null(asked.token);
        assert_string_equal(asked.command, "");
}

static void the_longest_token_fits(void **state)
{
        char token[MESSAGE_TOKEN_MAX + 2] = "";

        memset(token, 'x', sizeof(token) - 1);
        say_hello(token);
        assert_true(length <= MESSAGE_MAX);
        assert_int_equal(message_read_hello(&sent, length, &asked, &err), 0);
        assert_int_equal(asked.token_bytes, MESSAGE_TOKEN_MAX);
}

static void what_is_no_hello_is_refused(void **state)
{
        say_hello("t");
        length--;
        expect_refused(MESSAGE_MALFORMED, "says it has");
        length = 3;
        expect_refused(MESSAGE_MALFORMED, "3 bytes");
        length = 0;
        expect_refused(MESSAGE_MALFORMED, "0 bytes");
        say_hello("t");
        sent.hello.head.magic++;
        expect_refused(MESSAGE_MALFORMED, "no message of ours");
        say_hello("t");
        sent.hello.head.type = MESSAGE_WELCOME;
        expect_refused(MESSAGE_MALFORMED, "expected a HELLO");
        say_hello(NULL);
        sent.hello.head.bytes = (uint32_t)(length = sizeof(sent.hello.head));
        expect_refused(MESSAGE_MALFORMED, "expected a HELLO");
        say_hello(NULL);
        sent.hello.head.bytes = (uint32_t)(length = sizeof(sent));
        expect_refused(MESSAGE_MALFORMED, "says it has");
}

static void a_token_lies_inside_its_message(void **state)
{
        static const struct {
                uint32_t at, bytes;
        } wrong[] = {
                { 0, 1 },  { 71, 4 },         { 72, 0 },          { 72, 5 },
                { 76, 1 }, { UINT32_MAX, 1 }, { 72, UINT32_MAX }, { UINT32_MAX, UINT32_MAX }
        };

        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                say_hello("four");
                sent.hello.token_at = wrong[i].at;
                sent.hello.token_bytes = wrong[i].bytes;
                expect_refused(MESSAGE_MALFORMED, "a token of");
        }
}

static void a_word_without_an_end_is_cut_and_made_printable(void **state)
{
        say_hello(NULL);
        memset(sent.hello.command, '\x1b', sizeof(sent.hello.command));
        assert_int_equal(message_read_hello(&sent, length, &asked, &err), 0);
        assert_int_equal(strlen(asked.command), MESSAGE_COMMAND_BYTES - 1);
        assert_null(strchr(asked.command, '\x1b'));
}

static void the_highest_version_in_common_is_chosen(void **state)
{
        say_hello(NULL);
        sent.hello.head.version_most = 900;
        assert_int_equal(message_read_hello(&sent, length, &asked, &err), 0);
        assert_int_equal(asked.version, MESSAGE_VERSION_MAX);
}

static void a_later_hello_may_be_longer(void **state)
{
        say_hello(NULL);
        sent.hello.head.version_most = 2;
        sent.hello.head.bytes = (uint32_t)(length = sizeof(sent.hello) + 100);
        assert_int_equal(message_read_hello(&sent, length, &asked, &err), 0);
}

static void without_a_version_in_common_both_ranges_are_said(void **state)
{
        say_hello(NULL);
        sent.hello.head.version_least = 7;
        sent.hello.head.version_most = 9;
        expect_refused(MESSAGE_NO_VERSION, "it speaks 7 to 9, this side 1 to 1");
        sent.hello.head.version_least = 0;
        expect_refused(MESSAGE_MALFORMED, "versions 0 to 9");
        sent.hello.head.version_least = 10;
        expect_refused(MESSAGE_MALFORMED, "versions 10 to 9");
}

static void a_welcome_is_understood(void **state)
{
        length = message_write_welcome(&sent.welcome, 1, id, "team-a", MESSAGE_READ_ONLY_MOUNT);
        assert_int_equal(message_read_answer(&sent, length, &answer, &err), MESSAGE_WELCOME);
        assert_string_equal(answer.welcome.name, "team-a");
        assert_memory_equal(answer.welcome.session_id, id, sizeof(id));
        assert_int_equal(answer.welcome.flags, MESSAGE_READ_ONLY_MOUNT);
        assert_int_equal(answer.welcome.page_version, PAGE_VERSION);
}

static void a_refusal_is_understood_in_any_version(void **state)
{
        length = message_write_refused(&sent.refused, 0, MESSAGE_NO_VERSION, 0, "too \x1b[31mold");
        sent.refused.head.version_least = 8;
        sent.refused.head.version_most = 9;
        assert_int_equal(message_read_answer(&sent, length, &answer, &err), MESSAGE_REFUSED);
        assert_int_equal(answer.refused.code, MESSAGE_NO_VERSION);
        assert_string_equal(answer.refused.reason, "too ?[31mold");
}

/* One of a daemon that knew nothing of waiting ends before that field. */
static void a_refusal_may_say_how_long_there_is_hope(void **state)
{
        const size_t shorter = offsetof(struct message_refused, wait_ms);

        length = message_write_refused(&sent.refused, 1, MESSAGE_TOO_MANY, 250, "full");
        sent.refused.wait_ms = 60000;
        assert_int_equal(message_read_answer(&sent, length, &answer, &err), MESSAGE_REFUSED);
        assert_int_equal(answer.refused.wait_ms, 60000);
        sent.refused.head.bytes = (uint32_t)shorter;
        assert_int_equal(message_read_answer(&sent, shorter, &answer, &err), MESSAGE_REFUSED);
        assert_int_equal(answer.refused.wait_ms, 0);
        assert_string_equal(answer.refused.reason, "full");
        sent.refused.head.bytes = (uint32_t)shorter - 1;
        assert_int_equal(message_read_answer(&sent, shorter - 1, &answer, &err), -EPROTO);
}

static void an_answer_that_is_none_is_refused(void **state)
{
        length = message_write_welcome(&sent.welcome, 1, id, "team-a", 0);
        memset(sent.welcome.name, 'x', sizeof(sent.welcome.name));
        assert_int_equal(message_read_answer(&sent, length, &answer, &err), -EPROTO);
        length = message_write_welcome(&sent.welcome, 2, id, "team-a", 0);
        assert_int_equal(message_read_answer(&sent, length, &answer, &err), -EPROTO);
        assert_non_null(strstr(err.text, "no version in common"));
        say_hello(NULL);
        assert_int_equal(message_read_answer(&sent, length, &answer, &err), -EPROTO);
        length = message_write_refused(&sent.refused, 1, MESSAGE_ENDED, 0, "");
        assert_int_equal(message_read_answer(&sent, length - 1, &answer, &err), -EPROTO);
        assert_int_equal(answer.head.magic, 0);
}

static void a_reason_that_is_too_long_is_cut(void **state)
{
        char reason[MESSAGE_REASON_BYTES * 2] = "";

        memset(reason, 'x', sizeof(reason) - 1);
        length = message_write_refused(&sent.refused, 1, MESSAGE_TROUBLE, 5, reason);
        assert_int_equal(message_read_answer(&sent, length, &answer, &err), MESSAGE_REFUSED);
        assert_int_equal(strlen(answer.refused.reason), MESSAGE_REASON_BYTES - 1);
        assert_int_equal(answer.refused.retry_ms, 5);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(a_hello_is_understood, nothing_said),
                cmocka_unit_test_setup(session_and_token_may_be_left_out, nothing_said),
                cmocka_unit_test_setup(the_longest_token_fits, nothing_said),
                cmocka_unit_test_setup(what_is_no_hello_is_refused, nothing_said),
                cmocka_unit_test_setup(a_token_lies_inside_its_message, nothing_said),
                cmocka_unit_test_setup(a_word_without_an_end_is_cut_and_made_printable,
                                       nothing_said),
                cmocka_unit_test_setup(the_highest_version_in_common_is_chosen, nothing_said),
                cmocka_unit_test_setup(a_later_hello_may_be_longer, nothing_said),
                cmocka_unit_test_setup(without_a_version_in_common_both_ranges_are_said,
                                       nothing_said),
                cmocka_unit_test_setup(a_welcome_is_understood, nothing_said),
                cmocka_unit_test_setup(a_refusal_is_understood_in_any_version, nothing_said),
                cmocka_unit_test_setup(a_refusal_may_say_how_long_there_is_hope, nothing_said),
                cmocka_unit_test_setup(an_answer_that_is_none_is_refused, nothing_said),
                cmocka_unit_test_setup(a_reason_that_is_too_long_is_cut, nothing_said),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
