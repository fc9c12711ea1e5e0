/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface between the files of the database: the handle, its statements, and how
 * failures are reported.
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
        struct database_inode inode, wal_inode; /* of the files that are open */
        struct error trouble;                   /* of the last check; zero: none */
        sqlite3_stmt *statement[DATABASE_STATEMENTS];
        /* Upper bound of the number of events; UINT64_MAX: not counted since it was opened. An
         * event whose transaction failed counts too. */
        uint64_t events_most;
};

/* Returns the statement, ready for binding. It borrows the bound values until it is requested
 * again. */
sqlite3_stmt *database_statement(struct database *database, enum database_statement which);

/* Runs a statement that gives no row. 0 or negative. */
int database_run(struct database *database, sqlite3_stmt *statement, struct error *err);

/* Converts an SQLite result to a negative errno with a message that says what to do. */
int database_fail(sqlite3 *handle, const char *path, int result, struct error *err);

/* Fails with an error about a row that no aliquotd writes. */
int database_bad_row(struct database *database, const char *what, struct error *err);

/* Begins a transaction, only if the files are in their places. Request statements after this, never
 * before: if it writes the database again, the old statements are gone. */
int database_begin(struct database *database, struct error *err);
/* Commits if `rc` is 0, and sets the event's number (NULL: none): it must be the last one written.
 * Otherwise undoes all and returns `rc`. */
int database_end(struct database *database, struct database_event *event, int rc,
                 struct error *err);

/* Which files are open; both are there then. */
int database_note_place(struct database *database, struct error *err);

/* Writes the event; inside a transaction, as its last step. */
int database_put_event(struct database *database, const struct database_event *event,
                       struct error *err);

/* Reading: false when the column is not of that type or does not fit; nothing is written then. */
bool database_get_text(sqlite3_stmt *row, int column, char *ret, size_t bytes);
bool database_get_id(sqlite3_stmt *row, int column, uint8_t ret[16]);
bool database_get_number(sqlite3_stmt *row, int column, uint64_t most, uint64_t *ret);

/* Checks a session's fields, both when it is saved and when it is read. -EINVAL. */
int database_check_session(const struct sessions_one *session, struct error *err);
int database_check_event(const struct database_event *event, struct error *err);

#endif
