/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/presence.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/file_locks.h"
#include "common/scoped.h"
#include "common/text.h"

/* Sharing the lock for a moment tells. A daemon that starts just then tries again. For a user who
 * may not open the file the kernel's list does, and one that cannot be read to its end counts as a
 * lock. */
static bool is_locked(const char *path)
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

        if (fd < 0)
                return errno != ENOENT &&
                       file_locks_find(path, "FLOCK", "WRITE", NULL) != FILE_LOCKS_NONE;
        return flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* The file can be deleted, the folder not while it is served; by their order in the daemon the
 * folder is held alone for an instant, too. */
static bool is_held(const struct store *store)
{
        char path[STORE_PATH_BYTES + sizeof(PRESENCE_LOCK)];

        return is_locked(store->path) ||
               (text_put(path, sizeof(path), NULL, "%s/" PRESENCE_LOCK, store->path) == 0 &&
                is_locked(path));
}

bool presence_is_barred(const struct store *store)
{
        return presence_look(store) == PRESENCE_BARRED && is_held(store);
}

bool presence_has_been(const struct store *store)
{
        char path[STORE_PATH_BYTES + sizeof(PRESENCE_LOCK)];

        return text_put(path, sizeof(path), NULL, "%s/" PRESENCE_LOCK, store->path) == 0 &&
               access(path, F_OK) == 0;
}

enum presence presence_look(const struct store *store)
{
        int rc = store_try_daemon(store);

        if (rc == 0)
                return PRESENCE_LISTENS;
        if (rc == -EACCES || rc == -EPERM)
                return PRESENCE_BARRED;
        return is_held(store) ? PRESENCE_STARTS : PRESENCE_NONE;
}
