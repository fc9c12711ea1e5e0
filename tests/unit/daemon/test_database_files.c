/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A database is opened only where nobody else could have written it, is refused with what to do
 * where it cannot be used, and is never repaired, changed or deleted for that.
 */
#include "database_fixture.h"

#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "daemon/database/database_schema.h"

#define NOBODY 65534u

static char held[HELD_BYTES], again[HELD_BYTES];

static void make_one(void)
{
        struct database *database = open_good();

        save(database, 1);
        held_by(database, held);
        database_close(database);
}

static const char *beside(const char *suffix)
{
        static char name[sizeof(path) + 128];

        snprintf(name, sizeof(name), "%s%s", path, suffix);
        return name;
}

static void put(const char *name, const void *bytes, size_t length)
{
        int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, bytes, length), length);
        close(fd);
}

static size_t get(const char *name, char *ret, size_t bytes)
{
        int fd = open(name, O_RDONLY);
        ssize_t length;

        assert_true(fd >= 0);
        length = read(fd, ret, bytes);
        assert_true(length >= 0);
        close(fd);
        return (size_t)length;
}

static void test_it_is_made_for_its_owner_alone_with_its_folder(void **state)
{
        struct stat st;

        snprintf(path, sizeof(path), "%s/a/b/" DATABASE_FILE, folder);
        umask(0);
        make_one();
        umask(022);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        snprintf(path, sizeof(path), "%s/a/b", folder);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
}

static void test_it_is_not_made_unless_asked(void **state)
{
        struct database *database;
        struct error err;

        assert_int_equal(database_open(path, false, &database, &err), -ENOENT);
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(database_open("aliquot.db", true, &database, &err), -EINVAL);
        make_one();
        assert_int_equal(database_open(path, false, &database, &err), 0);
        database_close(database);
}

static void test_what_others_could_have_written_is_refused(void **state)
{
        make_one();
        assert_int_equal(chmod(path, 0620), 0);
        expect_refused(-EPERM, "can be written by others");
        assert_int_equal(chmod(path, 0600), 0);
        assert_int_equal(chmod(folder, 0777), 0);
        expect_refused(-EPERM, "can be written by others");
        assert_int_equal(chmod(folder, 0700), 0);
        put(beside("-wal"), "", 0);
        assert_int_equal(chmod(beside("-wal"), 0602), 0);
        expect_refused(-EPERM, "can be written by others");
        assert_int_equal(unlink(beside("-wal")), 0);
        if (geteuid() == 0) {
                assert_int_equal(chown(path, 12345, 0), 0);
                expect_refused(-EPERM, "belongs to user 12345");
                assert_int_equal(chown(path, 0, 0), 0);
                assert_int_equal(chown(folder, 12345, 0), 0);
                expect_refused(-EPERM, "belongs to user 12345");
                assert_int_equal(chown(folder, 0, 0), 0);
        }
        database_close(open_good());
}

static void test_links_and_other_things_in_its_place_are_refused(void **state)
{
        make_one();
        assert_int_equal(link(path, beside(".also")), 0);
        expect_refused(-EPERM, "is a link");
        assert_int_equal(rename(path, beside(".real")), 0);
        assert_int_equal(unlink(beside(".also")), 0);
        assert_int_equal(symlink(beside(".real"), path), 0);
        expect_refused(-EPERM, "is a link");
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkdir(path, 0700), 0);
        expect_refused(-EPERM, "no plain file");
        assert_int_equal(rmdir(path), 0);
        assert_int_equal(mkfifo(path, 0600), 0);
        expect_refused(-EPERM, "no plain file");
}

/* In a process that is not root, whom no mode stops. */
static void as_user(void (*act)(void))
{
        pid_t child;
        int status;

        if (geteuid() != 0) {
                act();
                return;
        }
        assert_int_equal(chown(folder, NOBODY, NOBODY), 0);
        assert_int_equal(chown(path, NOBODY, NOBODY), 0);
        child = fork();
        if (child == 0) {
                if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
                        _exit(2);
                act();
                _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
}

/* expect_refused() without cmocka, whose failure would not leave the child. */
static void must_be_refused(int code, const char *word)
{
        struct database *database;
        struct error err = { 0 };

        if (database_open(path, true, &database, &err) == code && strstr(err.text, word))
                return;
        fprintf(stderr, "%d, expected %d and '%s' in: %s\n", err.code, code, word, err.text);
        abort();
}

static void open_read_only(void)
{
        if (chmod(path, 0400) < 0)
                abort();
        must_be_refused(-EACCES, "--state-dir");
        if (chmod(path, 0600) < 0 || chmod(folder, 0500) < 0)
                abort();
        must_be_refused(-EACCES, "--state-dir");
        if (chmod(folder, 0700) < 0)
                abort();
}

static void open_in_closed_folder(void)
{
        if (unlink(path) < 0 || chmod(folder, 0500) < 0)
                abort();
        must_be_refused(-EACCES, "--state-dir");
        if (chmod(folder, 0000) < 0)
                abort();
        must_be_refused(-EACCES, folder);
        if (chmod(folder, 0700) < 0)
                abort();
}

static void test_a_file_or_folder_that_cannot_be_written_is_refused(void **state)
{
        make_one();
        as_user(open_read_only);
        as_user(open_in_closed_folder);
}

/* A private mount of the folder that nobody can write; 77: this machine does not let us. */
static int open_on_read_only_disk(void)
{
        struct database *database;
        struct error err = { 0 };

        if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) < 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount(folder, folder, NULL, MS_BIND, NULL) < 0 ||
            mount(NULL, folder, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0)
                return 77;
        if (database_open(path, true, &database, &err) != -EROFS)
                return 1;
        return strstr(err.text, "--state-dir") ? 0 : 2;
}

static void test_a_read_only_disk_is_told_as_such(void **state)
{
        pid_t child;
        int status;

        make_one();
        child = fork();
        if (child == 0)
                _exit(open_on_read_only_disk());
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                skip(); /* no mount namespaces here */
        assert_int_equal(status, 0);
}

/* Opens what may be damaged: refused with a line and left as it was, or read without harm. */
static void meet_damage(const char *was, size_t length, unsigned *ret_refused)
{
        static char now[1 << 20];
        struct database *database = NULL;
        struct error err = { 0 };
        struct text text;
        int rc = database_open(path, true, &database, &err);

        text_begin(&text, again, sizeof(again));
        if (rc == 0) {
                rc = database_each(database, write_session, &text, &err);
                if (rc == 0)
                        rc = database_events(database, &(struct event_query){ 0, 1000, NULL },
                                             write_event, &text, &err);
                database_close(database);
        } else {
                assert_int_equal(get(path, now, sizeof(now)), length);
                assert_memory_equal(now, was, length);
        }
        if (rc == 0)
                return;
        if (rc != -EBADMSG && rc != -EPROTO)
                fail_msg("%d: %s", rc, err.text);
        assert_null(strchr(err.text, '\n'));
        ++*ret_refused;
}

static void test_damaged_pages_are_met_without_harm(void **state)
{
        static char good[1 << 20], bad[1 << 20];
        struct database *database = open_good();
        uint32_t random = 1;
        unsigned refused = 0;
        size_t length;

        for (unsigned i = 0; i < 100; i++)
                save(database, i);
        database_close(database);
        length = get(path, good, sizeof(good));
        assert_true(length > 4096 * 4 && length < sizeof(good));
        for (unsigned i = 0; i < 400; i++) {
                size_t at, bytes;

                random = random * 1664525 + 1013904223;
                at = (random >> 8) % length;
                if (i < 100)
                        at = i; /* every byte of the header */
                bytes = i % 3 == 0 ? 1 : i % 3 == 1 ? 64 : 4096;
                bytes = at + bytes > length ? length - at : bytes;
                memcpy(bad, good, length);
                memset(bad + at, (int)(random >> 24), bytes);
                unlink(beside("-wal"));
                put(path, bad, length);
                meet_damage(bad, length, &refused);
        }
        assert_true(refused > 100);
}

/* The start is the time to say it, not the day on which somebody asks for that page. */
static void test_damage_where_the_start_does_not_read_is_told_at_the_start(void **state)
{
        static char good[1 << 20];
        sqlite3 *handle;
        int page = 0;
        size_t length;

        make_one();
        assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
        assert_int_equal(schema_number(handle,
                                       "SELECT rootpage FROM sqlite_schema"
                                       " WHERE name = 'event_session'",
                                       &page),
                         SQLITE_OK);
        sqlite3_close(handle);
        assert_true(page > 1);
        length = get(path, good, sizeof(good));
        memset(good + (size_t)(page - 1) * 4096, 0xff, 4096);
        put(path, good, length);
        expect_refused(-EBADMSG, "it is damaged");
}

static void test_a_file_that_is_cut_short_or_is_no_database_is_refused(void **state)
{
        static char good[1 << 20];
        unsigned refused = 0;
        size_t length;

        make_one();
        length = get(path, good, sizeof(good));
        for (size_t cut = 2; cut < length; cut += 1777) {
                put(path, good, cut);
                meet_damage(good, cut, &refused);
                assert_true(refused > 0);
        }
        put(path, "this is a text\n", 15);
        expect_refused(-EBADMSG, "--reset-database");
}

/* `path` is aside, nothing is left of it, and what was put aside can be opened as it was. */
static void expect_aside(const char *aside)
{
        char original[sizeof(path)];
        struct database *database;

        assert_int_equal(strncmp(aside, path, strlen(path)), 0);
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(access(beside("-wal"), F_OK), -1);
        memcpy(original, path, sizeof(path));
        snprintf(path, sizeof(path), "%s", aside);
        database = open_good();
        assert_string_equal(held_by(database, again), held);
        database_close(database);
        memcpy(path, original, sizeof(path));
}

/* A database whose last changes are in its WAL only, as a daemon leaves it that is killed. */
static void make_killed(void)
{
        pid_t child = fork();
        int status;

        if (child == 0) {
                struct database *database = open_good();

                save(database, 1);
                save(database, 2);
                _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(access(beside("-wal"), F_OK), 0);
}

static void test_put_aside_it_is_whole_and_a_new_one_takes_its_place(void **state)
{
        char aside[DATABASE_PATH_BYTES], second[DATABASE_PATH_BYTES];
        struct database *database;

        make_one();
        assert_int_equal(database_put_aside(path, aside, NULL), 0);
        expect_aside(aside);
        database = open_good();
        assert_string_equal(held_by(database, again), "");
        database_close(database);
        assert_int_equal(database_put_aside(path, second, NULL), 0);
        assert_string_not_equal(second, aside); /* however soon */
        assert_int_equal(database_put_aside(path, second, NULL), 0);
        assert_string_equal(second, "");
}

static void test_put_aside_its_last_changes_go_along(void **state)
{
        char aside[DATABASE_PATH_BYTES];
        struct database *database;

        make_killed();
        database = open_good();
        held_by(database, held);
        assert_non_null(strstr(held, "job-2"));
        database_close(database);
        assert_int_equal(unlink(path), 0);
        make_killed();
        assert_int_equal(database_put_aside(path, aside, NULL), 0);
        expect_aside(aside);
}

/* The libc's own, but that the process dies just before its N-th. */
static unsigned death_at;

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
        if (death_at && --death_at == 0)
                _exit(99);
        return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

/* Puts aside, and dies before the N-th rename. True if it got through. */
static bool put_aside_until(unsigned at)
{
        char aside[DATABASE_PATH_BYTES];
        pid_t child = fork();
        int status;

        if (child == 0) {
                death_at = at;
                _exit(database_put_aside(path, aside, NULL) == 0 ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 99);
        return WEXITSTATUS(status) == 0;
}

static unsigned files_that_match(const char *pattern)
{
        glob_t found;
        unsigned matches;

        assert_true(glob(beside(pattern), 0, NULL, &found) == 0 || found.gl_pathc == 0);
        matches = (unsigned)found.gl_pathc;
        globfree(&found);
        return matches;
}

static void test_putting_aside_that_was_killed_is_finished_and_loses_nothing(void **state)
{
        char aside[DATABASE_PATH_BYTES];
        bool is_through = false;

        for (unsigned at = 1; !is_through; at++) {
                drop_folder(state);
                fresh_folder(state);
                make_killed();
                is_through = put_aside_until(at);
                /* Never a database without its last changes where one looks for it. */
                if (access(path, F_OK) == 0)
                        assert_int_equal(access(beside("-wal"), F_OK), 0);
                else if (access(beside("-wal"), F_OK) == 0)
                        expect_refused(-EBADMSG, "is missing, but not its -wal");
                assert_int_equal(database_put_aside(path, aside, NULL), 0);
                assert_int_equal(
                        files_that_match(".aside-*Z") + files_that_match(".aside-*Z-[0-9]"), 1);
                assert_int_equal(files_that_match(".aside-*-wal"), 1);
                database_close(open_good());
                assert_true(at < 10);
        }
}

static void test_what_is_in_use_is_not_put_aside(void **state)
{
        char aside[DATABASE_PATH_BYTES] = "untouched";
        struct database *database = open_good();
        pid_t child;
        int status;

        save(database, 1);
        child = fork();
        if (child == 0) {
                struct error err = { 0 };

                _exit(database_put_aside(path, aside, &err) == -EBUSY &&
                                      strstr(err.text, "in use by process")
                              ? 0
                              : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_int_equal(access(path, F_OK), 0);
        database_close(database);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(test_it_is_made_for_its_owner_alone_with_its_folder),
                story(test_it_is_not_made_unless_asked),
                story(test_what_others_could_have_written_is_refused),
                story(test_links_and_other_things_in_its_place_are_refused),
                story(test_a_file_or_folder_that_cannot_be_written_is_refused),
                story(test_a_read_only_disk_is_told_as_such),
                story(test_damaged_pages_are_met_without_harm),
                story(test_damage_where_the_start_does_not_read_is_told_at_the_start),
                story(test_a_file_that_is_cut_short_or_is_no_database_is_refused),
                story(test_put_aside_it_is_whole_and_a_new_one_takes_its_place),
                story(test_put_aside_its_last_changes_go_along),
                story(test_putting_aside_that_was_killed_is_finished_and_loses_nothing),
                story(test_what_is_in_use_is_not_put_aside),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
