/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions that a process of its own answers, or does not.
 */
#include "common/aside.h"

#include "common/machine_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define LONG_NS (60 * CLOCK_SECOND_NS)

static int ask(uint8_t (*work)(void *), void *context, uint64_t max_ns)
{
        return aside_ask(&(struct aside_question){ "aliquot-ask", work, context }, max_ns);
}

static uint8_t add_one(void *context)
{
        const uint8_t *number = context;

        return (uint8_t)(*number + 1);
}

static uint8_t wait_for_ever(void *context)
{
        while (true)
                pause();
        return 0;
}

static uint8_t die(void *context)
{
        raise(SIGKILL);
        return 0;
}

/* Whether a descriptor of ours is there. */
static uint8_t has_descriptor(void *context)
{
        const int *fd = context;

        return fcntl(*fd, F_GETFD) >= 0;
}

static void what_the_child_says_is_the_answer(void **state)
{
        uint8_t number = 0;

        assert_int_equal(ask(add_one, &number, LONG_NS), 1);
        number = UINT8_MAX;
        assert_int_equal(ask(add_one, &number, LONG_NS), 0);
}

static void the_answer_comes_also_where_ended_children_are_not_told_of(void **state)
{
        uint8_t number = 41;

        signal(SIGCHLD, SIG_IGN);
        assert_int_equal(ask(add_one, &number, LONG_NS), 42);
        signal(SIGCHLD, SIG_DFL);
}

/* Nor is a child left behind, also of one that died without a word. */
static void who_stands_still_is_not_waited_for(void **state)
{
        assert_int_equal(ask(wait_for_ever, NULL, CLOCK_SECOND_NS / 100), -ETIME);
        assert_true(waitpid(-1, NULL, WNOHANG) < 0);
        assert_int_equal(errno, ECHILD);
        assert_int_equal(ask(die, NULL, LONG_NS), -EIO);
        assert_true(waitpid(-1, NULL, WNOHANG) < 0);
}

/* Who reads what we print would wait for the child's end. */
static void the_child_has_no_file_of_ours(void **state)
{
        int pair[2];

        assert_int_equal(pipe(pair), 0);
        for (int fd = 0; fd <= STDERR_FILENO; fd++)
                assert_int_equal(ask(has_descriptor, &fd, LONG_NS), 0);
        assert_int_equal(ask(has_descriptor, &pair[0], LONG_NS), 0);
        assert_int_equal(ask(has_descriptor, &pair[1], LONG_NS), 0);
        close(pair[0]);
        close(pair[1]);
}

int main(void)
{
        static const struct CMUnitTest stories[] = {
                cmocka_unit_test(what_the_child_says_is_the_answer),
                cmocka_unit_test(the_answer_comes_also_where_ended_children_are_not_told_of),
                cmocka_unit_test(who_stands_still_is_not_waited_for),
                cmocka_unit_test(the_child_has_no_file_of_ours),
        };

        return cmocka_run_group_tests(stories, NULL, NULL);
}
