/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process finds its session once, shares it with its equals, and fails closed with one line.
 *
 * Each story is a process of its own, since a process finds out only once.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomic.h"
#include "shim/charge.h"
#include "shim/session.h"
#include "store/store.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)
#define HANG_SECONDS 30
#define THREADS 16
#define PROCESSES 16

static char folder[64];
static char folder_variable[96];

/* What a story's process had to say. */
struct answer {
        int state;
        int calls_of_lister;
        uint64_t session_id[2];
        uint64_t limit_bytes[2];
        char lines[1024]; /* on its standard error */
        char error[512];
};

static _Atomic int lister_calls;

static int two_gpus(struct session_gpu *ret, size_t max)
{
        add_relaxed(&lister_calls, 1);
        ret[0] = (struct session_gpu){ .uuid = { 0xaa, 1 }, .card_bytes = 16 * GIB };
        ret[1] = (struct session_gpu){ .uuid = { 0xbb, 2 }, .card_bytes = 16 * GIB };
        return 2;
}

static int cannot_tell(struct session_gpu *ret, size_t max)
{
        return -1;
}

static void describe(struct answer *answer)
{
        answer->state = session_state();
        answer->calls_of_lister = lister_calls;
        snprintf(answer->error, sizeof(answer->error), "%s", session_error());
        if (!session_limits())
                return;
        memcpy(answer->session_id, session_limits()->session_id, 16);
        for (unsigned i = 0; i < 2; i++)
                answer->limit_bytes[i] = session_limits()->device[i].limit_bytes;
}

static void check(bool is_true, int line)
{
        if (!is_true) {
                dprintf(STDERR_FILENO, "check in line %d failed\n", line);
                _exit(99);
        }
}
#define CHECK(condition) check(condition, __LINE__)

static void just_start(void)
{
        unsigned before = 0, after = 0;

        for (int fd = 0; fd < 1024; fd++)
                before += fcntl(fd, F_GETFD) >= 0;
        errno = 4321;
        session_start(two_gpus);
        CHECK(errno == 4321);
        for (int fd = 0; fd < 1024; fd++)
                after += fcntl(fd, F_GETFD) >= 0;
        CHECK(before == after);
        session_start(two_gpus);
}

/* Runs `story` in a process with this environment. */
static struct answer run(void (*story)(void), char *const *environment)
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

/* Broken, with exactly one line that holds this word. */
static void expect_broken(const struct answer *answer, const char *word)
{
        assert_int_equal(answer->state, SESSION_BROKEN);
        if (!strstr(answer->lines, word) || strncmp(answer->lines, "aliquot: ", 9) != 0)
                fail_msg("expected '%s' in: %s", word, answer->lines);
        assert_ptr_equal(strchr(answer->lines, '\n'), answer->lines + strlen(answer->lines) - 1);
        assert_non_null(strstr(answer->lines, answer->error));
        assert_true(answer->error[0]);
}

static void test_nothing_asked(void **state)
{
        struct answer answer = run_with(just_start, "PATH=/bin");

        assert_int_equal(answer.state, SESSION_NONE);
        assert_int_equal(answer.calls_of_lister, 0);
        assert_string_equal(answer.lines, "");
        assert_int_equal(access(strchr(folder_variable, '/'), F_OK), 0);
}

static void test_equal_settings_share(void **state)
{
        struct answer first = run_with(just_start, "ALIQUOT_MEMORY=4GiB,1=50%");
        struct answer second = run_with(just_start, "ALIQUOT_MEMORY=1=50.0%,4096MiB");
        struct answer third = run_with(just_start, "ALIQUOT_MEMORY=5GiB");

        assert_int_equal(first.state, SESSION_ACTIVE);
        assert_string_equal(first.lines, "");
        assert_int_equal(first.limit_bytes[0], 4 * GIB);
        assert_int_equal(first.limit_bytes[1], 8 * GIB);
        assert_int_equal(first.calls_of_lister, 1);
        assert_int_equal(second.state, SESSION_ACTIVE);
        assert_memory_equal(second.session_id, first.session_id, 16);
        /* Who joins need not ask the driver. */
        assert_int_equal(second.calls_of_lister, 0);
        assert_int_equal(third.state, SESSION_ACTIVE);
        assert_memory_not_equal(third.session_id, first.session_id, 16);
}

static void test_a_name_is_joined_or_refused(void **state)
{
        struct answer answer = run_with(just_start, "ALIQUOT_SESSION=s");

        /* Nobody made it, and nothing says how: never unlimited. */
        expect_broken(&answer, "ALIQUOT_SESSION=s: there is no such session");
        answer = run_with(just_start, "ALIQUOT_SESSION=s", "ALIQUOT_MEMORY=0=4GiB");
        assert_int_equal(answer.state, SESSION_ACTIVE);
        answer = run_with(just_start, "ALIQUOT_SESSION=s");
        assert_int_equal(answer.state, SESSION_ACTIVE);
        assert_int_equal(answer.limit_bytes[0], 4 * GIB);
        /* The same GPU by its other name. */
        answer = run_with(just_start, "ALIQUOT_SESSION=s", "ALIQUOT_MEMORY=GPU-aa=4GiB");
        assert_int_equal(answer.state, SESSION_ACTIVE);
        answer = run_with(just_start, "ALIQUOT_SESSION=s", "ALIQUOT_MEMORY=0=5GiB");
        expect_broken(&answer, "other limits");
        answer = run_with(just_start, "ALIQUOT_SESSION=s", "ALIQUOT_MEMORY=0=4GiB",
                          "ALIQUOT_CONTEXT=free");
        expect_broken(&answer, "other limits");
}

static void refused_everywhere(void)
{
        session_start(two_gpus);
        CHECK(session_device((const uint8_t[16]){ 0xaa, 1 }, 16 * GIB) == SESSION_NO_ROW);
        CHECK(!session_limits() && !session_slots() && !session_slots_file());
}

static void test_what_cannot_be_enforced_fails_closed(void **state)
{
        struct answer answer = run_with(refused_everywhere, "ALIQUOT_MEMORY=lots");

        expect_broken(&answer, "ALIQUOT_MEMORY=lots");
        answer = run_with(refused_everywhere, "ALIQUOT_MEMORY=");
        expect_broken(&answer, "is empty");
        answer = run_with(refused_everywhere, "ALIQUOT_MEMORY=17GiB");
        expect_broken(&answer, "more than the card has");
        answer = run_with(refused_everywhere, "ALIQUOT_MEMORY=7=1GiB");
        expect_broken(&answer, "there is no GPU '7'");
        answer = run_with(refused_everywhere, "ALIQUOT_MEMROY=4GiB");
        expect_broken(&answer, "did you mean ALIQUOT_MEMORY");
        answer = run_with(refused_everywhere, "ALIQUOT_COMPUTE=101");
        expect_broken(&answer, "0.1 to 100");
        answer = run_with(refused_everywhere, "ALIQUOT_MEMORY=1GiB",
                          "ALIQUOT_RUNTIME_DIR=/proc/nowhere");
        expect_broken(&answer, "/proc/nowhere");
        answer = run_with(refused_everywhere, "ALIQUOT_GPU=1");
        expect_broken(&answer, "CUDA_VISIBLE_DEVICES");
        answer = run_with(just_start, "ALIQUOT_GPU=1", "CUDA_VISIBLE_DEVICES=1");
        assert_int_equal(answer.state, SESSION_NONE);
}

/* The files of a session do not fit; the program lives to be told so. */
static void start_with_small_files(void)
{
        const struct rlimit small = { 4096, 4096 };

        CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
        signal(SIGXFSZ, SIG_DFL);
        refused_everywhere();
}

static void test_a_limit_on_the_size_of_files(void **state)
{
        struct answer answer = run_with(start_with_small_files, "ALIQUOT_MEMORY=1GiB");

        expect_broken(&answer, "File too large");
}

static void refused_row(void)
{
        session_start(two_gpus);
        errno = 4321;
        CHECK(session_device((const uint8_t[16]){ 0 }, 16 * GIB) == SESSION_NO_ROW);
        CHECK(errno == 4321);
}

/* Also where standard error is closed, and the line cannot be written. */
static void refused_row_untold(void)
{
        close(STDERR_FILENO);
        refused_row();
}

static void test_a_refused_gpu_leaves_errno(void **state)
{
        struct answer answer = run_with(refused_row, "ALIQUOT_MEMORY=1GiB");

        assert_non_null(strstr(answer.lines, "a GPU without a UUID"));
        answer = run_with(refused_row_untold, "ALIQUOT_MEMORY=1GiB");
        assert_string_equal(answer.lines, "");
}

static void start_blind(void)
{
        session_start(cannot_tell);
        if (session_state() != SESSION_ACTIVE)
                return;
        CHECK(session_device((const uint8_t[16]){ 0xcc }, 16 * GIB) == 0);
        CHECK(session_device((const uint8_t[16]){ 0xcc }, 16 * GIB) == 0);
        CHECK(session_limits()->device[0].limit_bytes == 4 * GIB);
        CHECK(session_device((const uint8_t[16]){ 0xdd }, 2 * GIB) == SESSION_NO_ROW);
        CHECK(session_device((const uint8_t[16]){ 0xdd }, 2 * GIB) == SESSION_NO_ROW);
}

static void test_a_driver_that_cannot_tell_its_gpus(void **state)
{
        struct answer answer = run_with(start_blind, "ALIQUOT_MEMORY=4GiB");

        /* One limit for all is kept; that a card is too small for it is said once. */
        assert_int_equal(answer.state, SESSION_ACTIVE);
        assert_non_null(strstr(answer.lines, "more than the card has"));
        assert_ptr_equal(strchr(answer.lines, '\n'), strrchr(answer.lines, '\n'));
        answer = run_with(start_blind, "ALIQUOT_MEMORY=0=4GiB");
        expect_broken(&answer, "could not be told");
}

static void *start_and_look(void *unused)
{
        return (void *)(uintptr_t)session_start(two_gpus);
}

static void start_from_many_threads(void)
{
        pthread_t threads[THREADS];
        void *seen;

        for (int i = 0; i < THREADS; i++)
                CHECK(pthread_create(&threads[i], NULL, start_and_look, NULL) == 0);
        for (int i = 0; i < THREADS; i++) {
                CHECK(pthread_join(threads[i], &seen) == 0);
                CHECK((uintptr_t)seen == SESSION_ACTIVE);
        }
}

static void test_many_threads_come_first(void **state)
{
        struct answer answer = run_with(start_from_many_threads, "ALIQUOT_MEMORY=4GiB");

        assert_int_equal(answer.state, SESSION_ACTIVE);
        assert_int_equal(answer.calls_of_lister, 1);
}

static int gate[2];

/* Stays in the driver until it is let go. */
static int slow_lister(struct session_gpu *ret, size_t max)
{
        char go;

        CHECK(write(gate[1], "x", 1) == 1);
        CHECK(read(gate[0], &go, 1) == 1);
        return two_gpus(ret, max);
}

static void *start_slowly(void *unused)
{
        session_start(slow_lister);
        return NULL;
}

static void fork_while_a_thread_finds_out(void)
{
        int there[2], back[2], status;
        pthread_t thread;
        char go;
        pid_t child;

        CHECK(pipe(there) == 0 && pipe(back) == 0);
        gate[0] = back[0];
        gate[1] = there[1];
        CHECK(pthread_create(&thread, NULL, start_slowly, NULL) == 0);
        CHECK(read(there[0], &go, 1) == 1);
        child = fork();
        if (child == 0) {
                alarm(HANG_SECONDS);
                _exit(session_start(two_gpus) != SESSION_ACTIVE);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        CHECK(write(back[1], "x", 1) == 1);
        pthread_join(thread, NULL);
}

/* The thread that was finding out does not exist in the child. */
static void test_a_child_does_not_wait_for_a_thread_that_it_lacks(void **state)
{
        struct answer answer = run_with(fork_while_a_thread_finds_out, "ALIQUOT_MEMORY=4GiB");

        assert_int_equal(answer.state, SESSION_ACTIVE);
}

static int nosy_lister(struct session_gpu *ret, size_t max)
{
        /* As when the driver, asked by us, calls an entry of ours. */
        CHECK(session_start(two_gpus) == SESSION_UNKNOWN);
        CHECK(session_device((const uint8_t[16]){ 0xaa }, GIB) == CHARGE_NO_DEVICE);
        return two_gpus(ret, max);
}

static void start_nosily(void)
{
        CHECK(session_start(nosy_lister) == SESSION_ACTIVE);
}

static void test_a_call_from_inside_is_passed_on(void **state)
{
        struct answer answer = run_with(start_nosily, "ALIQUOT_MEMORY=4GiB");

        assert_int_equal(answer.state, SESSION_ACTIVE);
}

static void start_many_processes(void)
{
        int out[2];

        CHECK(pipe(out) == 0);
        for (int i = 0; i < PROCESSES; i++) {
                if (fork() == 0) {
                        if (session_start(two_gpus) != SESSION_ACTIVE)
                                _exit(1);
                        _exit(write(out[1], session_limits()->session_id, 16) != 16);
                }
        }
        CHECK(session_start(two_gpus) == SESSION_ACTIVE);
        for (int i = 0; i < PROCESSES; i++) {
                uint64_t id[2];
                int status;

                CHECK(wait(&status) > 0 && status == 0);
                CHECK(read(out[0], id, 16) == 16);
                CHECK(memcmp(id, session_limits()->session_id, 16) == 0);
        }
}

static void test_many_processes_come_first(void **state)
{
        struct answer answer = run_with(start_many_processes, "ALIQUOT_MEMORY=3GiB");

        assert_int_equal(answer.state, SESSION_ACTIVE);
}

static int remove_session(void)
{
        struct store store;

        CHECK(store_find(&store, folder, false, NULL) == 0);
        return store_remove(&store, session_limits()->name, false, NULL);
}

/* A remover has looked at the locks and is about to delete the files. */
static void charge_during_removal(void)
{
        struct store_session owner;
        struct charge charge;
        struct store store;

        CHECK(session_start(two_gpus) == SESSION_ACTIVE);
        CHECK(store_find(&store, folder, false, NULL) == 0);
        CHECK(store_join(&store, session_limits()->name, true, &owner, NULL) == 0);
        owner.limits->removed = 1;
        CHECK(!charge_begin(&charge, 0, 1));
}

static void charge_after_removal(void)
{
        struct charge charge;

        CHECK(session_start(two_gpus) == SESSION_ACTIVE);
        CHECK(remove_session() == 0);
        CHECK(!charge_begin(&charge, 0, 1));
        CHECK(!charge_begin(&charge, 0, 1));
}

static void charge_before_removal(void)
{
        struct charge charge;

        CHECK(session_start(two_gpus) == SESSION_ACTIVE);
        CHECK(charge_begin(&charge, 0, GIB));
        CHECK(remove_session() == -EBUSY);
        CHECK(charge_begin(&charge, 0, GIB));
}

/* Nothing is charged where nobody else could see it; who is in use stays. */
static void test_a_session_that_is_removed(void **state)
{
        run_with(charge_after_removal, "ALIQUOT_MEMORY=4GiB");
        run_with(charge_during_removal, "ALIQUOT_MEMORY=3GiB");
        run_with(charge_before_removal, "ALIQUOT_MEMORY=4GiB");
}

static void test_the_log_goes_where_it_was_sent(void **state)
{
        char variable[128], text[2048] = "";
        struct answer answer;
        FILE *file;

        snprintf(variable, sizeof(variable), "ALIQUOT_LOG_FILE=%s/log", folder);
        answer = run_with(just_start, "ALIQUOT_MEMORY=4GiB", variable);
        assert_string_equal(answer.lines, "");
        file = fopen(strchr(variable, '/'), "r");
        assert_non_null(file);
        assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
        fclose(file);
        assert_non_null(strstr(text, "made as memory=4294967296"));
}

static int fresh_folder(void **state)
{
        strcpy(folder, "/dev/shm/aliquot-test-XXXXXX");
        assert_non_null(mkdtemp(folder));
        snprintf(folder_variable, sizeof(folder_variable), "ALIQUOT_RUNTIME_DIR=%s", folder);
        return 0;
}

static int drop_folder(void **state)
{
        char command[128];

        snprintf(command, sizeof(command), "rm -rf '%s'", folder);
        return system(command);
}

#define story(test) cmocka_unit_test_setup_teardown(test, fresh_folder, drop_folder)

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(test_nothing_asked),
                story(test_equal_settings_share),
                story(test_a_name_is_joined_or_refused),
                story(test_what_cannot_be_enforced_fails_closed),
                story(test_a_limit_on_the_size_of_files),
                story(test_a_refused_gpu_leaves_errno),
                story(test_a_driver_that_cannot_tell_its_gpus),
                story(test_many_threads_come_first),
                story(test_a_child_does_not_wait_for_a_thread_that_it_lacks),
                story(test_a_call_from_inside_is_passed_on),
                story(test_many_processes_come_first),
                story(test_a_session_that_is_removed),
                story(test_the_log_goes_where_it_was_sent),
        };

        return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
