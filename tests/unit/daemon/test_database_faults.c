/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever happens to the daemon or its disk at whichever change of a file: afterwards the database
 * holds all of what was asked or nothing of it, and goes on.
 *
 * Each deed is done again and again, by a process of its own, and meets its fault one change of a
 * file later each time, until it gets through. The database it begins with was left in two ways:
 * closed, and by a process that was killed (a WAL is there). It is made once in each way; before
 * each deed its files are written as they were.
 */
#include "database_fixture.h"

#include <fcntl.h>
#include <sqlite3.h>

#include "daemon/database/database_schema.h"
#include "fault_vfs.h"

#define CHANGES_MAX 500u /* far more than any deed makes */

static struct error last_error; /* of the deed */

/*
 * AddressSanitizer asks for it. This process forks thousands of times, and each time the kernel
 * copies the tables of what is held back of freed memory, 256 MiB if nobody says less.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
        return "quarantine_size_mb=1:thread_local_quarantine_size_kb=64";
}

struct deed {
        const char *name;
        void (*prepare)(void); /* what is there before */
        int (*act)(struct database *database);
};

static void prepare_three(void)
{
        struct database *database = open_good();

        for (unsigned i = 0; i < 3; i++)
                save(database, i);
}

/* As the first version left it. */
static void prepare_old(void)
{
        sqlite3 *handle;

        assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
        assert_int_equal(sqlite3_exec(handle, "PRAGMA journal_mode = WAL", NULL, NULL, NULL), 0);
        assert_int_equal(schema_migrate(handle, 1), SQLITE_OK);
        sqlite3_close(handle);
        assert_int_equal(chmod(path, 0600), 0);
}

static void prepare_nothing(void)
{
}

static int nothing(struct database *database)
{
        return 0;
}

static int save_new(struct database *database)
{
        struct sessions_one session = session_of(5);
        struct database_event event = event_of("created", session.name);

        return database_save(database, &session, &event, &last_error);
}

/* Safe when the batch has ended. */
static int save_in_batch(struct database *database)
{
        int rc;

        database_begin_batch(database);
        rc = save_new(database);
        return rc < 0 ? rc : database_end_batch(database, &last_error);
}

static int save_changed(struct database *database)
{
        struct sessions_one session = session_of(2);
        struct database_event event = event_of("changed", session.name);

        session.version = 99;
        session.share_count = 1;
        session.share[0].memory_bytes = 77 * GIB;
        return database_save(database, &session, &event, &last_error);
}

/* In the stead of one that has its name. */
static int adopt(struct database *database)
{
        struct sessions_one session = session_of(1);
        struct database_event event = event_of("adopted", session.name);

        session.id[5] = 9;
        return database_adopt(database, &session, &event, &last_error);
}

static int forget(struct database *database)
{
        struct sessions_one session = session_of(1);
        struct database_event event = event_of("released", session.name);

        return database_forget(database, session.id, &event, &last_error);
}

static int tell(struct database *database)
{
        struct database_event event = event_of("gpu-gone", "");

        return database_tell(database, &event, &last_error);
}

static int trim(struct database *database)
{
        return database_trim(database, 0, 1, &last_error) < 0 ? last_error.code : 0;
}

static const struct deed deeds[] = {
        { "making it", prepare_nothing, nothing },
        { "taking it to the present version", prepare_old, nothing },
        { "opening and closing", prepare_three, nothing },
        { "saving a new one", prepare_three, save_new },
        { "saving a new one in a batch", prepare_three, save_in_batch },
        { "saving a changed one", prepare_three, save_changed },
        { "adopting one", prepare_three, adopt },
        { "forgetting one", prepare_three, forget },
        { "telling", prepare_three, tell },
        { "trimming", prepare_three, trim },
        { 0 },
};

/* The files of a database, as SQLite names them. */
static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };

#define FILES (sizeof(suffixes) / sizeof(suffixes[0]))
#define FILE_BYTES_MAX 262144u

/* What a deed begins with. */
struct start {
        void (*prepare)(void);
        bool is_killed, is_made;
        ssize_t length[FILES]; /* -1: no such file */
        char *bytes[FILES];
};

static struct start starts[] = {
        { prepare_nothing, false }, { prepare_nothing, true }, { prepare_old, false },
        { prepare_old, true },      { prepare_three, false },  { prepare_three, true },
};

static const char *file_name(unsigned i)
{
        static char name[sizeof(path) + 16];

        snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
        return name;
}

static void empty_folder(void)
{
        for (unsigned i = 0; i < FILES; i++)
                assert_true(unlink(file_name(i)) == 0 || errno == ENOENT);
}

static void keep_files(struct start *start)
{
        static char bytes[FILE_BYTES_MAX];

        for (unsigned i = 0; i < FILES; i++) {
                int fd = open(file_name(i), O_RDONLY | O_CLOEXEC);

                start->length[i] = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
                assert_true(fd < 0 ? errno == ENOENT : start->length[i] >= 0);
                assert_true(start->length[i] < (ssize_t)sizeof(bytes));
                if (fd < 0)
                        continue;
                close(fd);
                start->bytes[i] = malloc((size_t)start->length[i] + 1);
                assert_non_null(start->bytes[i]);
                memcpy(start->bytes[i], bytes, (size_t)start->length[i]);
        }
        start->is_made = true;
}

static void put_back(const struct start *start)
{
        for (unsigned i = 0; i < FILES; i++) {
                int fd;

                if (start->length[i] < 0)
                        continue;
                fd = open(file_name(i), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
                assert_true(fd >= 0);
                assert_int_equal(write(fd, start->bytes[i], (size_t)start->length[i]),
                                 start->length[i]);
                close(fd);
        }
}

/* By a child, which is killed afterwards if that is how it ends. */
static void make_start(struct start *start)
{
        pid_t child = fork();
        int status;

        if (child == 0) {
                start->prepare();
                _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        if (!start->is_killed && start->prepare != prepare_nothing)
                database_close(open_good());
        keep_files(start);
}

static void prepare(const struct deed *deed, bool is_killed)
{
        struct start *start = starts;

        while (start->prepare != deed->prepare || start->is_killed != is_killed)
                start++;
        empty_folder();
        fault_arm(FAULT_NONE, 0);
        if (start->is_made)
                put_back(start);
        else
                make_start(start);
}

/* Opens, acts, closes. */
static int carry_out(const struct deed *deed)
{
        struct database *database = NULL;
        int rc = database_open(path, true, &database, &last_error);

        if (rc == 0)
                rc = deed->act(database);
        database_close(database);
        return rc;
}

static void look(char ret[HELD_BYTES])
{
        struct database *database;

        fault_arm(FAULT_NONE, 0);
        database = open_good();
        held_by(database, ret);
        database_close(database);
}

/* What is there before and after a deed that nothing disturbs. */
static void learn(const struct deed *deed, char before[HELD_BYTES], char after[HELD_BYTES])
{
        prepare(deed, false);
        if (deed->prepare == prepare_nothing || deed->prepare == prepare_old) {
                before[0] = '\0';
        } else {
                look(before);
        }
        assert_int_equal(carry_out(deed), 0);
        look(after);
}

/* True once the deed got through. */
static bool die_at(const struct deed *deed, enum fault fault, unsigned at)
{
        pid_t child = fork();
        int status;

        if (child == 0) {
                fault_arm(fault, at);
                _exit(carry_out(deed) == 0 ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != FAULT_STATUS)
                fail_msg("%s: exit %d", deed->name, WEXITSTATUS(status));
        return WEXITSTATUS(status) == 0;
}

static void survive(const struct deed *deed, enum fault fault, bool is_killed)
{
        static char before[HELD_BYTES], after[HELD_BYTES], now[HELD_BYTES];
        bool is_through = false;
        unsigned at;

        learn(deed, before, after);
        for (at = 1; !is_through; at++) {
                assert_true(at < CHANGES_MAX);
                prepare(deed, is_killed);
                is_through = die_at(deed, fault, at);
                look(now);
                if (strcmp(now, after) != 0 && (is_through || strcmp(now, before) != 0))
                        fail_msg(
                                "%s, fault %d at change %u (%s before): now\n%sbefore\n%safter\n%s",
                                deed->name, fault, at, is_killed ? "killed" : "closed", now, before,
                                after);
        }
        assert_true(at > 2); /* it met its fault at least once */
}

/* In a child, from a start that was killed: the deed, and then the end, with this armed. How it
 * ended; or, where nothing was armed, how many changes the deed is. */
static int act_armed(const struct deed *deed, enum fault fault, unsigned at)
{
        int status = 0;
        pid_t child;

        prepare(deed, true);
        child = fork();
        if (child == 0) {
                struct database *database = open_good();

                fault_arm(fault, at);
                if (deed->act(database) < 0)
                        _exit(0);
                if (fault == FAULT_NONE)
                        _exit((int)fault_count());
                database_close(database);
                _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

/* The power goes at the first change behind the deed, which was answered for. */
static void test_what_was_answered_for_survives_a_power_cut(void **state)
{
        static char before[HELD_BYTES], after[HELD_BYTES], now[HELD_BYTES];

        for (const struct deed *deed = deeds; deed->name; deed++) {
                int changes;

                if (deed->act == nothing)
                        continue;
                learn(deed, before, after);
                changes = act_armed(deed, FAULT_NONE, 0);
                assert_in_range(changes, 1, FAULT_STATUS - 1);
                assert_int_equal(act_armed(deed, FAULT_CUT, (unsigned)changes + 1), FAULT_STATUS);
                look(now);
                if (strcmp(now, after) != 0)
                        fail_msg("%s: now\n%sexpected\n%s", deed->name, now, after);
        }
}

static void survive_all(enum fault fault)
{
        for (const struct deed *deed = deeds; deed->name; deed++) {
                survive(deed, fault, false);
                survive(deed, fault, true);
        }
}

static void test_death_at_any_change_leaves_the_old_or_the_new(void **state)
{
        survive_all(FAULT_DIE);
}

static void test_death_within_any_write_leaves_the_old_or_the_new(void **state)
{
        survive_all(FAULT_TEAR);
}

static void test_a_power_cut_leaves_the_old_or_the_new(void **state)
{
        survive_all(FAULT_CUT);
        survive_all(FAULT_CUT_SOME);
}

/* The deed fails for want of room, nothing has changed, and the same handle does it later. */
static void fill_at(const struct deed *deed, unsigned at, const char *before, const char *after)
{
        static char now[HELD_BYTES];
        struct database *database = open_good();
        int rc;

        fault_arm(FAULT_FULL, at);
        rc = deed->act(database);
        if (rc < 0) {
                assert_int_equal(rc, -ENOSPC);
                assert_non_null(strstr(last_error.text, "the disk is full"));
                assert_string_equal(held_by(database, now), before);
                /* Still full: the same again. */
                assert_int_equal(deed->act(database), -ENOSPC);
                fault_arm(FAULT_NONE, 0);
                assert_int_equal(deed->act(database), 0);
        }
        fault_arm(FAULT_NONE, 0);
        assert_string_equal(held_by(database, now), after);
        database_close(database);
        look(now);
        assert_string_equal(now, after);
}

static void test_a_full_disk_changes_nothing_and_later_all_works(void **state)
{
        static char before[HELD_BYTES], after[HELD_BYTES];
        struct database *database;

        for (const struct deed *deed = deeds + 3; deed->name; deed++) {
                unsigned changes;

                learn(deed, before, after);
                prepare(deed, false);
                database = open_good();
                fault_arm(FAULT_NONE, 0);
                assert_int_equal(deed->act(database), 0);
                changes = fault_count();
                assert_true(changes > 1);
                database_close(database);
                for (unsigned at = 1; at <= changes; at++) {
                        prepare(deed, at % 2 == 0);
                        fill_at(deed, at, before, after);
                }
        }
}

static void test_a_disk_that_is_full_from_the_start_is_told_and_harms_nothing(void **state)
{
        static char before[HELD_BYTES], now[HELD_BYTES];
        struct database *database = NULL;

        for (unsigned at = 1; at < 4; at++) {
                prepare(&deeds[3], at % 2 == 0);
                look(before);
                fault_arm(FAULT_FULL, at);
                if (database_open(path, true, &database, &last_error) == 0) {
                        assert_int_equal(save_new(database), -ENOSPC);
                        database_close(database);
                }
                look(now);
                assert_string_equal(now, before);
        }
}

/* What could not be made to last is said not to have happened, and the next attempt does it. */
static void test_a_sync_that_fails_is_told(void **state)
{
        static char now[HELD_BYTES], after[HELD_BYTES], before[HELD_BYTES];
        struct database *database;
        unsigned failures = 0;

        learn(&deeds[3], before, after);
        for (unsigned at = 1; at < 20; at++) {
                prepare(&deeds[3], false);
                database = open_good();
                fault_arm(FAULT_SYNC, at);
                if (save_new(database) < 0) {
                        failures++;
                        assert_int_equal(last_error.code, -EIO);
                        assert_string_equal(held_by(database, now), before);
                        assert_int_equal(save_new(database), 0);
                }
                fault_arm(FAULT_NONE, 0);
                assert_string_equal(held_by(database, now), after);
                database_close(database);
        }
        assert_true(failures > 0);
}

/* What was deleted and cannot be written anew, wherever that fails, is written anew when it can.
 * Says how many changes the writing made, and whether it failed. */
static unsigned rewrite_at(enum fault fault, unsigned at, const char *before, const char *after,
                           bool *ret_failed)
{
        static char now[HELD_BYTES];
        struct database *database;
        unsigned changes;

        prepare(&deeds[3], false);
        database = open_good();
        assert_int_equal(unlink(path), 0);
        fault_arm(fault, at);
        *ret_failed = database_look(database, NULL) < 0;
        changes = fault_count();
        fault_arm(FAULT_NONE, 0);
        assert_string_equal(held_by(database, now), before);
        if (save_new(database) < 0)
                fail_msg("after fault %d at change %u: %s", fault, at, last_error.text);
        assert_string_equal(held_by(database, now), after);
        database_close(database);
        look(now);
        assert_string_equal(now, after);
        return changes;
}

static void test_what_could_not_be_written_anew_is_so_later(void **state)
{
        static const enum fault faults[] = { FAULT_FULL, FAULT_SYNC };
        static char before[HELD_BYTES], after[HELD_BYTES];
        unsigned changes;
        bool has_failed;

        learn(&deeds[3], before, after);
        changes = rewrite_at(FAULT_NONE, 0, before, after, &has_failed);
        assert_false(has_failed);
        for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
                unsigned failures = 0;

                for (unsigned at = 1; at <= changes; at++) {
                        rewrite_at(faults[i], at, before, after, &has_failed);
                        failures += has_failed;
                }
                assert_true(failures > 0);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(test_death_at_any_change_leaves_the_old_or_the_new),
                story(test_death_within_any_write_leaves_the_old_or_the_new),
                story(test_a_power_cut_leaves_the_old_or_the_new),
                story(test_what_was_answered_for_survives_a_power_cut),
                story(test_a_full_disk_changes_nothing_and_later_all_works),
                story(test_a_disk_that_is_full_from_the_start_is_told_and_harms_nothing),
                story(test_a_sync_that_fails_is_told),
                story(test_what_could_not_be_written_anew_is_so_later),
        };

        fault_install();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
