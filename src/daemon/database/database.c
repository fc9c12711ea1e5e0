/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens and closes the database, runs transactions, and explains SQLite's errors.
 *
 * SQLite's own lock ensures that only one daemon has the database open. In exclusive locking mode
 * SQLite holds the lock from the first reading until the database is closed; the index of the WAL
 * then needs no shared file, and a kill releases the lock. What SQLite repairs by itself when it
 * opens a database is only a transaction that was interrupted.
 */
#include "daemon/database/database.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file_locks.h"
#include "common/text.h"
#include "daemon/database/database_files.h"
#include "daemon/database/database_parts.h"
#include "daemon/database/database_schema.h"

#define BUSY_MS 1000        /* how long to wait for a daemon that is just ending */
#define VALUE_MAX (1 << 16) /* maximum bytes of a value; no aliquotd writes a larger one */
#define RESET "--reset-database, which puts it aside and begins with an empty one"

static const char *const sql[DATABASE_STATEMENTS] = {
        [DATABASE_BEGIN] = "BEGIN IMMEDIATE",
        [DATABASE_COMMIT] = "COMMIT",
        [DATABASE_ROLLBACK] = "ROLLBACK",
        [DATABASE_PUT_SESSION] =
                "INSERT INTO session (id, name, owner_uid, weight, priority, state, ending,"
                " is_context_free, created_ns, expires_ns, ttl_ns, ended_ns, version, host_bytes,"
                " swaps, inode, labels, gang, profile, container, cgroup)"
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,"
                " ?17, ?18, ?19, ?20, ?21)"
                " ON CONFLICT (id) DO UPDATE SET name = ?2, owner_uid = ?3, weight = ?4,"
                " priority = ?5, state = ?6, ending = ?7, is_context_free = ?8, created_ns = ?9,"
                " expires_ns = ?10, ttl_ns = ?11, ended_ns = ?12, version = ?13,"
                " host_bytes = ?14, swaps = ?15, inode = ?16, labels = ?17, gang = ?18,"
                " profile = ?19, container = ?20, cgroup = ?21",
        [DATABASE_DROP_SESSION] = "DELETE FROM session WHERE id = ?1",
        [DATABASE_DROP_NAMESAKE] = "DELETE FROM session WHERE id <> ?1 AND name = ?2",
        [DATABASE_GET_SESSIONS] =
                "SELECT id, name, owner_uid, weight, priority, state, ending, is_context_free,"
                " created_ns, expires_ns, ttl_ns, ended_ns, version, host_bytes, swaps, inode,"
                " labels, gang, profile, container, cgroup"
                " FROM session ORDER BY created_ns, name",
        [DATABASE_PUT_SHARE] =
                "INSERT INTO share (session, place, gpu, memory_bytes, compute_milli_percent,"
                " guarantee_milli_percent, ceiling_bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        [DATABASE_DROP_SHARES] = "DELETE FROM share WHERE session = ?1",
        [DATABASE_GET_SHARES] =
                "SELECT place, gpu, memory_bytes, compute_milli_percent, guarantee_milli_percent,"
                " ceiling_bytes FROM share WHERE session = ?1 ORDER BY place",
        /* The owner of an event is who pays for it (?7), the owner of the session, or else the
         * user of the process that the event is about. */
        [DATABASE_PUT_EVENT] =
                "INSERT INTO event (time_ns, type, session, session_id, who, detail, owner)"
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6,"
                " coalesce(?7, json_extract(?6, '$.owner'), json_extract(?6, '$.uid'), -1))",
        [DATABASE_GET_EVENTS] = "SELECT id, time_ns, type, session, session_id, who, detail"
                                " FROM event WHERE id > ?1 ORDER BY id LIMIT ?2",
        [DATABASE_GET_EVENTS_OF] = "SELECT id, time_ns, type, session, session_id, who, detail"
                                   " FROM event WHERE id > ?1 AND session = ?3"
                                   " ORDER BY id LIMIT ?2",
        [DATABASE_GET_RANGE] =
                "SELECT coalesce((SELECT min(id) FROM event), 0),"
                " coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'event'), 0)",
        /* Looks only at the oldest events, so that one call is short however many there are. */
        [DATABASE_TRIM_OLD] = "DELETE FROM event WHERE id IN ("
                              " SELECT id FROM (SELECT id, time_ns FROM event ORDER BY id LIMIT ?1)"
                              " WHERE time_ns < ?2)",
        [DATABASE_GET_OWNERS] = "SELECT owner, count(*) AS rows, sum(count(*)) OVER ()"
                                " FROM event GROUP BY owner ORDER BY rows DESC LIMIT ?1",
        [DATABASE_TRIM_OWNER] = "DELETE FROM event WHERE id IN ("
                                " SELECT id FROM event WHERE owner = ?1 ORDER BY id LIMIT ?2)",
        [DATABASE_PUT_PROFILE] = "INSERT OR IGNORE INTO profile (name) VALUES (?1)",
        [DATABASE_DROP_PROFILE] = "DELETE FROM profile WHERE name = ?1",
        [DATABASE_GET_PROFILES] = "SELECT name FROM profile ORDER BY name",
        [DATABASE_GET_HOME] = "SELECT runtime_dir FROM home WHERE one = 1",
        [DATABASE_PUT_HOME] = "INSERT INTO home (one, runtime_dir) VALUES (1, ?1)"
                              " ON CONFLICT (one) DO UPDATE SET runtime_dir = ?1",
};

/* Returns the system error behind SQLite's result if the caller can act on it, else `otherwise`. */
static int errno_of(sqlite3 *handle, int otherwise)
{
        int cause = handle ? sqlite3_system_errno(handle) : 0;

        if (cause == EDQUOT)
                cause = ENOSPC;
        return cause == ENOSPC || cause == EROFS || cause == EACCES ? -cause : otherwise;
}

static int code_of(sqlite3 *handle, int result)
{
        switch (result & 0xff) {
        case SQLITE_FULL:
                return -ENOSPC;
        case SQLITE_READONLY:
                return errno_of(handle, -EROFS);
        case SQLITE_NOTADB:
        case SQLITE_CORRUPT:
        case SQLITE_ERROR: /* a table is not as our statements expect */
        case SQLITE_TOOBIG:
        case SQLITE_MISMATCH:
                return -EBADMSG;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
                return -EBUSY;
        case SQLITE_NOMEM:
                return -ENOMEM;
        case SQLITE_CONSTRAINT:
                return result == SQLITE_CONSTRAINT_UNIQUE ? -EEXIST : -EINVAL;
        case SQLITE_CANTOPEN:
                return errno_of(handle, -EACCES);
        default:
                return errno_of(handle, -EIO);
        }
}

static const char *advice(int code)
{
        switch (code) {
        case -ENOSPC:
                return "the disk is full; nothing was changed, make room and ask again";
        case -EROFS:
                return "it cannot be written there; nothing was changed, make it writable or say "
                       "another --state-dir";
        case -EACCES:
                return "its folder must belong to this user and be writable; see --state-dir";
        case -EBADMSG:
                return "it is damaged; restore a copy of it, or start with " RESET;
        case -EBUSY:
                return "another process has it open; each aliquotd has a database of its own, see "
                       "--state-dir";
        case -EEXIST:
                return "another session has that name";
        default:
                return "nothing was changed";
        }
}

int database_fail(sqlite3 *handle, const char *path, int result, struct error *err)
{
        int code = code_of(handle, result);
        char by[32] = "";
        pid_t holder;

        if (code == -ENOSPC)
                return fail(err, code, "%s: %s", path, advice(code));
        if (code == -EBUSY && file_locks_find(path, "POSIX", NULL, &holder) == FILE_LOCKS_HELD &&
            holder)
                snprintf(by, sizeof(by), "pid %d: ", holder);
        return fail(err, code, "%s: %s (%s%s)", path, advice(code), by,
                    handle ? sqlite3_errmsg(handle) : sqlite3_errstr(result));
}

int database_bad_row(struct database *database, const char *what, struct error *err)
{
        return fail(
                err, -EBADMSG,
                "%s holds what no aliquotd writes: %s; restore a copy of it, or start with " RESET,
                database->path, what);
}

sqlite3_stmt *database_statement(struct database *database, enum database_statement which)
{
        sqlite3_stmt *statement = database->statement[which];

        sqlite3_reset(statement);
        sqlite3_clear_bindings(statement);
        return statement;
}

int database_run(struct database *database, sqlite3_stmt *statement, struct error *err)
{
        int result = sqlite3_step(statement);
        int rc = 0;

        if (result != SQLITE_DONE)
                rc = database_fail(database->handle, database->path, result, err);
        sqlite3_reset(statement);
        return rc;
}

int database_begin(struct database *database, struct error *err)
{
        int rc = database_look(database, err);

        return rc < 0 ? rc
                      : database_run(database, database_statement(database, DATABASE_BEGIN), err);
}

int database_end(struct database *database, struct database_event *event, int rc, struct error *err)
{
        if (rc == 0)
                rc = database_run(database, database_statement(database, DATABASE_COMMIT), err);
        if (rc == 0 && event)
                event->id = sqlite3_last_insert_rowid(database->handle);
        /* SQLite has already undone the transaction after some failures; then a ROLLBACK would be
         * an error. */
        if (rc < 0 && !sqlite3_get_autocommit(database->handle))
                database_run(database, database_statement(database, DATABASE_ROLLBACK), NULL);
        return rc;
}

/* Sets what applies to this connection only. Does not touch the file. */
static int configure(sqlite3 *handle)
{
        sqlite3_extended_result_codes(handle, 1);
        sqlite3_busy_timeout(handle, BUSY_MS);
        sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, VALUE_MAX);
        sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
        sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
        /* mmap_size = 0: if a mapped file were truncated, SIGBUS would kill the daemon. */
        return sqlite3_exec(handle,
                            "PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY;"
                            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL;"
                            "PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = 4194304",
                            NULL, NULL, NULL);
}

/* Checks that the database is ours and which version it has. This reads the file for the first
 * time, and so takes the lock. */
static int check_version(struct database *database, int *ret_version, struct error *err)
{
        int application = 0, tables = 0;
        int result = schema_number(database->handle, "PRAGMA user_version", ret_version);

        if (result == SQLITE_OK)
                result = schema_number(database->handle, "PRAGMA application_id", &application);
        if (result == SQLITE_OK)
                result = schema_number(database->handle, "SELECT count(*) FROM sqlite_schema",
                                       &tables);
        if (result != SQLITE_OK)
                return database_fail(database->handle, database->path, result, err);
        /* An empty database is fine: a daemon ended while it created the database. */
        if (application != SCHEMA_APPLICATION && (application || tables || *ret_version))
                return fail(err, -EBADMSG,
                            "%s is a database of another program; say another "
                            "--state-dir, or start with " RESET,
                            database->path);
        if (*ret_version < 0 || *ret_version > schema_version)
                return fail(err, -EPROTO,
                            "%s was written by a newer aliquotd (version %d, this one knows up to "
                            "%d); run that one, or start with " RESET,
                            database->path, *ret_version, schema_version);
        return 0;
}

static int take_text(void *context, int count, char **values, char **names)
{
        snprintf(context, TEXT_QUOTE_BYTES, "%s", count == 1 && values[0] ? values[0] : "");
        return 0;
}

static int check_whole(struct database *database, struct error *err)
{
        char said[TEXT_QUOTE_BYTES] = "";
        int result = sqlite3_exec(database->handle, "PRAGMA quick_check(1)", take_text, said, NULL);

        if (result != SQLITE_OK)
                return database_fail(database->handle, database->path, result, err);
        if (strcmp(said, "ok") != 0)
                return fail(err, -EBADMSG, "%s: %s (%s)", database->path, advice(-EBADMSG),
                            text_shown(said));
        return 0;
}

/* Sets WAL mode, creates missing tables, and prepares the statements. */
static int prepare_database(struct database *database, struct error *err)
{
        char mode[TEXT_QUOTE_BYTES] = "";
        int result =
                sqlite3_exec(database->handle, "PRAGMA journal_mode = WAL", take_text, mode, NULL);

        /* the header asks for a mode that SQLite does not have, or the file system does not allow
         * WAL */
        if (result == SQLITE_OK && strcmp(mode, "wal") != 0)
                return fail(err, -EBADMSG, "%s: %s (its mode is %s, expected wal)", database->path,
                            advice(-EBADMSG), text_shown(mode));
        if (result == SQLITE_OK)
                result = schema_migrate(database->handle, schema_version);
        for (unsigned i = 0; i < DATABASE_STATEMENTS && result == SQLITE_OK; i++)
                result = sqlite3_prepare_v3(database->handle, sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                                            &database->statement[i], NULL);
        return result == SQLITE_OK ? database_note_place(database, err)
                                   : database_fail(database->handle, database->path, result, err);
}

static int open_checked(struct database *database, struct error *err)
{
        int version = 0;
        int result = sqlite3_open_v2(database->path, &database->handle,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
        int rc;

        database->events_max = UINT64_MAX;
        if (result == SQLITE_OK)
                result = configure(database->handle);
        if (result != SQLITE_OK)
                return database_fail(database->handle, database->path, result, err);
        rc = check_version(database, &version, err);
        if (rc == 0 && version > 0)
                rc = check_whole(database, err);
        return rc == 0 ? prepare_database(database, err) : rc;
}

int database_open(const char *path, bool make, struct database **ret, struct error *err)
{
        struct database *database;
        int rc = files_check(path, make, err);

        if (rc < 0)
                return rc;
        database = calloc(1, sizeof(*database));
        if (!database)
                return fail(err, -ENOMEM, "%s: no memory", path);
        snprintf(database->path, sizeof(database->path), "%s", path);
        rc = open_checked(database, err);
        if (rc < 0)
                database_close(database);
        else
                *ret = database;
        return rc;
}

void database_close(struct database *database)
{
        if (!database)
                return;
        for (unsigned i = 0; i < DATABASE_STATEMENTS; i++)
                sqlite3_finalize(database->statement[i]);
        sqlite3_close(database->handle);
        free(database);
}
