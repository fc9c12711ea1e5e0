/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One clock for all processes of the machine, whatever time namespace they are in: what they read,
 * and until when they wait.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/time_namespace.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

#define MS_NS UINT64_C(1000000)
#define CLOSE_NS (5000 * MS_NS) /* of a busy machine; offsets are far more */

enum { DONE, WRONG_BEFORE, WRONG_CLOCK, WRONG_ERRNO, LATE, EARLY, LATE_OF_ANY, NO_NAMESPACE };

static bool is_near(uint64_t before_ns)
{
        return clock_now_ns() - before_ns < CLOSE_NS;
}

static int inside(uint64_t before_ns)
{
        static _Atomic uint32_t word;
        const _Atomic uint32_t *const words[] = { &word };
        const uint32_t expected[] = { 0 };
        uint64_t until_ns;
        int rc;

        errno = ENOTTY;
        if (!is_near(before_ns))
                return WRONG_CLOCK;
        if (errno != ENOTTY)
                return WRONG_ERRNO;
        alarm(30);
        until_ns = clock_now_ns() + 20 * MS_NS;
        while (clock_wait(&word, 0, until_ns)) {
        }
        if (clock_now_ns() < until_ns)
                return EARLY;
        if (clock_now_ns() > until_ns + CLOSE_NS)
                return LATE;
        until_ns = clock_now_ns() + 20 * MS_NS;
        do
                rc = clock_wait_any(words, expected, 1, until_ns);
        while (rc >= 0);
        if (rc != -ENOSYS && clock_now_ns() < until_ns)
                return EARLY;
        if (clock_wait(&word, 0, 1))
                return EARLY; /* that is long ago on each clock */
        return clock_now_ns() > until_ns + CLOSE_NS ? LATE_OF_ANY : DONE;
}

static int wait_for(pid_t child)
{
        int status;

        assert_true(child > 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

/* Makes a namespace, which its child is in; both have the clock that the parent has. */
static int in_namespace(const char *offset, bool is_known_before)
{
        uint64_t before_ns = clock_now_ns();
        int fd;

        if (!is_known_before)
                time_namespace.known = 0;
        if (unshare(CLONE_NEWTIME) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWTIME) < 0)
                return NO_NAMESPACE;
        fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, offset, strlen(offset)) < 0)
                return NO_NAMESPACE;
        close(fd);
        if (!is_near(before_ns))
                return WRONG_BEFORE;
        pid_t child = fork();
        if (child == 0)
                _exit(inside(before_ns));
        int rc = wait_for(child);
        return rc == DONE && !is_near(before_ns) ? WRONG_CLOCK : rc;
}

static void one_clock(const char *offset, bool is_known_before)
{
        pid_t child = fork();
        int rc;

        if (child == 0)
                _exit(in_namespace(offset, is_known_before));
        rc = wait_for(child);
        if (rc == NO_NAMESPACE) {
                print_message("time namespaces cannot be made here\n");
                skip();
        }
        assert_int_equal(rc, DONE);
}

static void ahead(void **state)
{
        one_clock("monotonic 864000 123456789\n", true);
}

static void behind(void **state)
{
        char offset[64];

        snprintf(offset, sizeof(offset), "monotonic -%u 5\n",
                 (unsigned)(clock_now_ns() / CLOCK_SECOND_NS / 2));
        one_clock(offset, true);
}

/* A process that has made a namespace for its children and not looked at the clock before. */
static void first_looked_at_between(void **state)
{
        one_clock("monotonic 864000 0\n", false);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(ahead),
                cmocka_unit_test(behind),
                cmocka_unit_test(first_looked_at_between),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
