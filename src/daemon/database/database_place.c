/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether the database's files are still at the paths where they were opened.
 *
 * SQLite goes on writing to files that were deleted, renamed or replaced, and what it writes is
 * lost when the process ends. So each transaction begins with this check. The open files still have
 * everything, so a database that is no longer at its path is written there again as a whole, at
 * first under another name. If another file is at the path, that file is not touched, and every
 * change fails until it is gone. If the folder is gone as well, somebody may have removed it on
 * purpose, and another daemon may begin there: every change fails until somebody creates the folder
 * again.
 *
 * First of all, what is only in the WAL is moved into the database file to which it belongs. SQLite
 * would apply a WAL that is left behind to whatever database is beside it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/text.h"
#include "daemon/database/database_files.h"
#include "daemon/database/database_parts.h"

#define ANEW ".anew" /* suffix of the path while the database is written again */

enum place {
        PLACE_OURS,
        PLACE_EMPTY,
        PLACE_TAKEN, /* another file is at the path */
};

static int read_inode(const char *path, struct database_inode *ret, struct error *err)
{
        struct stat st;

        if (lstat(path, &st) < 0)
                return fail(err, -errno, "%s: %m", path);
        *ret = (struct database_inode){ st.st_dev, st.st_ino };
        return 0;
}

int database_note_place(struct database *database, struct error *err)
{
        int rc = text_put(database->wal, sizeof(database->wal), err, "%s-wal", database->path);

        if (rc == 0)
                rc = read_inode(database->path, &database->inode, err);
        return rc < 0 ? rc : read_inode(database->wal, &database->wal_inode, err);
}

static bool is_same(const struct database_inode *a, const struct database_inode *b)
{
        return a->device == b->device && a->number == b->number;
}

static int find_place(const char *path, const struct database_inode *ours, enum place *ret,
                      struct error *err)
{
        struct database_inode there = { 0 };
        int rc = read_inode(path, &there, NULL);

        if (rc < 0 && rc != -ENOENT && rc != -ENOTDIR)
                return fail(err, rc, "%s: %s", path, strerror(-rc));
        if (rc < 0)
                *ret = PLACE_EMPTY;
        else
                *ret = is_same(&there, ours) ? PLACE_OURS : PLACE_TAKEN;
        return 0;
}

static int refuse_stranger(const char *path, struct error *err)
{
        return fail(err, -ESTALE,
                    "%s was replaced under this daemon by another file, which it leaves alone; "
                    "nothing was changed. Move that file away: the daemon then writes its own anew",
                    path);
}

static int ask_for(struct database *database, const char *sql, struct error *err)
{
        int result = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);

        return result == SQLITE_OK ? 0
                                   : database_fail(database->handle, database->path, result, err);
}

static int empty_wal(struct database *database, struct error *err)
{
        int result = sqlite3_wal_checkpoint_v2(database->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE,
                                               NULL, NULL);

        return result == SQLITE_OK ? 0
                                   : database_fail(database->handle, database->path, result, err);
}

/* -- Only the WAL is missing ------------------------------------------------------------------ */

static int make_wal_anew(struct database *database, struct error *err)
{
        int rc = ask_for(database, "PRAGMA journal_mode = DELETE; PRAGMA journal_mode = WAL", err);

        /* SQLite creates the file at the first reading. */
        if (rc == 0)
                rc = ask_for(database, "SELECT count(*) FROM sqlite_schema", err);
        if (rc == 0)
                rc = read_inode(database->wal, &database->wal_inode, err);
        if (rc == 0)
                log_line(LOG_WARN, "%s was deleted under this daemon; nothing was lost",
                         database->wal);
        return rc;
}

/* -- The database is missing ------------------------------------------------------------------ */

static int copy_to(struct database *database, const char *name, struct error *err)
{
        sqlite3_stmt *copy = NULL;
        int result = sqlite3_prepare_v2(database->handle, "VACUUM INTO ?1", -1, &copy, NULL);

        if (result == SQLITE_OK) {
                sqlite3_bind_text(copy, 1, name, -1, SQLITE_STATIC);
                result = sqlite3_step(copy);
                sqlite3_finalize(copy);
        }
        return result == SQLITE_DONE ? 0 : database_fail(database->handle, name, result, err);
}

/* Opens the new file in place of the old one, which the kernel deletes when its last descriptor is
 * closed. */
static int change_over(struct database *database, struct error *err)
{
        struct database *fresh = NULL;
        struct database old;
        int rc = database_open(database->path, false, &fresh, err);

        if (rc < 0)
                return rc;
        old = *database;
        *database = *fresh;
        *fresh = old;
        database_close(fresh);
        return 0;
}

/* Moves the copy to the database's path and opens it. If it cannot be opened, it is deleted again:
 * the next check knows only the open file, and would take the copy for another program's file. */
static int put_in_place(struct database *database, const char *name, struct error *err)
{
        struct database_inode copy = { 0 }, there = { 0 };
        int rc = read_inode(name, &copy, err);

        if (rc < 0)
                return rc;
        rc = files_move(name, database->path, err);
        if (rc == 0)
                rc = change_over(database, err);
        if (rc < 0 && read_inode(database->path, &there, NULL) == 0 && is_same(&copy, &there))
                files_drop(database->path, NULL);
        return rc;
}

static int write_anew(struct database *database, enum place wal, struct error *err)
{
        char name[DATABASE_PATH_BYTES];
        int rc = text_put(name, sizeof(name), err, "%s" ANEW, database->path);

        if (rc == 0)
                rc = files_check_folder(name, err);
        if (rc == 0)
                rc = files_drop(name, err);
        if (rc == 0)
                rc = files_check(name, true, err);
        if (rc == 0)
                rc = copy_to(database, name, err);
        if (rc == 0 && wal == PLACE_OURS && unlink(database->wal) < 0 && errno != ENOENT)
                rc = fail(err, -errno, "%s: %m", database->wal);
        if (rc == 0)
                rc = put_in_place(database, name, err);
        if (rc < 0)
                return wrap(err,
                            "%s was deleted or moved away under this daemon, and cannot be "
                            "written anew",
                            database->path);
        log_line(LOG_WARN,
                 "%s was deleted or moved away under this daemon; it is written anew, whole",
                 database->path);
        return 0;
}

/* -- The check -------------------------------------------------------------------------------- */

static int put_right(struct database *database, struct error *err)
{
        enum place place = PLACE_EMPTY, wal = PLACE_EMPTY;
        int rc = find_place(database->path, &database->inode, &place, err);

        if (rc == 0)
                rc = find_place(database->wal, &database->wal_inode, &wal, err);
        if (rc < 0 || (place == PLACE_OURS && wal == PLACE_OURS))
                return rc;
        rc = empty_wal(database, err);
        if (rc < 0)
                return rc;
        if (place == PLACE_TAKEN)
                return refuse_stranger(database->path, err);
        if (wal == PLACE_TAKEN)
                return refuse_stranger(database->wal, err);
        return place == PLACE_OURS ? make_wal_anew(database, err) : write_anew(database, wal, err);
}

int database_look(struct database *database, struct error *err)
{
        struct error why = { 0 };
        int rc = put_right(database, &why);

        if (rc < 0 && database->trouble.code != rc)
                log_line(LOG_ERROR, "%s", why.text);
        else if (rc == 0 && database->trouble.code)
                log_line(LOG_INFO, "%s is as it should be again", database->path);
        database->trouble = why;
        return rc < 0 ? fail(err, rc, "%s", why.text) : 0;
}

const char *database_trouble(const struct database *database)
{
        return database->trouble.text;
}
