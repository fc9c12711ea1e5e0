/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever is deleted, moved or replaced under an open database: what was promised is in its place
 * again before the next promise, or nothing more is promised; and a stranger's file is left alone.
 */
#include <signal.h>

#include "database_fixture.h"

static char held[HELD_BYTES], again[HELD_BYTES];

static const char *beside(const char *suffix)
{
        static char name[sizeof(path) + 128];

        snprintf(name, sizeof(name), "%s%s", path, suffix);
        return name;
}

static void run(const char *command)
{
        char line[512];

        snprintf(line, sizeof(line), "cd %s && %s", folder, command);
        assert_int_equal(system(line), 0);
}

/* Of somebody who should not have. */
static const char *const deeds[] = {
        "rm aliquot.db",
        "rm aliquot.db aliquot.db-wal",
        "rm aliquot.db-wal",
        "mv aliquot.db elsewhere",
        "mv aliquot.db elsewhere && mv aliquot.db-wal elsewhere-wal",
};
#define DEEDS (sizeof(deeds) / sizeof(deeds[0]))

static int try_save(struct database *database, unsigned number, struct error *err)
{
        struct sessions_one session = session_of(number);

        return database_save(database, &session, NULL, err);
}

/* In a process of its own, which is killed when it has done it. What was wrong; NULL: nothing. It
 * asserts nothing: that would go on in there as a second runner of these tests. */
static const char *meet(const char *deed, bool is_looking)
{
        static struct error err;
        struct database *database = NULL;
        char line[512];

        if (database_open(path, true, &database, &err) < 0 || try_save(database, 1, &err) < 0 ||
            try_save(database, 2, &err) < 0)
                return err.text;
        snprintf(line, sizeof(line), "cd %s && %s", folder, deed);
        if (system(line) != 0)
                return "it could not be done";
        if ((is_looking ? database_look(database, &err) : try_save(database, 3, &err)) < 0)
                return err.text;
        return database_trouble(database)[0] ? database_trouble(database) : NULL;
}

static void expect_held_after(const char *deed, bool is_looking)
{
        pid_t child = fork();
        struct database *database;
        int status;

        if (child == 0) {
                const char *wrong = meet(deed, is_looking);

                if (!wrong)
                        raise(SIGKILL);
                fprintf(stderr, "%s: %s\n", deed, wrong);
                _exit(1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
                fail_msg("%s: %d", deed, status);
        database = open_good();
        held_by(database, again);
        if (!strstr(again, "job-1 ") || !strstr(again, "job-2 ") ||
            (strstr(again, "job-3 ") != NULL) == is_looking)
                fail_msg("%s: %s", deed, again);
        assert_int_equal(access(beside(".anew"), F_OK), -1);
        database_close(database);
}

static void test_what_was_promised_is_there_after_a_kill(void **state)
{
        for (size_t i = 0; i < DEEDS; i++) {
                for (unsigned is_looking = 0; is_looking < 2; is_looking++) {
                        drop_folder(state);
                        fresh_folder(state);
                        expect_held_after(deeds[i], is_looking);
                }
        }
}

static void test_it_goes_on_as_one_database_again_and_again(void **state)
{
        struct database *database = open_good();
        unsigned number = 1;

        for (size_t i = 0; i < DEEDS; i++) {
                save(database, number++);
                run(deeds[i]);
                save(database, number++);
        }
        held_by(database, held);
        database_close(database);
        database = open_good();
        assert_string_equal(held_by(database, again), held); /* the numbers of events, too */
        database_close(database);
}

/* Any call that changes something may be the one that finds it gone. */
static void test_whoever_changes_something_first_writes_it_anew(void **state)
{
        struct database *database = open_good();
        struct error err = { 0 };

        for (unsigned i = 0; i < DEEDS; i++) {
                struct database_event event = event_of("gpu-gone", "");
                struct sessions_one session = session_of(i);
                char home[64];

                save(database, i);
                run(deeds[i]);
                if (database_trim(database, 1, 1, &err) != (i ? 3 : 0))
                        fail_msg("trim, %s: %s", deeds[i], err.text);
                run(deeds[i]);
                snprintf(home, sizeof(home), "/nowhere/%u", i);
                if (database_settle(database, home, &err) < 0)
                        fail_msg("settle, %s: %s", deeds[i], err.text);
                run(deeds[i]);
                if (database_tell(database, &event, &err) < 0)
                        fail_msg("tell, %s: %s", deeds[i], err.text);
                run(deeds[i]);
                if (database_forget(database, session.id, &event, &err) < 0)
                        fail_msg("forget, %s: %s", deeds[i], err.text);
                assert_string_equal(database_trouble(database), "");
        }
        held_by(database, held);
        database_close(database);
        database = open_good();
        assert_string_equal(held_by(database, again), held);
        database_close(database);
}

static void test_what_was_moved_away_is_whole_too(void **state)
{
        struct database *database = open_good();

        save(database, 1);
        held_by(database, held);
        run("mv aliquot.db elsewhere");
        save(database, 2);
        database_close(database);
        run("mv elsewhere aliquot.db");
        database = open_good();
        assert_string_equal(held_by(database, again), held);
        database_close(database);
}

static void expect_trouble(struct database *database, int code, const char *word)
{
        struct sessions_one session = session_of(7);
        struct error err = { 0 };

        assert_int_equal(database_save(database, &session, NULL, &err), code);
        if (!strstr(err.text, word))
                fail_msg("%s, expected %s", err.text, word);
        assert_string_equal(database_trouble(database), err.text);
}

static const struct stranger {
        const char *comes, *suffix, *goes;
} strangers[] = {
        { "cp aliquot.db copy && mv copy aliquot.db", "", "rm aliquot.db" },
        { "rm aliquot.db && mkdir aliquot.db", "", "rmdir aliquot.db" },
        { "rm aliquot.db && ln -s elsewhere aliquot.db", "", "rm aliquot.db" },
        { "rm aliquot.db-wal && echo theirs >aliquot.db-wal", "-wal", "rm aliquot.db-wal" },
};

static void test_a_strangers_file_in_its_place_is_left_alone_and_nothing_is_promised(void **state)
{
        struct database *database = open_good();
        struct stat before, after;

        for (unsigned i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
                save(database, i);
                held_by(database, held);
                run(strangers[i].comes);
                assert_int_equal(lstat(beside(strangers[i].suffix), &before), 0);
                expect_trouble(database, -ESTALE, "was replaced under this daemon");
                expect_trouble(database, -ESTALE, beside(strangers[i].suffix));
                assert_int_equal(lstat(beside(strangers[i].suffix), &after), 0);
                assert_memory_equal(&before.st_ino, &after.st_ino, sizeof(after.st_ino));
                assert_memory_equal(&before.st_ctim, &after.st_ctim, sizeof(after.st_ctim));
                run(strangers[i].goes);
                assert_int_equal(database_look(database, NULL), 0);
                assert_string_equal(database_trouble(database), "");
                assert_string_equal(held_by(database, again), held);
        }
        database_close(database);
        database = open_good();
        assert_string_equal(held_by(database, again), held);
        database_close(database);
}

static void test_where_its_folder_is_gone_nothing_is_promised_until_it_is_there(void **state)
{
        struct database *database = open_good();

        save(database, 1);
        run("rm -rf $PWD");
        expect_trouble(database, -ENOENT, "cannot be written anew");
        assert_int_equal(access(folder, F_OK), -1);
        assert_int_equal(mkdir(folder, 0700), 0);
        save(database, 2);
        run("rm -rf $PWD && echo >$PWD");
        expect_trouble(database, -ENOTDIR, "is not a folder");
        assert_int_equal(unlink(folder), 0);
        assert_int_equal(mkdir(folder, 0700), 0);
        save(database, 3);
        held_by(database, held);
        database_close(database);
        database = open_good();
        assert_string_equal(held_by(database, again), held);
        database_close(database);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(test_what_was_promised_is_there_after_a_kill),
                story(test_it_goes_on_as_one_database_again_and_again),
                story(test_whoever_changes_something_first_writes_it_anew),
                story(test_what_was_moved_away_is_whole_too),
                story(test_a_strangers_file_in_its_place_is_left_alone_and_nothing_is_promised),
                story(test_where_its_folder_is_gone_nothing_is_promised_until_it_is_there),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
