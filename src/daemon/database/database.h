/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's permanent state: its sessions, and the audit trail of all changes.
 *
 *      database_open(path, true, &database, &err)
 *      database_each(database, restore, node, &err)    // at the start
 *      database_save(database, session, &event, &err)  // one transaction with its audit row
 *
 * SQLite in WAL mode with synchronous=FULL: when a call has returned (of a batch: when that has
 * ended), what it wrote survives a kill, a crash and a power cut; when it was cut off or failed,
 * nothing of it is there, and the next call works again once there is room. One process has it open
 * at a time, and sees its own writes only. What is read is checked as if a stranger had written it.
 * A database that is damaged, newer or not ours is refused, never repaired and never deleted:
 * database_put_aside() renames it, when asked to. One that is deleted while it is open is written
 * anew.
 *
 * One thread. Every call may wait for the disk. Errors: -ENOSPC, -EROFS, -EACCES, -EIO; -EPROTO
 * made by a newer version; -EBADMSG damaged; -EPERM others could have written it; -EBUSY another
 * process has it open; -EEXIST the name is another session's; -EINVAL the data to save is invalid;
 * -ESTALE another file is in its place.
 */
#ifndef ALIQUOT_DAEMON_DATABASE_DATABASE_H
#define ALIQUOT_DAEMON_DATABASE_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "core/sessions.h"

#define DATABASE_FILE "aliquot.db" /* in the state folder */
#define DATABASE_PATH_BYTES 1024u
#define DATABASE_TYPE_BYTES 32u
#define DATABASE_WHO_BYTES 64u
#define DATABASE_DETAIL_BYTES 4096u
#define DATABASE_TRIM_ROWS 1000u /* maximum for one database_trim() */

struct database;

/* A row of the audit trail. Numbers rise and are never used twice. */
struct database_event {
        int64_t id; /* set when it is saved */
        uint64_t time_ns;
        char type[DATABASE_TYPE_BYTES];    /* 1 or more of a-z, 0-9, '-', '_', '.' */
        char session[SESSIONS_NAME_BYTES]; /* "": about no session */
        uint8_t session_id[16];
        char who[DATABASE_WHO_BYTES]; /* "uid 1000 pid 4242", "token", "daemon" */
        const char *detail;           /* a JSON object; NULL is {}. Borrowed for the call */
};

/* `make`: creates the database if there is none. The folder must exist and belong to this user, and
 * no other user may write it. */
int database_open(const char *path, bool make, struct database **ret, struct error *err);

/* Sets the runtime folder of its sessions. -EBUSY while their folders are in another one, which
 * another daemon serves. */
int database_settle(struct database *database, const char *runtime_dir, struct error *err);

/*
 * Between these two a call of the database writes all that it wrote before without waiting for the
 * disk: it survives a kill, and the end of the batch makes all of it survive a power cut, with one
 * wait. Nobody is promised anything before that has succeeded.
 */
void database_begin_batch(struct database *database);
int database_end_batch(struct database *database, struct error *err);

/* Closes the database. NULL is fine. */
void database_close(struct database *database);

/* Checks whether the files are where they were opened. Every transaction begins with this; a caller
 * without transactions calls it now and then. A deleted or moved database is written again as a
 * whole, and logged. If that fails, or another file is in its place (-ESTALE), every change fails
 * until the check succeeds; that is logged once. */
int database_look(struct database *database, struct error *err);

/* The unrepaired finding of the last check; "" if none. Borrowed until the next check. */
const char *database_trouble(const struct database *database);

/* Renames the file at `path`, with all that belongs to it, and returns the new name. Also 0 if
 * there is none; then *ret is "". Not while it is open anywhere. */
int database_put_aside(const char *path, char ret[DATABASE_PATH_BYTES], struct error *err);

/* Saves the session and the event (NULL: none), and sets the event's id. */
int database_save(struct database *database, const struct sessions_one *session,
                  struct database_event *event, struct error *err);

/* The same for a session that takes over its name, whichever session had it. */
int database_adopt(struct database *database, const struct sessions_one *session,
                   struct database_event *event, struct error *err);

/* Deletes the session and saves the event; also 0 if it did not exist. */
int database_forget(struct database *database, const uint8_t id[16], struct database_event *event,
                    struct error *err);

/* Saves an event that changes no session. */
int database_tell(struct database *database, struct database_event *event, struct error *err);

/* In the order of their creation. A negative answer of `each` ends the walk and is returned. `each`
 * does not call the database. */
int database_each(struct database *database,
                  int (*each)(const struct sessions_one *session, void *context), void *context,
                  struct error *err);

/* Profiles that were added, by their names; 0 also for one that is there, or is not. */
int database_add_profile(struct database *database, const char *name, struct error *err);
int database_drop_profile(struct database *database, const char *name, struct error *err);

/* In the order of their names, as database_each(). */
int database_profiles(struct database *database, int (*each)(const char *name, void *context),
                      void *context, struct error *err);

/* Up to `most` events after `id`, oldest first, of one session by its name or (NULL) of all. */
struct event_query {
        int64_t id;
        unsigned most;
        const char *session;
};

int database_events(struct database *database, const struct event_query *query,
                    int (*each)(const struct database_event *event, void *context), void *context,
                    struct error *err);

/* The ids of the oldest event kept and of the latest event ever; 0 if none. */
int database_event_range(struct database *database, int64_t *ret_oldest, int64_t *ret_latest,
                         struct error *err);

/* Deletes the events that are older than `before_ns`; and while there are more than `keep_rows` (0:
 * any number), the oldest event of the owner that has the most, so that no user's events push out
 * another's. Returns how many; after DATABASE_TRIM_ROWS there may be more to delete. */
int database_trim(struct database *database, uint64_t before_ns, uint64_t keep_rows,
                  struct error *err);

#endif
