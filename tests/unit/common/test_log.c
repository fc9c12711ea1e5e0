/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is written or lost; the program that it is written from notices neither.
 *
 * Each story is a process of its own: what is being shown is that it lives on.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define HANG_SECONDS 30

static char folder[64];

static void check(bool is_true, int line)
{
        if (!is_true)
                _exit(line % 200 + 1);
}
#define CHECK(condition) check(condition, __LINE__)

static void expect_lives(void (*story)(void))
{
        int status = 0;
        pid_t child = fork();

        if (child == 0) {
                alarm(HANG_SECONDS);
                signal(SIGPIPE, SIG_DFL);
                signal(SIGXFSZ, SIG_DFL);
                errno = 4321;
                story();
                CHECK(errno == 4321);
                _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status != 0)
                fail_msg("the program ended: signal %d, exit %d", WTERMSIG(status),
                         WEXITSTATUS(status));
}

static void close_standard_error_at_the_other_end(void)
{
        int ends[2];

        CHECK(pipe(ends) == 0);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        errno = 4321;
}

static void tell_nobody(void)
{
        struct log_config config = { .level = LOG_INFO };

        close_standard_error_at_the_other_end();
        log_start(&config);
        log_tell("a line for nobody");
        log_line(LOG_INFO, "and one more");
}

static void test_a_pipe_that_nobody_reads(void **state)
{
        expect_lives(tell_nobody);
}

static void log_to_a_fifo(void)
{
        struct log_config config = { .level = LOG_INFO };

        snprintf(config.path, sizeof(config.path), "%s/fifo", folder);
        CHECK(mkfifo(config.path, 0600) == 0);
        log_start(&config);
        log_line(LOG_INFO, "nobody will open the other end");
}

static void test_a_fifo_that_nobody_opened(void **state)
{
        expect_lives(log_to_a_fifo);
}

static void log_beyond_the_size_limit(void)
{
        struct log_config config = { .level = LOG_INFO };
        const struct rlimit none = { 0, 0 };

        snprintf(config.path, sizeof(config.path), "%s/log", folder);
        CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
        log_start(&config);
        log_line(LOG_INFO, "no file may grow");
}

static void test_a_limit_on_the_size_of_files(void **state)
{
        expect_lives(log_beyond_the_size_limit);
}

/* What the program itself had waiting is still waiting, and what it blocks is still blocked. */
static void keep_its_own_signal(void)
{
        sigset_t pipe_signal, seen;

        sigemptyset(&pipe_signal);
        sigaddset(&pipe_signal, SIGPIPE);
        sigprocmask(SIG_BLOCK, &pipe_signal, NULL);
        raise(SIGPIPE);
        tell_nobody();
        sigpending(&seen);
        CHECK(sigismember(&seen, SIGPIPE) == 1);
        sigprocmask(SIG_BLOCK, NULL, &seen);
        CHECK(sigismember(&seen, SIGPIPE) == 1);
        CHECK(sigismember(&seen, SIGXFSZ) == 0);
}

static void test_its_own_signals_are_left_to_the_program(void **state)
{
        expect_lives(keep_its_own_signal);
}

static _Atomic bool is_past_the_line;

static void *log_while_cancelled(void *unused)
{
        /* Static: what ASan marks in a frame stays marked when a cancellation unwinds it. */
        static const struct log_config config = { .level = LOG_INFO, .path = "/dev/null" };

        log_start(&config);
        pthread_cancel(pthread_self()); /* taken at the next cancellation point */
        log_line(LOG_INFO, "not here");
        log_tell("nor here");
        is_past_the_line = true;
        pthread_testcancel();
        return NULL;
}

static void cancel_a_thread(void)
{
        pthread_t thread;
        void *end;

        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        CHECK(pthread_create(&thread, NULL, log_while_cancelled, NULL) == 0);
        pthread_join(thread, &end);
        CHECK(is_past_the_line && end == PTHREAD_CANCELED);
        errno = 4321;
}

static void test_no_thread_ends_in_the_middle_of_a_line(void **state)
{
        expect_lives(cancel_a_thread);
}

static void write_a_long_line(void)
{
        static char words[5000], seen[5000];
        int ends[2];
        ssize_t got;

        memset(words, 'w', sizeof(words) - 1);
        CHECK(pipe(ends) == 0);
        dup2(ends[1], STDERR_FILENO);
        errno = 4321;
        log_tell("%s", words);
        got = read(ends[0], seen, sizeof(seen));
        CHECK(got > 500 && got < 5000 && seen[got - 1] == '\n' &&
              !memchr(seen, '\n', (size_t)got - 1));
        CHECK(!memchr(seen, '\0', (size_t)got));
}

static void test_a_long_line_is_cut_and_ended(void **state)
{
        expect_lives(write_a_long_line);
}

static int fresh_folder(void **state)
{
        strcpy(folder, "/dev/shm/aliquot-test-XXXXXX");
        assert_non_null(mkdtemp(folder));
        return 0;
}

static int drop_folder(void **state)
{
        char command[128];

        snprintf(command, sizeof(command), "rm -rf '%s'", folder);
        return system(command);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_pipe_that_nobody_reads),
                cmocka_unit_test(test_a_fifo_that_nobody_opened),
                cmocka_unit_test(test_a_limit_on_the_size_of_files),
                cmocka_unit_test(test_its_own_signals_are_left_to_the_program),
                cmocka_unit_test(test_no_thread_ends_in_the_middle_of_a_line),
                cmocka_unit_test(test_a_long_line_is_cut_and_ended),
        };

        return cmocka_run_group_tests_name("log", tests, fresh_folder, drop_folder);
}
