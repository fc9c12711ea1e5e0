/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface between the files of the database: the handle, its statements, and the
 * reporting of failures.
 */
#ifndef ALIQUOT_DAEMON_DATABASE_DATABASE_PARTS_H
#define ALIQUOT_DAEMON_DATABASE_DATABASE_PARTS_H

#include <sqlite3.h>

#include "daemon/database/database.h"

enum database_statement {
        DATABASE_BEGIN,
        DATABASE_COMMIT,
        DATABASE_ROLLBACK,
        DATABASE_PUT_SESSION,
        DATABASE_DROP_SESSION,
        DATABASE_DROP_NAMESAKE,
        DATABASE_GET_SESSIONS,
        DATABASE_PUT_SHARE,
        DATABASE_DROP_SHARES,
        DATABASE_GET_SHARES,
        DATABASE_PUT_EVENT,
        DATABASE_GET_EVENTS,
        DATABASE_GET_EVENTS_OF,
        DATABASE_GET_RANGE,
        DATABASE_TRIM_OLD,
        DATABASE_GET_OWNERS,
        DATABASE_TRIM_OWNER,
        DATABASE_PUT_PROFILE,
        DATABASE_DROP_PROFILE,
        DATABASE_GET_PROFILES,
        DATABASE_GET_HOME,
        DATABASE_PUT_HOME,
        DATABASE_STATEMENTS,
};

struct database_inode {
        uint64_t device, number;
};

struct database {
        sqlite3 *handle;
        char path[DATABASE_PATH_BYTES], wal[DATABASE_PATH_BYTES];
        struct database_inode inode, wal_inode; /* inodes of the files that are open */
        /* error of the last database_look(); zeroes: none */
        struct error trouble;
        sqlite3_stmt *statement[DATABASE_STATEMENTS];
        /* Maximum number of events that there can be; UINT64_MAX: not counted since the database
         * was opened. An event whose transaction failed counts too. */
        uint64_t events_max;
};

/* Returns the statement, reset and ready for binding. Values that are bound as SQLITE_STATIC are
 * borrowed until the statement is requested again. */
sqlite3_stmt *database_statement(struct database *database, enum database_statement which);

/* Runs a statement that returns no row. 0 or a negative errno. */
int database_run(struct database *database, sqlite3_stmt *statement, struct error *err);

/* Converts an SQLite result to a negative errno; the message tells the administrator what to do. */
int database_fail(sqlite3 *handle, const char *path, int result, struct error *err);

/* Fails with an error about a row that no aliquotd writes. `what`: what the row is. */
int database_bad_row(struct database *database, const char *what, struct error *err);

/* Begins a transaction if the files are at their paths. Request statements after this, never
 * before, because the statements are prepared anew if the database is written again. */
int database_begin(struct database *database, struct error *err);
/* Commits if `rc` is 0, and sets the id of `event` (NULL: none), which must be the last row
 * inserted. Otherwise undoes the transaction and returns `rc`. */
int database_end(struct database *database, struct database_event *event, int rc,
                 struct error *err);

/* Notes the inodes of the open database and its WAL, which must both exist. */
int database_note_place(struct database *database, struct error *err);

/* Writes the event; must be the last insertion of a transaction. */
int database_put_event(struct database *database, const struct database_event *event,
                       struct error *err);

/* Read a column. False: it does not have this type or does not fit; `ret` is then unchanged. */
bool database_get_text(sqlite3_stmt *row, int column, char *ret, size_t bytes);
bool database_get_id(sqlite3_stmt *row, int column, uint8_t ret[16]);
bool database_get_number(sqlite3_stmt *row, int column, uint64_t most, uint64_t *ret);

/* Check the fields of a session and of an event, before they are saved and after they were read.
 * -EINVAL. */
int database_check_session(const struct sessions_one *session, struct error *err);
int database_check_event(const struct database_event *event, struct error *err);

#endif
