/* SPDX-License-Identifier: Apache-2.0 */
/*
 * database_put_aside() renames the database before its WAL. If it is interrupted in between, only a
 * WAL is left, which files_check() distinguishes from an empty folder, and which the next attempt
 * renames. In the opposite order, a database without its last transactions would seem complete.
 */
#include "daemon/database/database_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/text.h"
#include "daemon/database/database.h"

#define STAMP_BYTES 32u
#define SAME_SECOND 100u /* maximum number of databases that can be put aside in one second */
/* The lock bytes of SQLite's file format. */
#define LOCK_START 0x40000000
#define LOCK_BYTES 512

static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
#define SUFFIXES (sizeof(suffixes) / sizeof(suffixes[0]))

static int folder_of(const char *path, char ret[DATABASE_PATH_BYTES], struct error *err)
{
        const char *slash = strrchr(path, '/');

        if (path[0] != '/' || !slash[1])
                return fail(err, -EINVAL, "%s: expected an absolute path", path);
        /* Leaves room for the suffixes of names. */
        if (strlen(path) + STAMP_BYTES + 16 > DATABASE_PATH_BYTES)
                return fail(err, -ENAMETOOLONG, "%s is too long", path);
        return text_put(ret, DATABASE_PATH_BYTES, err, "%.*s",
                        slash == path ? 1 : (int)(slash - path), path);
}

/* Creates each missing folder of the path, the last one for this user only. Whether they are valid
 * is checked later. Returns why the last one could not be created; 0: it was, or exists. */
static int make_folders(const char *folder)
{
        char path[DATABASE_PATH_BYTES];

        snprintf(path, sizeof(path), "%s", folder);
        for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
                *at = '\0';
                mkdir(path, 0755);
                *at = '/';
        }
        return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -errno;
}

static int check_owner(const char *path, const struct stat *st, bool may_be_root, struct error *err)
{
        if (st->st_uid != geteuid() && !(may_be_root && st->st_uid == 0))
                return fail(err, -EPERM, "%s belongs to user %u, expected %u", path, st->st_uid,
                            geteuid());
        if (st->st_mode & 022)
                return fail(err, -EPERM,
                            "%s can be written by others (mode %04o); run chmod go-w on it", path,
                            st->st_mode & 07777);
        return 0;
}

static int check_folder(const char *folder, int made, struct error *err)
{
        struct stat st;

        if (stat(folder, &st) < 0 && made < 0)
                return fail(err, made, "making %s: %s; the database is kept there, see --state-dir",
                            folder, strerror(-made));
        if (stat(folder, &st) < 0)
                return fail(err, -errno,
                            "%s: %m; it is where the database is kept, see --state-dir", folder);
        if (!S_ISDIR(st.st_mode))
                return fail(err, -ENOTDIR, "%s is not a folder; see --state-dir", folder);
        return check_owner(folder, &st, true, err);
}

int files_check_folder(const char *path, struct error *err)
{
        char folder[DATABASE_PATH_BYTES];
        int rc = folder_of(path, folder, err);

        return rc < 0 ? rc : check_folder(folder, 0, err);
}

/* Checks one file. 1: it exists and is valid. 0: it does not exist. */
static int check_file(const char *path, struct error *err)
{
        struct stat st;
        int rc;

        if (lstat(path, &st) < 0)
                return errno == ENOENT ? 0 : fail(err, -errno, "%s: %m", path);
        if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
                return fail(err, -EPERM, "%s is a link or no plain file, expected a database",
                            path);
        rc = check_owner(path, &st, false, err);
        return rc < 0 ? rc : 1;
}

/* Checks access with the effective user id. SQLite would silently open a file that it cannot write
 * for reading only. */
static int check_access(const char *path, int mode, struct error *err)
{
        if (faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0)
                return 0;
        return fail(err, -errno, "%s: %m; it must be writable for this user, see --state-dir",
                    path);
}

static int make_file(const char *path, struct error *err)
{
        scoped_fd int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

        return fd < 0 ? fail(err, -errno, "making %s: %m; see --state-dir", path) : 0;
}

int files_check(const char *path, bool make, struct error *err)
{
        char folder[DATABASE_PATH_BYTES], name[DATABASE_PATH_BYTES];
        int there[SUFFIXES], made = 0;
        int rc = folder_of(path, folder, err);

        if (rc < 0)
                return rc;
        if (make)
                made = make_folders(folder);
        rc = check_folder(folder, made, err);
        if (rc == 0)
                rc = check_access(folder, R_OK | W_OK | X_OK, err);
        for (size_t i = 0; i < SUFFIXES && rc >= 0; i++) {
                snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
                rc = there[i] = check_file(name, err);
                if (rc > 0)
                        rc = check_access(name, R_OK | W_OK, err);
        }
        if (rc < 0)
                return rc;
        if (there[0])
                return 0;
        for (size_t i = 1; i < SUFFIXES; i++) {
                if (there[i])
                        return fail(err, -EBADMSG,
                                    "%s is missing, but not its %s; restore it, or start with "
                                    "--reset-database, which puts that aside too",
                                    path, suffixes[i]);
        }
        return make ? make_file(path, err) : fail(err, -ENOENT, "there is no database %s", path);
}

int files_drop(const char *path, struct error *err)
{
        char name[DATABASE_PATH_BYTES];

        for (size_t i = 0; i < SUFFIXES; i++) {
                snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
                if (unlink(name) < 0 && errno != ENOENT)
                        return fail(err, -errno, "%s: %m", name);
        }
        return 0;
}

static int sync_path(const char *path, int flags, struct error *err)
{
        scoped_fd int fd = open(path, flags | O_CLOEXEC);

        if (fd < 0 || fsync(fd) < 0)
                return fail(err, -errno, "%s: %m", path);
        return 0;
}

static int sync_folder(const char *folder, struct error *err)
{
        return sync_path(folder, O_RDONLY | O_DIRECTORY, err);
}

int files_move(const char *from, const char *to, struct error *err)
{
        char folder[DATABASE_PATH_BYTES];
        int rc = folder_of(to, folder, err);

        if (rc == 0)
                rc = sync_path(from, O_RDWR | O_NOFOLLOW, err);
        if (rc == 0 && renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) < 0)
                rc = fail(err, -errno, "%s: %m", to);
        return rc < 0 ? rc : sync_folder(folder, err);
}

/* Checks that no other process has the database open. Locks of this process are not reported. */
static int check_unused(const char *path, struct error *err)
{
        struct flock lock = {
                .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_START, .l_len = LOCK_BYTES
        };
        scoped_fd int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

        if (fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
                return fail(err, -EBUSY, "%s is in use by process %d; end that first", path,
                            lock.l_pid);
        return 0; /* a file that cannot be opened can still be renamed */
}

/* Finds a name to which `path` can be renamed: one that no file has with any of the suffixes. */
static int choose_name(const char *path, char ret[DATABASE_PATH_BYTES], struct error *err)
{
        char stamp[STAMP_BYTES], name[DATABASE_PATH_BYTES];
        time_t now = time(NULL);
        struct tm utc;

        gmtime_r(&now, &utc);
        strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
        for (unsigned i = 1; i < SAME_SECOND; i++) {
                bool is_taken = false;
                int rc =
                        i == 1 ? text_put(ret, DATABASE_PATH_BYTES, err, "%s.aside-%s", path, stamp)
                               : text_put(ret, DATABASE_PATH_BYTES, err, "%s.aside-%s-%u", path,
                                          stamp, i);

                for (size_t j = 0; j < SUFFIXES && rc == 0; j++) {
                        rc = text_put(name, sizeof(name), err, "%s%s", ret, suffixes[j]);
                        is_taken = is_taken ||
                                   faccessat(AT_FDCWD, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
                }
                if (rc < 0 || !is_taken)
                        return rc;
        }
        return fail(err, -EEXIST, "too many files %s.aside-%s", path, stamp);
}

int database_put_aside(const char *path, char ret[DATABASE_PATH_BYTES], struct error *err)
{
        char folder[DATABASE_PATH_BYTES], aside[DATABASE_PATH_BYTES];
        char from[DATABASE_PATH_BYTES], to[DATABASE_PATH_BYTES];
        unsigned moved = 0;
        int rc = folder_of(path, folder, err);

        if (rc == 0)
                rc = check_unused(path, err);
        if (rc == 0)
                rc = choose_name(path, aside, err);
        for (size_t i = 0; i < SUFFIXES && rc == 0; i++) {
                snprintf(from, sizeof(from), "%s%s", path, suffixes[i]);
                snprintf(to, sizeof(to), "%s%s", aside, suffixes[i]);
                if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
                        moved++;
                else if (errno != ENOENT)
                        rc = fail(err, -errno, "putting %s aside: %m", from);
        }
        if (rc == 0 && moved)
                rc = sync_folder(folder, err);
        if (rc == 0)
                snprintf(ret, DATABASE_PATH_BYTES, "%s", moved ? aside : "");
        return rc;
}
