/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime folder of each story's own, and processes in it: a process finds its session only once,
 * so each story is one, and says what it found.
 */
#ifndef TESTS_UNIT_SHIM_SESSION_FIXTURE_H
#define TESTS_UNIT_SHIM_SESSION_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomic.h"
#include "shim/session.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)
#define HANG_SECONDS 30

static char folder[64];
static char folder_variable[96];

/* What a story's process had to say. */
struct answer {
        int state;
        int calls_of_lister;
        uint64_t session_id[2];
        uint64_t limit_bytes[2];
        char lines[1024]; /* on its standard error */
};

static _Atomic int lister_calls;

static inline int two_gpus(struct session_gpu *ret, size_t max)
{
        add_relaxed(&lister_calls, 1);
        ret[0] = (struct session_gpu){ .uuid = { 0xaa, 1 }, .card_bytes = 16 * GIB };
        ret[1] = (struct session_gpu){ .uuid = { 0xbb, 2 }, .card_bytes = 16 * GIB };
        return 2;
}

static inline void describe(struct answer *answer)
{
        answer->state = session_state();
        answer->calls_of_lister = lister_calls;
        if (!session_limits())
                return;
        memcpy(answer->session_id, session_limits()->session_id, 16);
        for (unsigned i = 0; i < 2; i++)
                answer->limit_bytes[i] = session_limits()->device[i].limit_bytes;
}

static inline void check(bool is_true, int line)
{
        if (!is_true) {
                dprintf(STDERR_FILENO, "check in line %d failed\n", line);
                _exit(99);
        }
}
#define CHECK(condition) check(condition, __LINE__)

/* Runs `story` in a process with this environment. */
static inline struct answer run(void (*story)(void), char *const *environment)
{
        struct answer answer = { 0 };
        int out[2], lines[2], status = 0;
        ssize_t got;
        pid_t child;

        assert_int_equal(pipe(out), 0);
        assert_int_equal(pipe(lines), 0);
        child = fork();
        if (child == 0) {
                alarm(HANG_SECONDS);
                clearenv();
                putenv(folder_variable);
                for (; *environment; environment++)
                        putenv(*environment);
                dup2(lines[1], STDERR_FILENO);
                close(lines[1]);
                story();
                describe(&answer);
                _exit(write(out[1], &answer, sizeof(answer)) != sizeof(answer));
        }
        close(out[1]);
        close(lines[1]);
        got = read(out[0], &answer, sizeof(answer));
        answer.lines[read(lines[0], answer.lines, sizeof(answer.lines) - 1)] = '\0';
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status != 0 || got != sizeof(answer))
                fail_msg("the story's process ended with %d: %s", status, answer.lines);
        close(out[0]);
        close(lines[0]);
        return answer;
}

#define run_with(story, ...) run(story, (char *[]){ __VA_ARGS__, NULL })

static inline int fresh_folder(void **state)
{
        strcpy(folder, "/dev/shm/aliquot-test-XXXXXX");
        assert_non_null(mkdtemp(folder));
        snprintf(folder_variable, sizeof(folder_variable), "ALIQUOT_RUNTIME_DIR=%s", folder);
        return 0;
}

static inline int drop_folder(void **state)
{
        char command[128];

        snprintf(command, sizeof(command), "rm -rf '%s'", folder);
        return system(command);
}

#define story(test) cmocka_unit_test_setup_teardown(test, fresh_folder, drop_folder)

#endif
