/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/presence.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/file_locks.h"
#include "common/machine_clock.h"
#include "common/scoped.h"
#include "common/text.h"

/* how long the kernel's list of locks is not read again after it was too long */
#define REST_NS UINT64_C(1000000000)

/* Searches the kernel's list of locks. After a list that was too long it pauses, because a caller
 * that asks repeatedly would spend its time reading the list. */
static enum file_locks find_in_list(const char *path)
{
        static uint64_t rests_until_ns;
        enum file_locks found = FILE_LOCKS_UNKNOWN;

        if (clock_machine_ns() >= rests_until_ns)
                found = file_locks_find(path, "FLOCK", "WRITE", NULL);
        if (found == FILE_LOCKS_UNKNOWN && clock_machine_ns() >= rests_until_ns)
                rests_until_ns = clock_machine_ns() + REST_NS;
        return found;
}

/* Checks a lock by taking it shared for a moment; a daemon that starts just then tries again. If
 * this user may not open the file, reads the kernel's list of locks instead. */
static enum file_locks find_lock(const char *path)
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

        if (fd < 0)
                return errno == ENOENT ? FILE_LOCKS_NONE : find_in_list(path);
        return flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK ? FILE_LOCKS_HELD
                                                                        : FILE_LOCKS_NONE;
}

/* Checks the locks of the daemon's file and of the folder. The file can be deleted, but not the
 * folder while it is served. While a daemon starts or ends, for an instant only the folder's lock
 * is held. */
static enum file_locks find_holder(const struct store *store)
{
        char path[STORE_PATH_BYTES + sizeof(PRESENCE_LOCK)];
        enum file_locks folder = find_lock(store->path), file;

        if (folder == FILE_LOCKS_HELD ||
            text_put(path, sizeof(path), NULL, "%s/" PRESENCE_LOCK, store->path) < 0)
                return folder;
        file = find_lock(path);
        return file == FILE_LOCKS_NONE ? folder : file;
}

bool presence_is_barred(const struct store *store)
{
        return presence_look(store) == PRESENCE_BARRED && find_holder(store) != FILE_LOCKS_NONE;
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
        switch (find_holder(store)) {
        case FILE_LOCKS_HELD:
                return PRESENCE_STARTS;
        case FILE_LOCKS_UNKNOWN:
                return PRESENCE_UNKNOWN;
        default:
                return PRESENCE_NONE;
        }
}
