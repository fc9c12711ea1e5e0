/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many changes that are made durable with one wait for the disk.
 *
 * Each is a transaction of its own all the same, in its order and whole or not at all: what others
 * see may follow it. With synchronous=NORMAL a commit is written to the WAL and not flushed; one
 * flush of that file covers all that was written before. A checkpoint meanwhile flushes by itself.
 */
#include <errno.h>

#include "daemon/database/database_parts.h"

static int run_sql(struct database *database, const char *sql, struct error *err)
{
        int result = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);

        return result == SQLITE_OK ? 0
                                   : database_fail(database->handle, database->path, result, err);
}

/* Where that fails each change is waited for, as always. */
void database_begin_batch(struct database *database)
{
        run_sql(database, "PRAGMA synchronous = NORMAL", NULL);
}

int database_end_batch(struct database *database, struct error *err)
{
        sqlite3_file *wal = NULL;
        int rc = run_sql(database, "PRAGMA synchronous = FULL", err);
        int result = sqlite3_file_control(database->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER,
                                          (void *)&wal);

        if (rc < 0)
                return rc;
        if (result == SQLITE_OK && wal && wal->pMethods)
                result = wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL);
        return result == SQLITE_OK ? 0
                                   : database_fail(database->handle, database->path, result, err);
}
