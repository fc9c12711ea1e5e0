/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores the names of profiles that were added through the API, one row each. Profiles in the
 * configuration file are not stored.
 */
#include "daemon/database/database_parts.h"

static int run_for(struct database *database, enum database_statement which, const char *name,
                   struct error *err)
{
        int rc = database_begin(database, err);
        sqlite3_stmt *statement;

        if (rc < 0)
                return rc;
        statement = database_statement(database, which);
        sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
        return database_end(database, NULL, database_run(database, statement, err), err);
}

int database_add_profile(struct database *database, const char *name, struct error *err)
{
        return run_for(database, DATABASE_PUT_PROFILE, name, err);
}

int database_drop_profile(struct database *database, const char *name, struct error *err)
{
        return run_for(database, DATABASE_DROP_PROFILE, name, err);
}

int database_profiles(struct database *database, int (*each)(const char *name, void *context),
                      void *context, struct error *err)
{
        sqlite3_stmt *rows = database_statement(database, DATABASE_GET_PROFILES);
        char name[SESSIONS_NAME_BYTES];
        int result = SQLITE_DONE;
        int rc = 0;

        while (rc >= 0 && (result = sqlite3_step(rows)) == SQLITE_ROW) {
                rc = database_get_text(rows, 0, name, sizeof(name))
                             ? each(name, context)
                             : database_bad_row(database, "a profile", err);
        }
        if (rc >= 0 && result != SQLITE_DONE)
                rc = database_fail(database->handle, database->path, result, err);
        sqlite3_reset(rows);
        return rc < 0 ? rc : 0;
}
