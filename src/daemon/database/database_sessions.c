/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saves, reads and deletes sessions and their shares. A change is saved together with its event
 * (database.h).
 *
 * A change and its event are one transaction: both are stored, or neither. Rows are checked when
 * they are read: if a number is out of range, the database is reported as damaged.
 */
#include <errno.h>
#include <string.h>

#include "daemon/database/database_parts.h"

/* Columns of DATABASE_GET_SESSIONS. The parameters of DATABASE_PUT_SESSION have numbers greater by
 * 1. */
enum {
        SESSION_ID,
        SESSION_NAME,
        SESSION_OWNER,
        SESSION_WEIGHT,
        SESSION_PRIORITY,
        SESSION_STATE,
        SESSION_ENDING,
        SESSION_CONTEXT,
        SESSION_CREATED,
        SESSION_EXPIRES,
        SESSION_TTL,
        SESSION_ENDED,
        SESSION_VERSION,
        SESSION_HOST,
        SESSION_SWAPS,
        SESSION_INODE,
        SESSION_LABELS,
        SESSION_GANG,
        SESSION_PROFILE,
        SESSION_CONTAINER,
        SESSION_CGROUP,
        SESSION_COLUMNS,
};

/* Columns of DATABASE_GET_SHARES. The parameters of DATABASE_PUT_SHARE have numbers greater by
 * 2. */
enum { SHARE_PLACE, SHARE_GPU, SHARE_MEMORY, SHARE_COMPUTE, SHARE_GUARANTEE, SHARE_CEILING };

static int put_session(struct database *database, const struct sessions_one *session,
                       struct error *err)
{
        const uint64_t number[SESSION_COLUMNS] = {
                [SESSION_OWNER] = session->owner_uid,
                [SESSION_WEIGHT] = session->weight,
                [SESSION_PRIORITY] = session->priority,
                [SESSION_STATE] = session->state,
                [SESSION_ENDING] = session->ending,
                [SESSION_CONTEXT] = session->is_context_free,
                [SESSION_CREATED] = session->created_ns,
                [SESSION_EXPIRES] = session->expires_ns,
                [SESSION_TTL] = session->ttl_ns,
                [SESSION_ENDED] = session->ended_ns,
                [SESSION_VERSION] = session->version,
                [SESSION_HOST] = session->host_bytes,
                [SESSION_SWAPS] = session->swaps,
                [SESSION_INODE] = session->container.inode,
        };
        sqlite3_stmt *put = database_statement(database, DATABASE_PUT_SESSION);

        for (int i = SESSION_OWNER; i < SESSION_LABELS; i++)
                sqlite3_bind_int64(put, i + 1, (sqlite3_int64)number[i]);
        sqlite3_bind_blob(put, SESSION_ID + 1, session->id, sizeof(session->id), SQLITE_STATIC);
        sqlite3_bind_text(put, SESSION_NAME + 1, session->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(put, SESSION_LABELS + 1, session->labels, -1, SQLITE_STATIC);
        sqlite3_bind_text(put, SESSION_GANG + 1, session->gang, -1, SQLITE_STATIC);
        sqlite3_bind_text(put, SESSION_PROFILE + 1, session->container.profile, -1, SQLITE_STATIC);
        sqlite3_bind_text(put, SESSION_CONTAINER + 1, session->container.id, -1, SQLITE_STATIC);
        sqlite3_bind_text(put, SESSION_CGROUP + 1, session->container.cgroup, -1, SQLITE_STATIC);
        return database_run(database, put, err);
}

static int put_share(struct database *database, const struct sessions_one *session, unsigned place,
                     struct error *err)
{
        const struct sessions_share *share = &session->share[place];
        sqlite3_stmt *put = database_statement(database, DATABASE_PUT_SHARE);

        sqlite3_bind_blob(put, 1, session->id, sizeof(session->id), SQLITE_STATIC);
        sqlite3_bind_int64(put, SHARE_PLACE + 2, place);
        sqlite3_bind_blob(put, SHARE_GPU + 2, share->uuid, sizeof(share->uuid), SQLITE_STATIC);
        sqlite3_bind_int64(put, SHARE_MEMORY + 2, (sqlite3_int64)share->memory_bytes);
        sqlite3_bind_int64(put, SHARE_COMPUTE + 2, share->compute_milli_percent);
        sqlite3_bind_int64(put, SHARE_GUARANTEE + 2, share->guarantee_milli_percent);
        sqlite3_bind_int64(put, SHARE_CEILING + 2, (sqlite3_int64)share->ceiling_bytes);
        return database_run(database, put, err);
}

static int run_for(struct database *database, enum database_statement which, const uint8_t id[16],
                   struct error *err)
{
        sqlite3_stmt *statement = database_statement(database, which);

        sqlite3_bind_blob(statement, 1, id, 16, SQLITE_STATIC);
        return database_run(database, statement, err);
}

static int put_whole(struct database *database, const struct sessions_one *session,
                     const struct database_event *event, struct error *err)
{
        int rc = put_session(database, session, err);

        if (rc == 0)
                rc = run_for(database, DATABASE_DROP_SHARES, session->id, err);
        for (unsigned i = 0; i < session->share_count && rc == 0; i++)
                rc = put_share(database, session, i, err);
        return rc == 0 && event ? database_put_event(database, event, err) : rc;
}

int database_save(struct database *database, const struct sessions_one *session,
                  struct database_event *event, struct error *err)
{
        int rc = database_check_session(session, err);

        if (rc == 0)
                rc = database_begin(database, err);
        if (rc < 0)
                return rc;
        return database_end(database, event, put_whole(database, session, event, err), err);
}

int database_adopt(struct database *database, const struct sessions_one *session,
                   struct database_event *event, struct error *err)
{
        int rc = database_check_session(session, err);
        sqlite3_stmt *drop;

        if (rc == 0)
                rc = database_begin(database, err);
        if (rc < 0)
                return rc;
        drop = database_statement(database, DATABASE_DROP_NAMESAKE);
        sqlite3_bind_blob(drop, 1, session->id, sizeof(session->id), SQLITE_STATIC);
        sqlite3_bind_text(drop, 2, session->name, -1, SQLITE_STATIC);
        rc = database_run(database, drop, err);
        if (rc == 0)
                rc = put_whole(database, session, event, err);
        return database_end(database, event, rc, err);
}

int database_forget(struct database *database, const uint8_t id[16], struct database_event *event,
                    struct error *err)
{
        int rc = database_begin(database, err);

        if (rc < 0)
                return rc;
        rc = run_for(database, DATABASE_DROP_SESSION, id, err);
        if (rc == 0 && event)
                rc = database_put_event(database, event, err);
        return database_end(database, event, rc, err);
}

/* Reads the numbers of a row. False: one is out of range. */
static bool get_numbers(sqlite3_stmt *row, struct sessions_one *ret)
{
        static const uint64_t most[SESSION_COLUMNS] = {
                [SESSION_OWNER] = UINT32_MAX,
                [SESSION_WEIGHT] = UINT32_MAX,
                [SESSION_PRIORITY] = UINT8_MAX,
                [SESSION_STATE] = UINT8_MAX,
                [SESSION_ENDING] = UINT8_MAX,
                [SESSION_CONTEXT] = 1,
                [SESSION_CREATED] = INT64_MAX,
                [SESSION_EXPIRES] = INT64_MAX,
                [SESSION_TTL] = INT64_MAX,
                [SESSION_ENDED] = INT64_MAX,
                [SESSION_VERSION] = INT64_MAX,
                [SESSION_HOST] = INT64_MAX,
                [SESSION_SWAPS] = 1,
                [SESSION_INODE] = INT64_MAX,
        };
        uint64_t number[SESSION_COLUMNS];

        for (int i = SESSION_OWNER; i < SESSION_LABELS; i++) {
                if (!database_get_number(row, i, most[i], &number[i]))
                        return false;
        }
        ret->owner_uid = (uint32_t)number[SESSION_OWNER];
        ret->weight = (uint32_t)number[SESSION_WEIGHT];
        ret->priority = (uint8_t)number[SESSION_PRIORITY];
        ret->state = (uint8_t)number[SESSION_STATE];
        ret->ending = (uint8_t)number[SESSION_ENDING];
        ret->is_context_free = number[SESSION_CONTEXT] != 0;
        ret->created_ns = number[SESSION_CREATED];
        ret->expires_ns = number[SESSION_EXPIRES];
        ret->ttl_ns = number[SESSION_TTL];
        ret->ended_ns = number[SESSION_ENDED];
        ret->version = number[SESSION_VERSION];
        ret->host_bytes = number[SESSION_HOST];
        ret->swaps = number[SESSION_SWAPS];
        ret->container.inode = number[SESSION_INODE];
        return true;
}

static bool get_share(sqlite3_stmt *row, struct sessions_one *ret)
{
        struct sessions_share *share = &ret->share[ret->share_count];
        uint64_t place, compute, guarantee;

        if (ret->share_count == SESSIONS_GPUS ||
            !database_get_number(row, SHARE_PLACE, UINT8_MAX, &place) ||
            place != ret->share_count || !database_get_id(row, SHARE_GPU, share->uuid) ||
            !database_get_number(row, SHARE_MEMORY, INT64_MAX, &share->memory_bytes) ||
            !database_get_number(row, SHARE_COMPUTE, UINT32_MAX, &compute) ||
            !database_get_number(row, SHARE_GUARANTEE, UINT32_MAX, &guarantee) ||
            !database_get_number(row, SHARE_CEILING, INT64_MAX, &share->ceiling_bytes))
                return false;
        share->compute_milli_percent = (uint32_t)compute;
        share->guarantee_milli_percent = (uint32_t)guarantee;
        ret->share_count++;
        return true;
}

static int get_shares(struct database *database, struct sessions_one *ret, struct error *err)
{
        sqlite3_stmt *rows = database_statement(database, DATABASE_GET_SHARES);
        int result;

        sqlite3_bind_blob(rows, 1, ret->id, sizeof(ret->id), SQLITE_STATIC);
        while ((result = sqlite3_step(rows)) == SQLITE_ROW) {
                if (!get_share(rows, ret))
                        return database_bad_row(database, "a session's share", err);
        }
        return result == SQLITE_DONE ? 0
                                     : database_fail(database->handle, database->path, result, err);
}

static bool get_container(sqlite3_stmt *row, struct sessions_container *ret)
{
        return database_get_text(row, SESSION_PROFILE, ret->profile, sizeof(ret->profile)) &&
               database_get_text(row, SESSION_CONTAINER, ret->id, sizeof(ret->id)) &&
               database_get_text(row, SESSION_CGROUP, ret->cgroup, sizeof(ret->cgroup));
}

static int get_session(struct database *database, sqlite3_stmt *row, struct sessions_one *ret,
                       struct error *err)
{
        struct error why;
        int rc;

        memset(ret, 0, sizeof(*ret));
        if (!database_get_id(row, SESSION_ID, ret->id) || !get_numbers(row, ret) ||
            !database_get_text(row, SESSION_NAME, ret->name, sizeof(ret->name)) ||
            !database_get_text(row, SESSION_LABELS, ret->labels, sizeof(ret->labels)) ||
            !database_get_text(row, SESSION_GANG, ret->gang, sizeof(ret->gang)) ||
            !get_container(row, &ret->container))
                return database_bad_row(database, "a session", err);
        rc = get_shares(database, ret, err);
        if (rc == 0 && database_check_session(ret, &why) < 0)
                return database_bad_row(database, why.text, err);
        return rc;
}

int database_each(struct database *database,
                  int (*each)(const struct sessions_one *session, void *context), void *context,
                  struct error *err)
{
        sqlite3_stmt *rows = database_statement(database, DATABASE_GET_SESSIONS);
        struct sessions_one session;
        int result = SQLITE_DONE;
        int rc = 0;

        while (rc >= 0 && (result = sqlite3_step(rows)) == SQLITE_ROW) {
                rc = get_session(database, rows, &session, err);
                if (rc == 0)
                        rc = each(&session, context);
        }
        if (rc >= 0 && result != SQLITE_DONE)
                rc = database_fail(database->handle, database->path, result, err);
        sqlite3_reset(rows);
        sqlite3_reset(database->statement[DATABASE_GET_SHARES]);
        return rc < 0 ? rc : 0;
}
