/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `aliquot top` says of the changes that it has others make, and whom it signals.
 */
#include "cli/top/act.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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

/* -- Signals ---------------------------------------------------------------------------------- */

#define FOLDER_BYTES 250
#define FOLDERS 20

static char slots_folder[] = "/tmp/aliquot-test-slots-XXXXXX";

static void slots_path(char ret[64])
{
        snprintf(ret, 64, "%s/slots", slots_folder);
}

static bool map(const char *path)
{
        int fd = open(path, O_RDWR | O_CREAT, 0600);

        return fd >= 0 && ftruncate(fd, 4096) == 0 &&
               mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED;
}

static bool map_slots(void)
{
        char path[64];

        slots_path(path);
        return map(path);
}

static bool map_nothing(void)
{
        return true;
}

/* Another file of the name, below folders whose names say the number of the session's again and
 * again; their path is longer than any other. They go at once. */
static bool map_far_below(void)
{
        char path[64], number[32], name[FOLDER_BYTES + 1];
        struct stat st;
        bool is_well;

        slots_path(path);
        is_well = stat(path, &st) == 0 && chdir(slots_folder) == 0;
        snprintf(number, sizeof(number), "%llu ", (unsigned long long)st.st_ino);
        for (size_t i = 0; i < FOLDER_BYTES; i++)
                name[i] = number[i % strlen(number)];
        name[FOLDER_BYTES] = '\0';
        for (unsigned i = 0; i < FOLDERS; i++)
                is_well = is_well && mkdir(name, 0700) == 0 && chdir(name) == 0;
        is_well = is_well && map("slots") && unlink("slots") == 0;
        for (unsigned i = 0; i < FOLDERS; i++)
                is_well = is_well && chdir("..") == 0 && rmdir(name) == 0;
        return is_well;
}

/* A program that has mapped a file and waits, and what it says of itself. */
static pid_t begin(bool (*map_file)(void), struct usage_process *ret)
{
        struct page_slot slot = { 0 };
        int said[2];
        pid_t pid;

        assert_int_equal(pipe(said), 0);
        pid = fork();
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                usage_describe_self(&slot);
                if (!map_file() || write(said[1], &slot, sizeof(slot)) != sizeof(slot))
                        _exit(1);
                for (;;)
                        pause();
        }
        close(said[1]); /* a child that ends without a word is told by that */
        assert_int_equal(read(said[0], &slot, sizeof(slot)), sizeof(slot));
        close(said[0]);
        *ret = (struct usage_process){ .pid = slot.pid, .start_ticks = slot.start_ticks };
        return pid;
}

static bool has_signalled(struct snapshot_process *target, char ret_message[KEYS_LINE_BYTES])
{
        struct keys keys = {
                .session = "s", .signal = SIGTERM, .target = target, .target_count = 1
        };
        struct stat st;
        char path[64];

        slots_path(path);
        assert_int_equal(stat(path, &st), 0);
        keys.slots = (struct maps_file){ st.st_dev, st.st_ino };
        return act_signal(&keys, ret_message);
}

/* What ended it: our SIGKILL, if nothing did before. */
static int end_of(pid_t pid)
{
        int status;

        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        return WTERMSIG(status);
}

static int make_slots(void **state)
{
        char path[64];
        int fd;

        if (!mkdtemp(slots_folder))
                return -1;
        slots_path(path);
        fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
        return fd < 0 || ftruncate(fd, 4096) < 0 ? -1 : close(fd);
}

static int drop_slots(void **state)
{
        char path[64];

        slots_path(path);
        return unlink(path) < 0 ? -1 : rmdir(slots_folder);
}

/* Under an emulator, a program reads a made-up time of its own start, not the kernel's. */
static void need_start_times(void)
{
        if (getenv("ALIQUOT_EMULATOR"))
                skip();
}

static void a_signal_goes_to_a_process_of_the_session(void **state)
{
        struct snapshot_process target = { 0 };
        char message[KEYS_LINE_BYTES];
        int status;

        need_start_times();
        target.pid = (uint32_t)begin(map_slots, &target.said);
        assert_true(has_signalled(&target, message));
        assert_string_equal(message, "SIGTERM sent to 1 process of s");
        assert_int_equal(waitpid((pid_t)target.pid, &status, 0), target.pid);
        assert_int_equal(WTERMSIG(status), SIGTERM);
}

/* Whoever writes the session's page may name any process there. */
static void a_signal_goes_to_nobody_who_is_not_in_the_session(void **state)
{
        struct snapshot_process target = { 0 };
        char message[KEYS_LINE_BYTES];

        need_start_times();
        target.pid = (uint32_t)begin(map_nothing, &target.said);
        assert_false(has_signalled(&target, message));
        assert_non_null(strstr(message, "it is not ours to end"));
        assert_int_equal(end_of((pid_t)target.pid), SIGKILL);
}

/* Who reads the line in parts finds the session's file in a later one, wherever that begins. */
static void a_signal_goes_to_nobody_whose_files_have_long_names(void **state)
{
        struct snapshot_process target = { 0 };
        char message[KEYS_LINE_BYTES];

        need_start_times();
        target.pid = (uint32_t)begin(map_far_below, &target.said);
        assert_false(has_signalled(&target, message));
        assert_non_null(strstr(message, "it is not ours to end"));
        assert_int_equal(end_of((pid_t)target.pid), SIGKILL);
}

static void a_signal_goes_to_nobody_who_has_the_pid_of_the_dead(void **state)
{
        struct snapshot_process target = { 0 };
        char message[KEYS_LINE_BYTES];

        target.pid = (uint32_t)begin(map_slots, &target.said);
        target.said.start_ticks--;
        assert_true(has_signalled(&target, message));
        assert_string_equal(message, "SIGTERM sent to 0 of s; 1 had ended");
        assert_int_equal(end_of((pid_t)target.pid), SIGKILL);
}

int main(void)
{
        static const struct CMUnitTest stories[] = {
                cmocka_unit_test(what_is_set_is_said_when_it_begins_and_when_it_ends),
                cmocka_unit_test(what_is_refused_is_said_in_its_own_words),
                cmocka_unit_test(a_refusal_is_said_though_another_was_typed_meanwhile),
        };
        static const struct CMUnitTest signals[] = {
                cmocka_unit_test(a_signal_goes_to_a_process_of_the_session),
                cmocka_unit_test(a_signal_goes_to_nobody_who_is_not_in_the_session),
                cmocka_unit_test(a_signal_goes_to_nobody_whose_files_have_long_names),
                cmocka_unit_test(a_signal_goes_to_nobody_who_has_the_pid_of_the_dead),
        };
        int failed = cmocka_run_group_tests(stories, write_program, drop_program);

        return failed + cmocka_run_group_tests(signals, make_slots, drop_slots);
}
