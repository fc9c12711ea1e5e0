/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes many changes durable with one wait for the disk.
 *
 * Each change is still a transaction of its own. With synchronous=NORMAL a commit is written to the
 * WAL but not flushed, so a single flush of the WAL at the end covers all commits before it. A
 * checkpoint in between flushes what it needs by itself.
 */
#include <errno.h>

#include "daemon/database/database_parts.h"

static int run_sql(struct database *database, const char *sql, struct error *err)
{
        int result = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);

        return result == SQLITE_OK ? 0
                                   : database_fail(database->handle, database->path, result, err);
}

/* If the PRAGMA fails, each change waits for the disk, as without a batch. */
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
