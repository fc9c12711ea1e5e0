/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many lines of the log are about one user is not for that user to say. Others' are all there,
 * and so is the number of those that were left out.
 */
#include "daemon/base/owner_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define USER 64001
#define OTHER 64002
#define CONTAINER (UINT64_C(5) << 32)
#define BURST 20
#define MANY 1000

static char path[] = "/tmp/owner-log-XXXXXX";
static struct owner_log owner_logs;

static int begin(void **state)
{
        struct log_config config = { .level = LOG_WARN };
        int fd = mkstemp(path);

        if (fd < 0)
                return -1;
        close(fd);
        strcpy(config.path, path);
        log_start(&config);
        return 0;
}

static int end(void **state)
{
        return unlink(path);
}

/* Nothing is paid back meanwhile, unless a story says so. */
static int begin_story(void **state)
{
        owner_logs = (struct owner_log){ .burst = BURST, .every_ns = UINT64_C(3600000000000) };
        return truncate(path, 0);
}

static void write_lines(uint64_t payer, unsigned count)
{
        char name[ACCOUNTS_NAME_BYTES];

        for (unsigned i = 0; i < count; i++)
                owner_log(&owner_logs, payer, LOG_WARN, "about %s", accounts_name(payer, name));
}

static unsigned lines_with(const char *text)
{
        FILE *file = fopen(path, "re");
        unsigned count = 0;
        char line[256];

        assert_non_null(file);
        while (fgets(line, sizeof(line), file))
                count += strstr(line, text) != NULL;
        fclose(file);
        return count;
}

static void a_user_has_a_burst_of_lines(void **state)
{
        write_lines(USER, MANY);
        assert_int_equal(lines_with("about user 64001"), BURST);
}

static void lines_about_others_are_all_written(void **state)
{
        write_lines(USER, MANY);
        write_lines(OTHER, BURST);
        write_lines(0, MANY);
        assert_int_equal(lines_with("about user 64002"), BURST);
        assert_int_equal(lines_with("about user 0"), MANY);
}

static void what_was_left_out_is_said_with_the_next_line(void **state)
{
        write_lines(USER, MANY);
        accounts_find(&owner_logs.accounts, USER, 0)->full_ns = 0; /* hours later */
        write_lines(USER, 1);
        assert_int_equal(lines_with("about user 64001 were left out"), 1);
        assert_int_equal(lines_with("980 lines"), 1);
        assert_int_equal(lines_with("about user 64001"), BURST + 2);
}

/* Its session is root's. */
static void a_container_has_a_burst_of_lines(void **state)
{
        write_lines(CONTAINER, MANY);
        write_lines(0, MANY);
        assert_int_equal(lines_with("about a container"), BURST);
        assert_int_equal(lines_with("about user 0"), MANY);
        accounts_find(&owner_logs.accounts, CONTAINER, 0)->full_ns = 0;
        write_lines(CONTAINER, 1);
        assert_int_equal(lines_with("980 lines about a container were left out"), 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(a_user_has_a_burst_of_lines, begin_story),
                cmocka_unit_test_setup(lines_about_others_are_all_written, begin_story),
                cmocka_unit_test_setup(what_was_left_out_is_said_with_the_next_line, begin_story),
                cmocka_unit_test_setup(a_container_has_a_burst_of_lines, begin_story),
        };

        return cmocka_run_group_tests(tests, begin, end);
}
