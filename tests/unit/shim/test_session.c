/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process finds its session once, shares it with its equals, and fails closed with one line.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "shim/charge.h"
#include "store/store.h"

#include "session_fixture.h"

static int cannot_tell(struct session_gpu *ret, size_t max)
{
        return -1;
}

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

/* Broken, with exactly one line that holds this word. */
static void expect_broken(const struct answer *answer, const char *word)
{
        assert_int_equal(answer->state, SESSION_BROKEN);
        if (!strstr(answer->lines, word) || strncmp(answer->lines, "aliquot: ", 9) != 0)
                fail_msg("expected '%s' in: %s", word, answer->lines);
        assert_ptr_equal(strchr(answer->lines, '\n'), answer->lines + strlen(answer->lines) - 1);
        assert_non_null(strstr(answer->lines, "; GPU calls are refused\n"));
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

/* Memory too, also where nobody asked which GPU it is of. */
static void refused_everywhere(void)
{
        struct charge charge;

        session_start(two_gpus);
        CHECK(!charge_begin(&charge, 0, 1));
        CHECK(!charge_begin(&charge, CHARGE_NO_DEVICE, 1));
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
                story(test_a_session_that_is_removed),
                story(test_the_log_goes_where_it_was_sent),
        };

        return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
