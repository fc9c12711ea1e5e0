/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores the runtime folder in which a database's sessions have their folders.
 *
 * A daemon that used the same database with another runtime folder would create the sessions there
 * a second time, and promise their memory while programs still run in the first folder. So this is
 * refused while any session has its folder in the first runtime folder. When that is empty, after a
 * reboot or because no session is left, the database accepts the other one.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "daemon/database/database_parts.h"

struct home {
        const struct database *database;
        const char *wanted;
        char dir[DATABASE_PATH_BYTES]; /* "": unknown */
        struct error *err;
};

static int read_home(struct database *database, struct home *home)
{
        sqlite3_stmt *row = database_statement(database, DATABASE_GET_HOME);
        int result = sqlite3_step(row);
        int rc = 0;

        home->dir[0] = '\0';
        if (result != SQLITE_ROW && result != SQLITE_DONE)
                rc = database_fail(database->handle, database->path, result, home->err);
        else if (result == SQLITE_ROW && !database_get_text(row, 0, home->dir, sizeof(home->dir)))
                rc = database_bad_row(database, "a runtime folder", home->err);
        sqlite3_reset(row);
        return rc;
}

static int write_home(struct database *database, const char *dir, struct error *err)
{
        int rc = database_begin(database, err);
        sqlite3_stmt *put;

        if (rc < 0)
                return rc;
        put = database_statement(database, DATABASE_PUT_HOME);
        sqlite3_bind_text(put, 1, dir, -1, SQLITE_STATIC);
        return database_end(database, NULL, database_run(database, put, err), err);
}

/* Compares the folders by inode, because one may be reached by two paths, such as /run and
 * /var/run. */
static bool is_same_folder(const char *one, const char *other)
{
        struct stat a, b;

        return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
               a.st_ino == b.st_ino;
}

static int check_absent(const struct sessions_one *session, void *context)
{
        const struct home *home = context;
        char path[DATABASE_PATH_BYTES + SESSIONS_NAME_BYTES + 16];

        if (text_put(path, sizeof(path), NULL, "%s/sessions/%s", home->dir, session->name) < 0 ||
            faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
                return 0;
        return fail(home->err, -EBUSY,
                    "%s holds the sessions of %s, where %s is; say another --state-dir for %s",
                    home->database->path, home->dir, session->name, home->wanted);
}

int database_settle(struct database *database, const char *runtime_dir, struct error *err)
{
        struct home home = { .database = database, .wanted = runtime_dir, .err = err };
        int rc = read_home(database, &home);

        if (rc < 0 || strcmp(home.dir, runtime_dir) == 0)
                return rc;
        if (home.dir[0] && !is_same_folder(home.dir, runtime_dir))
                rc = database_each(database, check_absent, &home, err);
        return rc < 0 ? rc : write_home(database, runtime_dir, err);
}
