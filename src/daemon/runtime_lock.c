/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/runtime_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/file_locks.h"
#include "common/text.h"
#include "store/store.h"

#define LOCK_FILE "daemon.lock"
#define TRIES 50u
#define PAUSE_USEC 10000u

/* Locks the file. Commands that look for a daemon hold a shared lock for a moment (cli/presence.c),
 * so only a lock that is held for half a second belongs to another daemon. */
static int try_lock(int fd)
{
        for (unsigned i = 0; i < TRIES; i++) {
                if (flock(fd, LOCK_EX | LOCK_NB) == 0)
                        return 0;
                if (errno != EWOULDBLOCK)
                        return -errno;
                usleep(PAUSE_USEC);
        }
        return -EWOULDBLOCK;
}

/* Opens and locks a path. Returns the descriptor, which stays open as long as the process runs, or
 * a negative errno. */
static int lock_file(const char *folder, const char *path, int flags, struct error *err)
{
        int fd = open(path, flags | O_CLOEXEC, 0600);
        char by[32] = "";
        pid_t holder;
        int code;

        if (fd < 0)
                return fail(err, -errno, "%s: %m", path);
        code = -try_lock(fd);
        if (code == 0)
                return fd;
        close(fd);
        if (code != EWOULDBLOCK)
                return fail(err, -code, "%s: %s", path, strerror(code));
        if (file_locks_find(path, "FLOCK", NULL, &holder) == FILE_LOCKS_HELD && holder)
                snprintf(by, sizeof(by), " (pid %d)", holder);
        return fail(err, -EBUSY, "another aliquotd%s serves %s", by, folder);
}

static int take_file(const char *folder, struct error *err)
{
        char path[STORE_PATH_BYTES + sizeof(LOCK_FILE)];
        int fd, rc = text_put(path, sizeof(path), err, "%s/" LOCK_FILE, folder);

        if (rc < 0)
                return rc;
        fd = lock_file(folder, path, O_RDWR | O_CREAT | O_NOFOLLOW, err);
        if (fd < 0)
                return fd;
        if (ftruncate(fd, 0) < 0 || dprintf(fd, "%d\n", getpid()) < 0) {
                rc = fail(err, -errno, "%s: %m", path);
                close(fd);
        }
        return rc;
}

/* Locks the folder before the file, so that a daemon that is refused has not created the file. */
int runtime_lock_take(const char *folder, struct error *err)
{
        int rc, fd = lock_file(folder, folder, O_RDONLY | O_DIRECTORY, err);

        if (fd < 0)
                return fd;
        rc = take_file(folder, err);
        if (rc < 0)
                close(fd);
        return rc;
}
