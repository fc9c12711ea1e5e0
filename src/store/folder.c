/* SPDX-License-Identifier: Apache-2.0 */
#include "store/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/random.h"
#include "common/scoped.h"
#include "common/text.h"
#include "store/liveness.h"
#include "store/raw.h"

#define LOCK_PAUSE_NS UINT64_C(1000000)
/* 5 s in all; a process that works normally holds the lock for milliseconds */
#define LOCK_TRIES 5000u

int folder_open_file(int at, const char *name, int flags)
{
        int fd = openat(at, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);

        return fd < 0 ? -errno : liveness_raise(fd);
}

int folder_lock(int fd)
{
        for (unsigned tries = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; tries++) {
                /* The descriptor was opened with O_PATH: a folder that we may not read is not
                 * ours to change. */
                if (errno == EBADF)
                        return -EACCES;
                if (errno != EWOULDBLOCK && errno != EINTR)
                        return -errno;
                if (tries == LOCK_TRIES)
                        return -EBUSY;
                clock_sleep_ns(LOCK_PAUSE_NS);
        }
        return 0;
}

bool folder_is_trusted(uint32_t uid)
{
        return uid == geteuid() || uid == 0;
}

static int check_directory(int fd, const char *name, struct error *err)
{
        struct stat st;

        if (fstat(fd, &st) < 0)
                return fail(err, -errno, "%s: %m", name);
        if (!folder_is_trusted(st.st_uid))
                return fail(err, -EPERM, "%s belongs to user %u, expected %u", name, st.st_uid,
                            geteuid());
        if (st.st_mode & 022)
                return fail(err, -EPERM,
                            "%s can be written by others (mode %04o); run chmod go-w on it", name,
                            st.st_mode & 07777);
        return 0;
}

/* Restores mode bits that the umask removed from a new folder. Not by name, because another file
 * may have the name by now. Through /proc, because a folder without read permission can only be
 * opened with O_PATH. */
static int give_mode(int at, const char *name)
{
        scoped_fd int fd = folder_open_file(at, name, O_PATH | O_DIRECTORY);
        char path[64];

        if (fd < 0)
                return fd;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        return chmod(path, 0700) < 0 ? -errno : 0;
}

int folder_open_directory(int at, const char *name, bool make, struct error *err)
{
        scoped_fd int fd = -1;
        int rc;

        /* two processes may create it at once: EEXIST is fine */
        if (make && mkdirat(at, name, 0700) == 0)
                give_mode(at, name); /* if that fails, opening the folder reports it */
        else if (make && errno != EEXIST)
                return fail(err, -errno, "make %s: %m", name);
        fd = folder_open_file(at, name, O_RDONLY | O_DIRECTORY);
        /* Tenants may pass through a daemon's folder of all sessions, but not list it. */
        if (fd == -EACCES)
                fd = folder_open_file(at, name, O_PATH | O_DIRECTORY);
        if (fd < 0) {
                errno = -fd;
                if (errno == ENOTDIR || errno == ELOOP)
                        return fail(err, -ENOTDIR,
                                    "%s is a link or a file, expected a folder of this user", name);
                return fail(err, fd, "%s: %m", name);
        }
        rc = check_directory(fd, name, err);
        return rc < 0 ? rc : steal_fd(&fd);
}

static bool is_writable(int folder)
{
        return faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) == 0 || errno != EACCES;
}

int store_try_daemon(const struct store *store)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd, rc;

        if (text_put(address.sun_path, sizeof(address.sun_path), NULL, "%s/" STORE_DAEMON_SOCKET,
                     store->path) < 0)
                return -ENOENT; /* the path is too long for a socket, so nobody can listen there */
        fd = (int)raw_call(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
                return fd;
        fd = liveness_raise(fd);
        rc = (int)raw_call(SYS_connect, fd, (long)&address, sizeof(address));
        liveness_close(fd);
        return rc == -EAGAIN ? 0 : rc; /* -EAGAIN: a daemon listens, but its queue is full */
}

/* Fails with a text that says which users may create sessions in the runtime folder, and what
 * else this user can do. */
static int refuse_to_write(int runtime, const struct store *store, struct error *err)
{
        const char *path = store->path;
        struct stat st;

        if (fstat(runtime, &st) < 0)
                return fail(err, -errno, "%s: %m", path);
        switch (store_try_daemon(store)) {
        case 0:
                return fail(err, -EACCES,
                            "%s belongs to user %u, and only the daemon there makes sessions for "
                            "user %u; start the program with aliquot run, or make a session with "
                            "aliquot create and name it in ALIQUOT_SESSION",
                            path, st.st_uid, geteuid());
        case -EACCES:
                return fail(err, -EACCES,
                            "%s belongs to user %u, and the daemon there does not let user %u in; "
                            "its socket.mode and socket.group say who may",
                            path, st.st_uid, geteuid());
        default:
                return fail(err, -EACCES,
                            "%s belongs to user %u, and user %u cannot make sessions there; start "
                            "aliquotd as user %u, or name a folder of your own with "
                            "ALIQUOT_RUNTIME_DIR",
                            path, st.st_uid, geteuid(), st.st_uid);
        }
}

int folder_open_sessions(const struct store *store, bool make, struct error *err)
{
        scoped_fd int runtime = folder_open_directory(AT_FDCWD, store->path, make, err);
        int rc;

        if (runtime < 0)
                return runtime;
        rc = folder_open_directory(runtime, FOLDER_SESSIONS, make, err);
        if (make && (rc == -EACCES || (rc >= 0 && !is_writable(rc)))) {
                if (rc >= 0)
                        close(rc);
                return refuse_to_write(runtime, store, err);
        }
        return rc < 0 ? (wrap(err, "%s", store->path), rc) : rc;
}

int folder_temporary_name(const char *stem, char ret[PAGE_NAME_BYTES], struct error *err)
{
        unsigned long long number;
        int rc = random_fill(&number, sizeof(number), err);

        return rc < 0 ? rc : text_put(ret, PAGE_NAME_BYTES, err, "%s%016llx", stem, number);
}

/* Maximum depth of a folder to delete: deeper folders do not occur by mistake. */
#define DELETE_DEPTH 16u

static int delete_entry(int at, const char *name, unsigned depth);

static int delete_entries(DIR *entries, unsigned depth)
{
        struct dirent *entry;
        int rc = 0;

        while (rc == 0 && (entry = readdir(entries))) {
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        rc = delete_entry(dirfd(entries), entry->d_name, depth);
        }
        return rc;
}

static int open_entries(int at, const char *name, DIR **ret)
{
        int fd = folder_open_file(at, name, O_RDONLY | O_DIRECTORY);
        int rc;

        if (fd < 0)
                return fd;
        *ret = fdopendir(fd);
        rc = *ret ? 0 : -errno;
        if (rc < 0)
                close(fd);
        return rc;
}

/* Deletes an entry with its content. Another process may delete the same folder: an entry that
 * is already gone counts as deleted. */
static int delete_entry(int at, const char *name, unsigned depth)
{
        scoped_dir DIR *entries = NULL;
        struct stat outside, inside;
        int rc;

        if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
                return 0;
        if (errno != EISDIR || depth == DELETE_DEPTH)
                return -errno;
        rc = open_entries(at, name, &entries);
        if (rc < 0)
                return rc == -ENOENT ? 0 : rc;
        if (fstat(at, &outside) < 0 || fstat(dirfd(entries), &inside) < 0)
                return -errno;
        if (inside.st_dev != outside.st_dev)
                return -EXDEV;
        rc = delete_entries(entries, depth + 1);
        if (rc == 0 && unlinkat(at, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
                rc = -errno;
        return rc;
}

int folder_delete(int sessions_fd, const char *name, struct error *err)
{
        int rc = delete_entry(sessions_fd, name, 0);

        if (rc == 0)
                return 0;
        errno = -rc;
        return fail(err, rc, "delete %s: %m", name);
}
