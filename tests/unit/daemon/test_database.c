/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was saved is there again, whole and in order; what makes no sense is neither saved nor
 * believed.
 */
#include "database_fixture.h"

#include <sqlite3.h>

#include "daemon/database/database_schema.h"

static char held[HELD_BYTES], again[HELD_BYTES];

/* Somebody edits the file. Checks of our tables do not stop them. */
static void edit(const char *sql)
{
        sqlite3 *handle;
        char *said = NULL;

        assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
        if (sqlite3_exec(handle, "PRAGMA ignore_check_constraints = ON", NULL, NULL, NULL) ||
            sqlite3_exec(handle, sql, NULL, NULL, &said))
                fail_msg("%s: %s", sql, said);
        sqlite3_close(handle);
}

static int stop(const struct sessions_one *session, void *context)
{
        return -ECANCELED;
}

static int count(const struct sessions_one *session, void *context)
{
        ++*(unsigned *)context;
        return 0;
}

static void test_every_field_of_a_session_comes_back(void **state)
{
        struct database *database = open_good();
        char expected[HELD_BYTES];
        struct text text;

        text_begin(&text, expected, sizeof(expected));
        for (unsigned i = 0; i < 6; i++) {
                struct sessions_one session = session_of(i);

                assert_int_equal(database_save(database, &session, NULL, NULL), 0);
                write_session(&session, &text);
        }
        assert_string_equal(held_by(database, held), expected);
        database_close(database);
        database = open_good();
        assert_string_equal(held_by(database, held), expected);
        assert_int_equal(database_each(database, stop, NULL, NULL), -ECANCELED);
        database_close(database);
}

static void test_saving_again_replaces_and_forgetting_removes_with_all_shares(void **state)
{
        struct database *database = open_good();
        struct sessions_one session = session_of(2); /* three shares */
        struct text text;

        assert_int_equal(database_save(database, &session, NULL, NULL), 0);
        session.share_count = 1;
        session.share[0].memory_bytes = 1;
        session.owner_uid = 0;
        snprintf(session.name, sizeof(session.name), "renamed");
        session.labels[0] = '\0';
        assert_int_equal(database_save(database, &session, NULL, NULL), 0);
        text_begin(&text, again, sizeof(again));
        write_session(&session, &text);
        assert_string_equal(held_by(database, held), again);
        assert_int_equal(database_forget(database, session.id, NULL, NULL), 0);
        assert_string_equal(held_by(database, held), "");
        /* The same again is as good: who carries actions out may have to repeat them. */
        assert_int_equal(database_forget(database, session.id, NULL, NULL), 0);
        database_close(database);
        sqlite3 *handle;
        int shares = -1;
        assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
        assert_int_equal(schema_number(handle, "SELECT count(*) FROM share", &shares), SQLITE_OK);
        assert_int_equal(shares, 0);
        sqlite3_close(handle);
}

static void test_a_name_is_one_sessions_only(void **state)
{
        struct database *database = open_good();
        struct sessions_one session = session_of(1);
        struct error err = { 0 };

        save(database, 1);
        held_by(database, held);
        session.id[5] = 9;
        assert_int_equal(database_save(database, &session, NULL, &err), -EEXIST);
        assert_non_null(strstr(err.text, "another session has that name"));
        assert_string_equal(held_by(database, again), held);
        database_close(database);
}

static void test_who_is_adopted_has_its_name_from_whoever_had_it(void **state)
{
        struct database *database = open_good();
        struct sessions_one session = session_of(1);
        struct text text;

        assert_int_equal(database_save(database, &session, NULL, NULL), 0);
        session.id[5] = 9;
        assert_int_equal(database_adopt(database, &session, NULL, NULL), 0);
        text_begin(&text, again, sizeof(again));
        write_session(&session, &text);
        assert_string_equal(held_by(database, held), again);
        assert_int_equal(database_adopt(database, &session, NULL, NULL), 0);
        assert_string_equal(held_by(database, held), again);
        database_close(database);
}

static void expect_unsaved(struct database *database, const struct sessions_one *session,
                           const char *word)
{
        struct error err = { 0 };

        if (database_save(database, session, NULL, &err) != -EINVAL || !strstr(err.text, word))
                fail_msg("expected '%s' in: %s", word, err.text);
        assert_string_equal(held_by(database, again), held);
}

#define unsaved(word, change)                            \
        do {                                             \
                struct sessions_one bad = session_of(2); \
                change;                                  \
                expect_unsaved(database, &bad, word);    \
        } while (0)

static void test_what_makes_no_sense_is_not_saved(void **state)
{
        struct database *database = open_good();

        save(database, 1);
        held_by(database, held);
        unsaved("name", bad.name[0] = '\0');
        unsaved("name", bad.name[0] = '/');
        unsaved("name", memset(bad.name, 'x', sizeof(bad.name)));
        unsaved("id", memset(bad.id, 0, sizeof(bad.id)));
        unsaved("weight", bad.weight = 0);
        unsaved("weight", bad.weight = 10001);
        unsaved("priority", bad.priority = 3);
        unsaved("state", bad.state = SESSIONS_FREE);
        unsaved("state", bad.state = 9);
        unsaved("ending", bad.ending = 9);
        unsaved("version", bad.version = 0);
        unsaved("time", bad.expires_ns = UINT64_MAX);
        unsaved("count of GPUs", bad.share_count = 0);
        unsaved("count of GPUs", bad.share_count = SESSIONS_GPUS + 1);
        unsaved("memory", bad.share[1].memory_bytes = 0);
        unsaved("memory", bad.share[1].memory_bytes = UINT64_MAX);
        unsaved("ceiling", bad.share[1].ceiling_bytes = UINT64_MAX);
        unsaved("compute", bad.share[0].compute_milli_percent = 100001);
        unsaved("guarantee", bad.share[0].guarantee_milli_percent = 100001);
        unsaved("gpu", memset(bad.share[0].uuid, 0, 16));
        unsaved("twice", memcpy(bad.share[0].uuid, bad.share[1].uuid, 16));
        unsaved("labels", memset(bad.labels, 'x', sizeof(bad.labels)));
        unsaved("labels", snprintf(bad.labels, sizeof(bad.labels), "{\"a\":1}"));
        unsaved("labels", snprintf(bad.labels, sizeof(bad.labels), "{\"a\":{}}"));
        unsaved("labels", snprintf(bad.labels, sizeof(bad.labels), "[]"));
        unsaved("labels", snprintf(bad.labels, sizeof(bad.labels), "{\"a\":\"\xff\"}"));
        unsaved("labels", snprintf(bad.labels, sizeof(bad.labels), "{}{}"));
        unsaved("container", bad.container.inode = 1);
        unsaved("container", snprintf(bad.container.id, sizeof(bad.container.id), "a"));
        unsaved("container", snprintf(bad.container.profile, sizeof(bad.container.profile), "a"));
        unsaved("container", memset(bad.container.cgroup, '/', sizeof(bad.container.cgroup)));
        unsaved("gang", memset(bad.gang, 'x', sizeof(bad.gang)));
        unsaved("gang", bad.gang[0] = '.');
        database_close(database);
}

static void test_a_bad_event_takes_its_change_along(void **state)
{
        struct database *database = open_good();
        struct sessions_one session = session_of(3);
        struct database_event event = event_of("Created!", "job-3");
        struct error err = { 0 };
        char large[DATABASE_DETAIL_BYTES + 1];

        assert_int_equal(database_save(database, &session, &event, &err), -EINVAL);
        assert_non_null(strstr(err.text, "type"));
        event = event_of("created", "../x");
        assert_int_equal(database_forget(database, session.id, &event, &err), -EINVAL);
        event = event_of("created", "");
        event.who[0] = '\n';
        assert_int_equal(database_tell(database, &event, &err), -EINVAL);
        event = event_of("created", "");
        event.detail = "1";
        assert_int_equal(database_tell(database, &event, &err), -EINVAL);
        memset(large, ' ', sizeof(large));
        memcpy(large, "{}", 2);
        large[sizeof(large) - 1] = '\0';
        event.detail = large;
        assert_int_equal(database_tell(database, &event, &err), -EINVAL);
        assert_int_equal(event.id, 0);
        assert_string_equal(held_by(database, held), "");
        database_close(database);
}

static const char *events(struct database *database, int64_t after, unsigned most, const char *of)
{
        static char text[HELD_BYTES];
        struct text all;

        text_begin(&all, text, sizeof(text));
        assert_int_equal(database_events(database, &(struct event_query){ after, most, of },
                                         write_event, &all, NULL),
                         0);
        return text;
}

static void test_events_come_in_order_from_where_one_left_off(void **state)
{
        struct database *database = open_good();
        struct database_event event = event_of("gpu-here", "");
        int64_t oldest, latest;

        assert_int_equal(database_event_range(database, &oldest, &latest, NULL), 0);
        assert_int_equal(oldest, 0);
        assert_int_equal(latest, 0);
        save(database, 1);
        save(database, 2);
        event.detail = NULL;
        assert_int_equal(database_tell(database, &event, NULL), 0);
        assert_int_equal(event.id, 3);
        assert_string_equal(events(database, 0, 2, NULL),
                            "1 5 created job-1 1 uid 7 pid 8 {\"n\":1}\n"
                            "2 5 created job-2 1 uid 7 pid 8 {\"n\":1}\n");
        assert_string_equal(events(database, 2, 9, NULL), "3 5 gpu-here  1 uid 7 pid 8 {}\n");
        assert_string_equal(events(database, 0, 9, "job-2"),
                            "2 5 created job-2 1 uid 7 pid 8 {\"n\":1}\n");
        assert_string_equal(events(database, 2, 9, "job-2"), "");
        assert_string_equal(events(database, 0, 9, "'; DROP TABLE event --"), "");
        assert_string_equal(events(database, 3, 9, NULL), "");
        database_close(database);
}

static void test_old_events_go_and_their_numbers_are_never_used_again(void **state)
{
        struct database *database = open_good();
        struct database_event event = event_of("changed", "job-1");
        int64_t oldest, latest;

        for (unsigned i = 1; i <= 10; i++) {
                event.time_ns = i;
                assert_int_equal(database_tell(database, &event, NULL), 0);
        }
        assert_int_equal(database_trim(database, 0, 0, NULL), 0);
        assert_int_equal(database_trim(database, 4, 0, NULL), 3);
        assert_int_equal(database_trim(database, 0, 5, NULL), 2);
        assert_int_equal(database_trim(database, 0, 5, NULL), 0);
        assert_int_equal(database_event_range(database, &oldest, &latest, NULL), 0);
        assert_int_equal(oldest, 6);
        assert_int_equal(latest, 10);
        assert_int_equal(database_trim(database, UINT64_MAX, 0, NULL), 5);
        database_close(database);
        database = open_good();
        assert_int_equal(database_event_range(database, &oldest, &latest, NULL), 0);
        assert_int_equal(oldest, 0);
        assert_int_equal(latest, 10);
        assert_int_equal(database_tell(database, &event, NULL), 0);
        assert_int_equal(event.id, 11);
        database_close(database);
}

static void test_one_call_trims_only_so_many(void **state)
{
        struct database *database = open_good();

        database_close(database);
        edit("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)"
             "INSERT INTO event (time_ns, type, session, session_id, who, detail)"
             " SELECT i, 'x', '', zeroblob(16), 'me', '{}' FROM n");
        database = open_good();
        assert_int_equal(database_trim(database, 0, 100, NULL), DATABASE_TRIM_ROWS);
        assert_int_equal(database_trim(database, 0, 100, NULL), DATABASE_TRIM_ROWS);
        assert_int_equal(database_trim(database, 0, 100, NULL), 400);
        assert_int_equal(database_trim(database, 0, 100, NULL), 0);
        database_close(database);
}

static void test_who_has_few_events_keeps_them_beside_who_has_many(void **state)
{
        static const char few[] = "{\"owner\":2000}", many[] = "{\"owner\":1000}";
        struct database *database = open_good();
        struct database_event event = event_of("changed", "others");

        event.detail = few;
        assert_int_equal(database_tell(database, &event, NULL), 0);
        event = event_of("stranger", "");
        event.detail = "{\"uid\":2000}"; /* no session's: it is the process's user's */
        assert_int_equal(database_tell(database, &event, NULL), 0);
        event = event_of("changed", "mine");
        event.detail = many;
        for (unsigned i = 0; i < 40; i++)
                assert_int_equal(database_tell(database, &event, NULL), 0);
        assert_int_equal(database_trim(database, 0, 5, NULL), 37);
        assert_string_equal(events(database, 0, 9, NULL),
                            "1 5 changed others 1 uid 7 pid 8 {\"owner\":2000}\n"
                            "2 5 stranger  1 uid 7 pid 8 {\"uid\":2000}\n"
                            "40 5 changed mine 1 uid 7 pid 8 {\"owner\":1000}\n"
                            "41 5 changed mine 1 uid 7 pid 8 {\"owner\":1000}\n"
                            "42 5 changed mine 1 uid 7 pid 8 {\"owner\":1000}\n");
        assert_int_equal(database_trim(database, 0, 2, NULL), 3);
        assert_int_equal(database_trim(database, 0, 2, NULL), 0);
        for (unsigned i = 0; i < 3; i++)
                assert_int_equal(database_tell(database, &event, NULL), 0);
        assert_int_equal(database_trim(database, 0, 5, NULL), 0);
        assert_int_equal(database_trim(database, 0, 4, NULL), 1);
        database_close(database);
}

/* Their sessions are root's, and their programs may cause many events, or they may come and go. */
static void test_roots_events_stay_beside_those_of_containers(void **state)
{
        static const char roots[] = "{\"owner\":0}";
        struct database *database = open_good();
        struct database_event event = event_of("changed", "roots");

        event.detail = roots;
        for (unsigned i = 0; i < 3; i++)
                assert_int_equal(database_tell(database, &event, NULL), 0);
        event = event_of("forged", "containers");
        event.detail = roots;
        for (unsigned i = 0; i < 40; i++) {
                event.payer = (UINT64_C(1) << 32) + i;
                assert_int_equal(database_tell(database, &event, NULL), 0);
        }
        assert_int_equal(database_trim(database, 0, 5, NULL), 38);
        assert_string_equal(events(database, 0, 9, NULL),
                            "1 5 changed roots 1 uid 7 pid 8 {\"owner\":0}\n"
                            "2 5 changed roots 1 uid 7 pid 8 {\"owner\":0}\n"
                            "3 5 changed roots 1 uid 7 pid 8 {\"owner\":0}\n"
                            "42 5 forged containers 1 uid 7 pid 8 {\"owner\":0}\n"
                            "43 5 forged containers 1 uid 7 pid 8 {\"owner\":0}\n");
        database_close(database);
}

static void test_old_events_are_their_owners(void **state)
{
        sqlite3 *handle;
        int owner = 0;

        assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
        assert_int_equal(schema_migrate(handle, 4), SQLITE_OK);
        assert_int_equal(sqlite3_exec(handle,
                                      "INSERT INTO event (time_ns, type, session, session_id, who,"
                                      " detail) VALUES (1, 'x', 'a', zeroblob(16), 'me',"
                                      " '{\"owner\":1000}')",
                                      NULL, NULL, NULL),
                         SQLITE_OK);
        assert_int_equal(schema_migrate(handle, schema_version), SQLITE_OK);
        assert_int_equal(schema_number(handle, "SELECT owner FROM event", &owner), SQLITE_OK);
        assert_int_equal(owner, 1000);
        sqlite3_close(handle);
}

static void test_each_older_version_is_brought_up_with_what_it_holds(void **state)
{
        for (int version = 1; version < schema_version; version++) {
                sqlite3 *handle;
                struct database *database;

                assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
                assert_int_equal(schema_migrate(handle, version), SQLITE_OK);
                sqlite3_close(handle);
                assert_int_equal(chmod(path, 0600), 0);
                edit("INSERT INTO session (id, name, owner_uid, weight, priority, state, ending,"
                     " is_context_free, created_ns, expires_ns, ttl_ns, ended_ns, version, labels)"
                     " VALUES (x'01000000000000000000000000000000', 'old', 1000,"
                     " 100, 1, 1, 0, 0, 1, 0, 0, 0, 1, '{}');"
                     "INSERT INTO share (session, place, gpu, memory_bytes, compute_milli_percent,"
                     " guarantee_milli_percent) VALUES (x'01000000000000000000000000000000', 0,"
                     " x'ee000000000000000000000000000000', 4096, 0, 0)");
                database = open_good();
                /* In no gang: the last word. */
                assert_string_equal(held_by(database, held),
                                    "old 0000 uid 1000 weight 100 1100 times 1 0 0 0 v1 {}  gpu0 "
                                    "4096 of 0 0 0\n");
                save(database, 1);
                database_close(database);
                assert_int_equal(unlink(path), 0);
        }
}

static int write_name(const char *name, void *context)
{
        text_add(context, "%s ", name);
        return 0;
}

static void expect_profiles(struct database *database, const char *expected)
{
        char names[256];
        struct text text;

        text_begin(&text, names, sizeof(names));
        assert_int_equal(database_profiles(database, write_name, &text, NULL), 0);
        assert_string_equal(names, expected);
}

static void test_profiles_are_added_once_and_stay_until_they_are_dropped(void **state)
{
        struct database *database = open_good();

        expect_profiles(database, "");
        assert_int_equal(database_add_profile(database, "gpu1-2GiB-10", NULL), 0);
        assert_int_equal(database_add_profile(database, "gpu0-4GiB-30", NULL), 0);
        assert_int_equal(database_add_profile(database, "gpu0-4GiB-30", NULL), 0);
        database_close(database);
        database = open_good();
        expect_profiles(database, "gpu0-4GiB-30 gpu1-2GiB-10 ");
        assert_int_equal(database_drop_profile(database, "gpu0-4GiB-30", NULL), 0);
        assert_int_equal(database_drop_profile(database, "gpu0-4GiB-30", NULL), 0);
        expect_profiles(database, "gpu1-2GiB-10 ");
        database_close(database);
}

static void test_a_newer_database_is_left_alone(void **state)
{
        database_close(open_good());
        edit("PRAGMA user_version = 99");
        expect_refused(-EPROTO, "newer aliquotd (version 99");
        edit("PRAGMA user_version = -1");
        expect_refused(-EPROTO, "version -1");
}

static void test_another_programs_database_is_left_alone(void **state)
{
        sqlite3 *handle;

        assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
        assert_int_equal(sqlite3_exec(handle, "CREATE TABLE t (a)", NULL, NULL, NULL), 0);
        sqlite3_close(handle);
        assert_int_equal(chmod(path, 0600), 0);
        expect_refused(-EBADMSG, "another program");
}

static void test_there_is_one_opener_at_a_time(void **state)
{
        struct database *first = open_good();
        char who[32];
        pid_t child;
        int status;

        save(first, 1);
        expect_refused(-EBUSY, "another process has it open");
        snprintf(who, sizeof(who), "(pid %d: ", getpid());
        expect_refused(-EBUSY, who);
        child = fork();
        if (child == 0) {
                struct database *second;
                struct error err;

                _exit(database_open(path, true, &second, &err) == -EBUSY ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        save(first, 2); /* undisturbed */
        database_close(first);
        database_close(open_good());
}

/* In the folder of the database, which the story's end removes. */
static const char *make_runtime(const char *name, const char *session)
{
        static char made[2][160];
        static unsigned at;
        char sessions[256];
        char *runtime = made[at++ % 2];

        snprintf(runtime, sizeof(made[0]), "%s/%s", folder, name);
        snprintf(sessions, sizeof(sessions), "%s/sessions", runtime);
        mkdir(runtime, 0700);
        mkdir(sessions, 0700);
        if (session) {
                text_put(sessions, sizeof(sessions), NULL, "%s/sessions/%s", runtime, session);
                assert_int_equal(mkdir(sessions, 0700), 0);
        }
        return runtime;
}

static void test_sessions_that_are_in_one_folder_are_not_made_in_another(void **state)
{
        struct database *database = open_good();
        const char *first = make_runtime("one", "job-1"), *second = make_runtime("two", NULL);
        char path_of_session[256], other_way[256];
        struct error err = { 0 };

        assert_int_equal(database_settle(database, first, NULL), 0);
        save(database, 1);
        database_close(database);

        database = open_good();
        assert_int_equal(database_settle(database, second, &err), -EBUSY);
        assert_non_null(strstr(err.text, first));
        assert_non_null(strstr(err.text, "job-1"));
        assert_non_null(strstr(err.text, "--state-dir"));
        snprintf(other_way, sizeof(other_way), "%s/./one", folder);
        assert_int_equal(database_settle(database, other_way, NULL), 0);
        assert_int_equal(database_settle(database, first, NULL), 0);

        /* As a reboot leaves it. */
        snprintf(path_of_session, sizeof(path_of_session), "%s/sessions/job-1", first);
        assert_int_equal(rmdir(path_of_session), 0);
        assert_int_equal(database_settle(database, second, NULL), 0);
        database_close(database);
}

/* A row that no aliquotd would write, put there by this edit. */
static void expect_unbelieved(const char *sql)
{
        struct database *database = open_good();
        struct error err = { 0 };
        struct text text;
        int rc;

        save(database, 2);
        database_close(database);
        edit(sql);
        text_begin(&text, held, sizeof(held));
        if (database_open(path, true, &database, &err) == 0) {
                rc = database_each(database, write_session, &text, &err);
                if (rc == 0)
                        rc = database_events(database, &(struct event_query){ 0, 9, NULL },
                                             write_event, &text, &err);
                if (rc != -EBADMSG)
                        fail_msg("%s: %d", sql, rc);
                database_close(database);
        }
        assert_int_equal(err.code, -EBADMSG);
        assert_null(strchr(err.text, '\n'));
        assert_int_equal(unlink(path), 0);
}

static void test_rows_that_nobody_could_have_written_are_not_believed(void **state)
{
        expect_unbelieved("UPDATE session SET name = '../../etc'");
        expect_unbelieved("UPDATE session SET name = printf('%.*c', 64, 'x')");
        expect_unbelieved("UPDATE session SET name = 'a' || char(0) || 'b'");
        expect_unbelieved("UPDATE session SET labels = printf('%.*c', 70000, 'x')");
        expect_unbelieved("UPDATE session SET labels = '{\"a\":\"' || char(27) || '\"}'");
        expect_unbelieved("UPDATE session SET id = x'0102'");
        expect_unbelieved("UPDATE session SET gang = 'a b'");
        expect_unbelieved("UPDATE session SET gang = printf('%.*c', 64, 'x')");
        expect_unbelieved("UPDATE session SET weight = -1");
        expect_unbelieved("UPDATE session SET weight = 4294967297");
        expect_unbelieved("UPDATE session SET state = 257");
        expect_unbelieved("UPDATE session SET expires_ns = -1");
        expect_unbelieved("UPDATE session SET owner_uid = 4294967296");
        expect_unbelieved("UPDATE share SET memory_bytes = 0");
        expect_unbelieved("UPDATE share SET ceiling_bytes = -1");
        expect_unbelieved("UPDATE share SET place = place + 10");
        expect_unbelieved("UPDATE share SET gpu = x''");
        expect_unbelieved("DELETE FROM share");
        expect_unbelieved(
                "WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 99)"
                "INSERT INTO share SELECT id, i, randomblob(16), 1, 0, 0, 0 FROM session, n");
        expect_unbelieved("UPDATE event SET type = 'a b'");
        expect_unbelieved("UPDATE event SET detail = '{'");
        expect_unbelieved("UPDATE event SET session_id = x'00'");
        expect_unbelieved("UPDATE event SET who = char(10)");
        expect_unbelieved("DROP TABLE share");
        expect_unbelieved("DROP TABLE event; CREATE TABLE event (a)");
        expect_unbelieved(
                "CREATE TRIGGER evil AFTER INSERT ON event BEGIN DELETE FROM session; END;"
                "UPDATE event SET type = ''");
}

static void test_a_trigger_that_somebody_planted_does_not_run(void **state)
{
        struct database *database = open_good();
        unsigned sessions = 0;

        save(database, 1);
        database_close(database);
        edit("CREATE TRIGGER evil AFTER INSERT ON event BEGIN DELETE FROM session; END");
        database = open_good();
        save(database, 2);
        assert_int_equal(database_each(database, count, &sessions, NULL), 0);
        assert_int_equal(sessions, 2);
        database_close(database);
}

static void test_a_thousand_sessions_come_back(void **state)
{
        struct database *database = open_good();
        unsigned sessions = 0;

        for (unsigned i = 0; i < 1000; i++) {
                struct sessions_one session = session_of(i);

                assert_int_equal(database_save(database, &session, NULL, NULL), 0);
        }
        database_close(database);
        database = open_good();
        assert_int_equal(database_each(database, count, &sessions, NULL), 0);
        assert_int_equal(sessions, 1000);
        database_close(database);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(test_every_field_of_a_session_comes_back),
                story(test_saving_again_replaces_and_forgetting_removes_with_all_shares),
                story(test_a_name_is_one_sessions_only),
                story(test_who_is_adopted_has_its_name_from_whoever_had_it),
                story(test_what_makes_no_sense_is_not_saved),
                story(test_a_bad_event_takes_its_change_along),
                story(test_events_come_in_order_from_where_one_left_off),
                story(test_old_events_go_and_their_numbers_are_never_used_again),
                story(test_one_call_trims_only_so_many),
                story(test_who_has_few_events_keeps_them_beside_who_has_many),
                story(test_roots_events_stay_beside_those_of_containers),
                story(test_old_events_are_their_owners),
                story(test_each_older_version_is_brought_up_with_what_it_holds),
                story(test_profiles_are_added_once_and_stay_until_they_are_dropped),
                story(test_a_newer_database_is_left_alone),
                story(test_another_programs_database_is_left_alone),
                story(test_there_is_one_opener_at_a_time),
                story(test_sessions_that_are_in_one_folder_are_not_made_in_another),
                story(test_rows_that_nobody_could_have_written_are_not_believed),
                story(test_a_trigger_that_somebody_planted_does_not_run),
                story(test_a_thousand_sessions_come_back),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
