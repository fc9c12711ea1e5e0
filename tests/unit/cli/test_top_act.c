/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `aliquot top` says of the changes that it has others make.
 */
#include "cli/top/act.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static char program[] = "/tmp/aliquot-test-act-XXXXXX";

/* Stands for `aliquot set SESSION --memory=TEXT`: "x" is no size. */
static int write_program(void **state)
{
        static const char text[] = "#!/bin/sh\n"
                                   "[ \"$1 $2 $3\" = 'set s --memory=x' ] || exit 0\n"
                                   "echo 'aliquot set: --memory x: no size' >&2\n"
                                   "exit 2\n";
        int fd = mkostemp(program, O_CLOEXEC);

        if (fd < 0 || write(fd, text, strlen(text)) < 0 || fchmod(fd, 0700) < 0)
                return -1;
        return close(fd);
}

static int drop_program(void **state)
{
        return unlink(program);
}

static bool set(struct act *act, const char *text, char ret_message[KEYS_LINE_BYTES])
{
        struct keys keys = { .term = &keys_terms[0], .session = "s" };

        assert_string_equal(keys.term->flag, "memory");
        snprintf(keys.line, sizeof(keys.line), "%s", text);
        return act_set(act, program, &keys, ret_message);
}

/* It has ended, and nobody has looked yet. */
static void let_it_end(const struct act *act)
{
        siginfo_t info;

        assert_int_equal(waitid(P_PID, (id_t)act->pid, &info, WEXITED | WNOWAIT), 0);
}

static bool ends_well(struct act *act, char ret_message[KEYS_LINE_BYTES])
{
        bool is_bad = false;

        let_it_end(act);
        assert_true(act_is_set(act, ret_message, &is_bad));
        return !is_bad;
}

static void what_is_set_is_said_when_it_begins_and_when_it_ends(void **state)
{
        char message[KEYS_LINE_BYTES];
        struct act act = { 0 };

        assert_true(set(&act, "1GiB", message));
        assert_string_equal(message, "setting memory of s: 1GiB");
        assert_true(ends_well(&act, message));
        assert_string_equal(message, "memory of s: 1GiB");
        assert_false(act.is_pending);
}

static void what_is_refused_is_said_in_its_own_words(void **state)
{
        char message[KEYS_LINE_BYTES];
        struct act act = { 0 };

        assert_true(set(&act, "x", message));
        assert_false(ends_well(&act, message));
        assert_string_equal(message, "--memory x: no size");
}

/* The message of the next would else take the place of the refusal before it could be seen. */
static void a_refusal_is_said_though_another_was_typed_meanwhile(void **state)
{
        char message[KEYS_LINE_BYTES];
        struct act act = { 0 };

        assert_true(set(&act, "x", message));
        let_it_end(&act);
        assert_false(set(&act, "512MiB", message));
        assert_string_equal(message, "--memory x: no size; setting memory of s: 512MiB");
        assert_false(ends_well(&act, message));
        assert_string_equal(message, "--memory x: no size; then memory of s: 512MiB");

        /* It was said, and is over. */
        assert_true(set(&act, "1GiB", message));
        assert_true(ends_well(&act, message));
        assert_string_equal(message, "memory of s: 1GiB");
}

int main(void)
{
        static const struct CMUnitTest stories[] = {
                cmocka_unit_test(what_is_set_is_said_when_it_begins_and_when_it_ends),
                cmocka_unit_test(what_is_refused_is_said_in_its_own_words),
                cmocka_unit_test(a_refusal_is_said_though_another_was_typed_meanwhile),
        };

        return cmocka_run_group_tests(stories, write_program, drop_program);
}
