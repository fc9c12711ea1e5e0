/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit trail: saves and reads events, and deletes the oldest (database.h).
 *
 * Rows are checked when they are read: if one breaks the rules of database_check_event(), the
 * database is reported as damaged. One call deletes at most DATABASE_TRIM_ROWS rows, so that the
 * event loop does not wait long: old rows first, then rows of the owners that have the most, so
 * that no user's events push out those of others.
 */
#include <errno.h>
#include <string.h>

#include "daemon/database/database_parts.h"

#define OWNER_CONTAINERS (-2) /* in the column `owner`; -1: nobody */

/* Columns of DATABASE_GET_EVENTS. All except the id are parameters of DATABASE_PUT_EVENT too. */
enum {
        EVENT_ID,
        EVENT_TIME,
        EVENT_TYPE,
        EVENT_SESSION,
        EVENT_SESSION_ID,
        EVENT_WHO,
        EVENT_DETAIL,
        EVENT_PAYER, /* a parameter only; NULL: from the detail */
};

/* Returns the owner of the rows that `payer` pays for. All containers are one owner: each has few
 * rows, and there may be thousands, one after the other, beside which users would keep few too. */
static sqlite3_int64 owner_of(uint64_t payer)
{
        return payer > UINT32_MAX ? OWNER_CONTAINERS : (sqlite3_int64)payer;
}

int database_put_event(struct database *database, const struct database_event *event,
                       struct error *err)
{
        sqlite3_stmt *put = database_statement(database, DATABASE_PUT_EVENT);
        int rc = database_check_event(event, err);

        if (rc < 0)
                return rc;
        sqlite3_bind_int64(put, EVENT_TIME, (sqlite3_int64)event->time_ns);
        sqlite3_bind_text(put, EVENT_TYPE, event->type, -1, SQLITE_STATIC);
        sqlite3_bind_text(put, EVENT_SESSION, event->session, -1, SQLITE_STATIC);
        sqlite3_bind_blob(put, EVENT_SESSION_ID, event->session_id, sizeof(event->session_id),
                          SQLITE_STATIC);
        sqlite3_bind_text(put, EVENT_WHO, event->who, -1, SQLITE_STATIC);
        sqlite3_bind_text(put, EVENT_DETAIL, event->detail ? event->detail : "{}", -1,
                          SQLITE_STATIC);
        if (event->payer)
                sqlite3_bind_int64(put, EVENT_PAYER, owner_of(event->payer));
        if (database->events_max < UINT64_MAX)
                database->events_max++;
        return database_run(database, put, err);
}

int database_tell(struct database *database, struct database_event *event, struct error *err)
{
        int rc = database_begin(database, err);

        if (rc < 0)
                return rc;
        return database_end(database, event, database_put_event(database, event, err), err);
}

/* Reads the type first, because reading the value may convert the column. */
bool database_get_text(sqlite3_stmt *row, int column, char *ret, size_t bytes)
{
        const unsigned char *text;
        size_t length;

        if (sqlite3_column_type(row, column) != SQLITE_TEXT)
                return false;
        text = sqlite3_column_text(row, column);
        length = (size_t)sqlite3_column_bytes(row, column);
        if (!text || length >= bytes || memchr(text, '\0', length))
                return false;
        memcpy(ret, text, length);
        ret[length] = '\0';
        return true;
}

bool database_get_id(sqlite3_stmt *row, int column, uint8_t ret[16])
{
        if (sqlite3_column_type(row, column) != SQLITE_BLOB ||
            sqlite3_column_bytes(row, column) != 16)
                return false;
        memcpy(ret, sqlite3_column_blob(row, column), 16);
        return true;
}

bool database_get_number(sqlite3_stmt *row, int column, uint64_t most, uint64_t *ret)
{
        sqlite3_int64 number = sqlite3_column_int64(row, column);

        if (sqlite3_column_type(row, column) != SQLITE_INTEGER || number < 0 ||
            (uint64_t)number > most)
                return false;
        *ret = (uint64_t)number;
        return true;
}

static bool get_event(sqlite3_stmt *row, char detail[DATABASE_DETAIL_BYTES],
                      struct database_event *ret)
{
        uint64_t id;

        memset(ret, 0, sizeof(*ret));
        if (!database_get_number(row, EVENT_ID, INT64_MAX, &id) ||
            !database_get_number(row, EVENT_TIME, INT64_MAX, &ret->time_ns) ||
            !database_get_text(row, EVENT_TYPE, ret->type, sizeof(ret->type)) ||
            !database_get_text(row, EVENT_SESSION, ret->session, sizeof(ret->session)) ||
            !database_get_id(row, EVENT_SESSION_ID, ret->session_id) ||
            !database_get_text(row, EVENT_WHO, ret->who, sizeof(ret->who)) ||
            !database_get_text(row, EVENT_DETAIL, detail, DATABASE_DETAIL_BYTES))
                return false;
        ret->id = (int64_t)id;
        ret->detail = detail;
        return database_check_event(ret, NULL) == 0;
}

int database_events(struct database *database, const struct event_query *query,
                    int (*each)(const struct database_event *event, void *context), void *context,
                    struct error *err)
{
        sqlite3_stmt *rows = database_statement(database, query->session ? DATABASE_GET_EVENTS_OF
                                                                         : DATABASE_GET_EVENTS);
        char detail[DATABASE_DETAIL_BYTES];
        struct database_event event;
        int result = SQLITE_DONE;
        int rc = 0;

        sqlite3_bind_int64(rows, 1, query->id);
        sqlite3_bind_int64(rows, 2, query->most);
        if (query->session)
                sqlite3_bind_text(rows, 3, query->session, -1, SQLITE_STATIC);
        while (rc >= 0 && (result = sqlite3_step(rows)) == SQLITE_ROW) {
                if (get_event(rows, detail, &event))
                        rc = each(&event, context);
                else
                        rc = database_bad_row(database, "an event", err);
        }
        if (rc >= 0 && result != SQLITE_DONE)
                rc = database_fail(database->handle, database->path, result, err);
        sqlite3_reset(rows);
        return rc < 0 ? rc : 0;
}

int database_event_range(struct database *database, int64_t *ret_oldest, int64_t *ret_latest,
                         struct error *err)
{
        sqlite3_stmt *row = database_statement(database, DATABASE_GET_RANGE);
        int result = sqlite3_step(row);
        int rc = 0;

        if (result == SQLITE_ROW) {
                *ret_oldest = sqlite3_column_int64(row, 0);
                *ret_latest = sqlite3_column_int64(row, 1);
        } else {
                rc = database_fail(database->handle, database->path, result, err);
        }
        sqlite3_reset(row);
        return rc;
}

/* -- Deleting events -------------------------------------------------------------------------- */

/* Maximum number of owners to read, those with the most rows first. Each has at least one row, so
 * together they have all rows that one call may delete. */
#define OWNERS_MAX DATABASE_TRIM_ROWS

struct owner_rows {
        sqlite3_int64 owner;
        uint64_t rows, taken;
};

/* Returns the number of deleted rows, or a negative errno. */
static int run_deletion(struct database *database, sqlite3_stmt *statement, struct error *err)
{
        int rc = database_run(database, statement, err);

        return rc < 0 ? rc : sqlite3_changes(database->handle);
}

static int trim_old(struct database *database, uint64_t before_ns, struct error *err)
{
        sqlite3_stmt *trim = database_statement(database, DATABASE_TRIM_OLD);

        sqlite3_bind_int64(trim, 1, DATABASE_TRIM_ROWS);
        sqlite3_bind_int64(trim, 2, before_ns > INT64_MAX ? INT64_MAX : (int64_t)before_ns);
        return run_deletion(database, trim, err);
}

/* Returns the number of owners, or a negative errno. *ret_sum: number of rows of all owners. */
static int get_owners(struct database *database, struct owner_rows ret[OWNERS_MAX],
                      uint64_t *ret_sum, struct error *err)
{
        sqlite3_stmt *rows = database_statement(database, DATABASE_GET_OWNERS);
        int count = 0, result, rc = 0;

        *ret_sum = 0;
        sqlite3_bind_int64(rows, 1, OWNERS_MAX);
        while ((result = sqlite3_step(rows)) == SQLITE_ROW) {
                ret[count++] = (struct owner_rows){
                        .owner = sqlite3_column_int64(rows, 0),
                        .rows = (uint64_t)sqlite3_column_int64(rows, 1),
                };
                *ret_sum = (uint64_t)sqlite3_column_int64(rows, 2);
        }
        if (result != SQLITE_DONE)
                rc = database_fail(database->handle, database->path, result, err);
        sqlite3_reset(rows);
        return rc < 0 ? rc : count;
}

/* Decides how many rows to delete of each owner. One row after the other is taken from the owner
 * that has the most left, so an owner with few rows keeps them. */
static void pick_from_owners(struct owner_rows *owners, int count, uint64_t rows)
{
        for (; rows; rows--) {
                struct owner_rows *most = &owners[0];

                for (int i = 1; i < count; i++) {
                        if (owners[i].rows > most->rows)
                                most = &owners[i];
                }
                most->rows--;
                most->taken++;
        }
}

static int trim_owners(struct database *database, uint64_t keep_rows, uint64_t most,
                       struct error *err)
{
        struct owner_rows owners[OWNERS_MAX];
        uint64_t sum;
        int count, sum_taken = 0;

        /* Counting reads the whole index, so it is avoided while the upper bound shows that there
         * is nothing to delete. */
        if (database->events_max <= keep_rows)
                return 0;
        count = get_owners(database, owners, &sum, err);
        if (count < 0)
                return count;
        database->events_max = sum;
        if (sum <= keep_rows)
                return 0;
        pick_from_owners(owners, count, sum - keep_rows < most ? sum - keep_rows : most);
        for (int i = 0; i < count; i++) {
                sqlite3_stmt *trim = database_statement(database, DATABASE_TRIM_OWNER);
                int rc;

                sqlite3_bind_int64(trim, 1, owners[i].owner);
                sqlite3_bind_int64(trim, 2, (sqlite3_int64)owners[i].taken);
                rc = owners[i].taken ? run_deletion(database, trim, err) : 0;
                if (rc < 0)
                        return rc;
                sum_taken += rc;
        }
        return sum_taken;
}

int database_trim(struct database *database, uint64_t before_ns, uint64_t keep_rows,
                  struct error *err)
{
        int rc = database_begin(database, err), by_age, by_count = 0;

        if (rc < 0)
                return rc;
        rc = by_age = trim_old(database, before_ns, err);
        if (rc >= 0 && keep_rows)
                rc = by_count = trim_owners(database, keep_rows,
                                            DATABASE_TRIM_ROWS - (unsigned)by_age, err);
        rc = database_end(database, NULL, rc < 0 ? rc : 0, err);
        if (rc < 0) {
                /* the deleted rows are there again, so count again */
                database->events_max = UINT64_MAX;
                return rc;
        }
        return by_age + by_count;
}
