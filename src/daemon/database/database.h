/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores the daemon's permanent state: its sessions, and the audit trail of all changes.
 *
 *      database_open(path, true, &database, &err)
 *      database_each(database, restore, node, &err)    // at the start
 *      database_save(database, session, &event, &err)  // one transaction with its audit row
 *
 * It uses SQLite in WAL mode with synchronous=FULL. When a call has returned (in a batch: when the
 * batch has ended), what it wrote survives a kill, a crash and a power cut. If a call failed or was
 * interrupted, nothing of its change is stored, and later calls work again once there is room. Only
 * one process can have the database open. Everything that is read is checked, as if somebody else
 * had written it. A database that is damaged, newer, or of another program is refused; it is never
 * repaired or deleted, but database_put_aside() can rename it. If the database is deleted while it
 * is open, it is written again.
 *
 * One thread. Every call may wait for the disk. Errors: -ENOSPC, -EROFS, -EACCES, -EIO; -EPROTO: a
 * newer version made it; -EBADMSG: it is damaged; -EPERM: other users could have written it;
 * -EBUSY: another process has it open; -EEXIST: another session has the name; -EINVAL: the data to
 * save is invalid; -ESTALE: another file is at its path.
 */
#ifndef ALIQUOT_DAEMON_DATABASE_DATABASE_H
#define ALIQUOT_DAEMON_DATABASE_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "core/sessions.h"

#define DATABASE_FILE "aliquot.db" /* its name in the state folder */
#define DATABASE_PATH_BYTES 1024u
#define DATABASE_TYPE_BYTES 32u
#define DATABASE_WHO_BYTES 64u
#define DATABASE_DETAIL_BYTES 4096u
#define DATABASE_TRIM_ROWS 1000u /* maximum number of rows that one database_trim() deletes */

struct database;

/* A row of the audit trail. Ids increase, and are never used twice. */
struct database_event {
        int64_t id; /* set when it is saved */
        uint64_t time_ns;
        char type[DATABASE_TYPE_BYTES];    /* one or more of a-z, 0-9, '-', '_', '.' */
        char session[SESSIONS_NAME_BYTES]; /* "": the event is not about a session */
        uint8_t session_id[16];
        /* Who pays for the row (sessions_payer()). 0: the `owner` in detail, or else the `uid`. Not
         * set in events that are read. */
        uint64_t payer;
        char who[DATABASE_WHO_BYTES]; /* who caused it: "uid 1000 pid 4242", "token", "daemon" */
        const char *detail;           /* a JSON object; NULL means {}. Borrowed for the call */
};

/* Opens the database at `path`. If `make`, creates it if there is none. The folder must belong to
 * this user (or to root), and no other user may be able to write to it. */
int database_open(const char *path, bool make, struct database **ret, struct error *err);

/* Sets the runtime folder of the database's sessions. -EBUSY: folders of these sessions exist in
 * another runtime folder, which another daemon serves. */
int database_settle(struct database *database, const char *runtime_dir, struct error *err);

/*
 * Between these two calls, changes are written without waiting for the disk. They survive a kill at
 * once, and a power cut only when database_end_batch() has succeeded, which waits for the disk
 * once. Until then the caller must not promise anything that depends on them.
 */
void database_begin_batch(struct database *database);
int database_end_batch(struct database *database, struct error *err);

/* Closes the database. `database` may be NULL. */
void database_close(struct database *database);

/* Checks whether the files are still at the paths where they were opened. Every transaction begins
 * with this check; without transactions the daemon calls it once a second. A database that was
 * deleted or moved is written again as a whole, which is logged. If that fails, or another file is
 * at its path (-ESTALE), every change fails until the check succeeds; that is logged once. */
int database_look(struct database *database, struct error *err);

/* Returns the error of the last database_look(); "": there was none. Borrowed until the next
 * one. */
const char *database_trouble(const struct database *database);

/* Renames the database at `path`, with all files that belong to it, and returns its new name in
 * `ret`. Also 0 if there is none; then `ret` is "". -EBUSY: a process has it open. */
int database_put_aside(const char *path, char ret[DATABASE_PATH_BYTES], struct error *err);

/* Saves the session and the event (NULL: none), and sets the event's id. */
int database_save(struct database *database, const struct sessions_one *session,
                  struct database_event *event, struct error *err);

/* Like database_save(), but deletes another session that has the same name. */
int database_adopt(struct database *database, const struct sessions_one *session,
                   struct database_event *event, struct error *err);

/* Deletes the session and saves the event (NULL: none). Also 0 if the session did not exist. */
int database_forget(struct database *database, const uint8_t id[16], struct database_event *event,
                    struct error *err);

/* Saves an event that changes no session. */
int database_tell(struct database *database, struct database_event *event, struct error *err);

/* Calls `each` for every session in the order of their creation, until it returns a negative value,
 * which is then returned. `each` must not call the database. */
int database_each(struct database *database,
                  int (*each)(const struct sessions_one *session, void *context), void *context,
                  struct error *err);

/* Add or delete the name of a profile that was added through the API. Also 0 if it is there
 * already, or is not there. */
int database_add_profile(struct database *database, const char *name, struct error *err);
int database_drop_profile(struct database *database, const char *name, struct error *err);

/* Calls `each` for every such profile in the order of their names, like database_each(). */
int database_profiles(struct database *database, int (*each)(const char *name, void *context),
                      void *context, struct error *err);

/* Which events to read: up to `most` events with ids above `id`, oldest first, of the session with
 * this name or (NULL) of all. */
struct event_query {
        int64_t id;
        unsigned most;
        const char *session;
};

int database_events(struct database *database, const struct event_query *query,
                    int (*each)(const struct database_event *event, void *context), void *context,
                    struct error *err);

/* Fills in the ids of the oldest event kept, and of the latest event ever saved; 0: there is
 * none. */
int database_event_range(struct database *database, int64_t *ret_oldest, int64_t *ret_latest,
                         struct error *err);

/* Deletes the events that are older than `before_ns`. If more than `keep_rows` remain (0: no
 * limit), also deletes the oldest events of the owners that have the most, so that one user's
 * events do not push out those of others. Returns the number of deleted events; if it is
 * DATABASE_TRIM_ROWS, there may be more to delete. */
int database_trim(struct database *database, uint64_t before_ns, uint64_t keep_rows,
                  struct error *err);

#endif
