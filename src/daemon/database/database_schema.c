/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/database/database_schema.h"

#include <stdio.h>

const char *const schema_steps[] = {
        /* 1: sessions. Numbers of 64 bits are below 2^63, because SQLite's integers are signed. */
        "CREATE TABLE session ("
        "  id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),"
        "  name TEXT NOT NULL UNIQUE,"
        "  owner_uid INTEGER NOT NULL,"
        "  weight INTEGER NOT NULL,"
        "  priority INTEGER NOT NULL,"
        "  state INTEGER NOT NULL,"
        "  ending INTEGER NOT NULL,"
        "  is_context_free INTEGER NOT NULL,"
        "  created_ns INTEGER NOT NULL,"
        "  expires_ns INTEGER NOT NULL,"
        "  ttl_ns INTEGER NOT NULL,"
        "  ended_ns INTEGER NOT NULL,"
        "  version INTEGER NOT NULL,"
        "  labels TEXT NOT NULL"
        ") STRICT;"
        "CREATE TABLE share ("
        "  session BLOB NOT NULL REFERENCES session (id) ON DELETE CASCADE,"
        "  place INTEGER NOT NULL,"
        "  gpu BLOB NOT NULL CHECK (length(gpu) = 16),"
        "  memory_bytes INTEGER NOT NULL CHECK (memory_bytes > 0),"
        "  compute_milli_percent INTEGER NOT NULL,"
        "  guarantee_milli_percent INTEGER NOT NULL,"
        "  PRIMARY KEY (session, place)"
        ") STRICT, WITHOUT ROWID;",

        /* 2: the audit trail. AUTOINCREMENT: an id is not used again after its row was deleted. */
        "CREATE TABLE event ("
        "  id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,"
        "  time_ns INTEGER NOT NULL,"
        "  type TEXT NOT NULL,"
        "  session TEXT NOT NULL,"
        "  session_id BLOB NOT NULL CHECK (length(session_id) = 16),"
        "  who TEXT NOT NULL,"
        "  detail TEXT NOT NULL"
        ") STRICT;"
        "CREATE INDEX event_session ON event (session, id);",

        /* 3: the gang of a session; "": none. */
        "ALTER TABLE session ADD COLUMN gang TEXT NOT NULL DEFAULT '';",

        /* 4: the runtime folder of the sessions; no row: not known yet. */
        "CREATE TABLE home ("
        "  one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),"
        "  runtime_dir TEXT NOT NULL"
        ") STRICT;",

        /* 5: the user to whom an event belongs, so that no user's events push out those of others;
         * -1: none. */
        "ALTER TABLE event ADD COLUMN owner INTEGER NOT NULL DEFAULT -1;"
        "UPDATE event SET owner = coalesce(CAST(json_extract(detail, '$.owner') AS INTEGER),"
        " CAST(json_extract(detail, '$.uid') AS INTEGER), -1) WHERE json_valid(detail);"
        "CREATE INDEX event_owner ON event (owner, id);",

        /* 6: bytes in host memory that may be used in place of GPU memory; 0: none. */
        "ALTER TABLE session ADD COLUMN host_bytes INTEGER NOT NULL DEFAULT 0;",

        /* 7: whether the session's memory is moved to the host and back. */
        "ALTER TABLE session ADD COLUMN swaps INTEGER NOT NULL DEFAULT 0;",

        /* 8: the bytes that a share counts while more than its limit may still be held; 0: its
         * limit. */
        "ALTER TABLE share ADD COLUMN ceiling_bytes INTEGER NOT NULL DEFAULT 0;",

        /* 9: the container to which a session belongs (profile "": none), and profiles that were
         * added through the API. */
        "ALTER TABLE session ADD COLUMN inode INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE session ADD COLUMN profile TEXT NOT NULL DEFAULT '';"
        "ALTER TABLE session ADD COLUMN container TEXT NOT NULL DEFAULT '';"
        "ALTER TABLE session ADD COLUMN cgroup TEXT NOT NULL DEFAULT '';"
        "CREATE TABLE profile (name TEXT NOT NULL PRIMARY KEY) STRICT;",
};

const int schema_version = sizeof(schema_steps) / sizeof(schema_steps[0]);

static int take_number(void *context, int count, char **values, char **names)
{
        return count != 1 || !values[0] || sscanf(values[0], "%d", (int *)context) != 1;
}

int schema_number(sqlite3 *handle, const char *sql, int *ret)
{
        return sqlite3_exec(handle, sql, take_number, ret, NULL);
}

static int take_step(sqlite3 *handle, int step)
{
        char mark[128];
        int rc = sqlite3_exec(handle, "BEGIN IMMEDIATE", NULL, NULL, NULL);

        snprintf(mark, sizeof(mark), "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
                 SCHEMA_APPLICATION, step + 1);
        if (rc == SQLITE_OK)
                rc = sqlite3_exec(handle, schema_steps[step], NULL, NULL, NULL);
        if (rc == SQLITE_OK)
                rc = sqlite3_exec(handle, mark, NULL, NULL, NULL);
        if (rc != SQLITE_OK && !sqlite3_get_autocommit(handle))
                sqlite3_exec(handle, "ROLLBACK", NULL, NULL, NULL);
        return rc;
}

int schema_migrate(sqlite3 *handle, int version)
{
        int now = 0;
        int rc = schema_number(handle, "PRAGMA user_version", &now);

        for (; rc == SQLITE_OK && now < version; now++)
                rc = take_step(handle, now);
        return rc;
}
