/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes a session: marks its page as removed, checks that no process lives in it, renames the
 * folder, deletes it.
 *
 * A process that gets a slot reads `removed` after it has locked the slot; the remover checks the
 * locks after it has set `removed`. So either the process sees the mark, or the remover sees the
 * lock.
 *
 * A lock on the folder of all sessions lets one process at a time remove a session: otherwise a
 * second remover could clear the first one's mark, or rename a new session of the same name. The
 * renamed folder is deleted without the lock.
 */
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/scoped.h"
#include "common/text.h"
#include "settings/settings.h"
#include "store/folder.h"
#include "store/liveness.h"

/* after this time a leftover is deleted; creating or removing never takes this long */
#define LEFTOVER_SECONDS 60

int store_is_live(const struct store_session *session, struct error *err)
{
        char path[STORE_PATH_BYTES];
        const struct liveness_file file = { path, session->slots_file.device,
                                            session->slots_file.inode };
        int rc = text_put(path, sizeof(path), err, "%s/%s", session->path, FOLDER_SLOTS);
        int fd = rc < 0 ? rc : liveness_open(&file);

        if (fd < 0) {
                errno = -fd;
                return rc < 0 ? rc : fail(err, fd, "%s: %m", path);
        }
        /* a process that recovers a slot, or is about to get it, counts too */
        rc = liveness_probe_any(fd, PAGE_LOCK_LIVE(0), PAGE_LOCK_LIVE(PAGE_SLOTS));
        liveness_close(fd);
        if (rc < 0) {
                errno = -rc;
                return fail(err, rc, "locks of %s: %m", path);
        }
        return rc;
}

/* Marks the session as removed. Returns 0 if no process lives in the session and none can join
 * any more; otherwise clears the mark. Completes a removal that another process began. */
static int retire_session(const struct store *store, const char *name, struct error *err)
{
        struct store_session session;
        int rc = folder_map_session(store, name, true, &session, err);

        if (rc < 0 && rc != -ENOENT)
                wrap(err, "broken; --force removes it all the same");
        if (rc < 0)
                return rc;
        store_release(shared_half(&session.limits->removed), 1);
        fence_seq_cst();
        rc = store_is_live(&session, err);
        if (rc != 0)
                store_release(shared_half(&session.limits->removed), 0);
        if (rc > 0)
                rc = fail(err, -EBUSY, "session %s is in use; end its programs, or use --force",
                          name);
        store_close(&session);
        return rc;
}

/* Marks a session that is in use or broken, for processes that still read the mark. `slots` is
 * not mapped: it may belong to another user, who can truncate it meanwhile. */
static void mark_removed(const struct store *store, const char *name)
{
        struct store_session session;

        if (folder_map_limits(store, name, &session, NULL) < 0)
                return;
        store_release(shared_half(&session.limits->removed), 1);
        store_close(&session);
}

/* A removal under way. */
struct removal {
        bool is_forced;
        bool is_over;     /* the session must not be used any more by anybody */
        bool is_anothers; /* set by name_away(): `slots` belongs to another user */
        /* the folder's new name */
        char away[PAGE_NAME_BYTES];
};

static int name_away(int sessions, const char *name, struct removal *removal, struct error *err)
{
        char stem[PAGE_NAME_BYTES];
        uint32_t uid = 0;
        int rc;

        removal->is_anothers = folder_is_anothers(sessions, name, &uid);
        if (!removal->is_anothers)
                return folder_temporary_name(".old-", removal->away, err);
        rc = text_put(stem, sizeof(stem), err, "%s%u-",
                      removal->is_over ? FOLDER_OVER : FOLDER_OPEN, uid);
        return rc < 0 ? rc : folder_temporary_name(stem, removal->away, err);
}

/* Renames the session's folder, under the lock. Only the renaming is done under the lock,
 * because a tenant can block what follows. */
static int move_away(const struct store *store, const char *name, struct removal *removal,
                     struct error *err)
{
        scoped_fd int sessions = folder_open_sessions(store, false, err);
        int rc;

        if (sessions < 0)
                return sessions;
        rc = folder_lock(sessions);
        if (rc == -EBUSY)
                return fail(err, rc,
                            "another removal in %s does not end; is an aliquot rm stopped?",
                            store->path);
        if (rc < 0) {
                errno = -rc;
                return fail(err, rc, "lock of %s: %m", store->path);
        }
        rc = name_away(sessions, name, removal, err);
        if (rc < 0)
                return rc;
        if (removal->is_forced)
                mark_removed(store, name);
        else
                rc = retire_session(store, name, err);
        if (rc < 0)
                return rc;
        /* Both names are in one folder, so the kernel waits for no lock of the moved folder or
         * its files. If this process dies after the renaming, a later remover finds the folder. */
        return renameat(sessions, name, sessions, removal->away) < 0
                       ? fail(err, -errno, "session %s: %m", name)
                       : 0;
}

static int remove_as(const struct store *store, const char *name, struct removal *removal,
                     struct error *err)
{
        scoped_fd int sessions = -1;
        int rc = settings_check_name("session", name, err);

        if (rc == 0)
                rc = move_away(store, name, removal, err);
        if (rc < 0 || (removal->is_anothers && removal->is_over))
                return rc;
        sessions = folder_open_sessions(store, false, err);
        if (sessions < 0)
                return sessions;
        if (!removal->is_anothers)
                return folder_delete(sessions, removal->away, err);
        folder_look_open(sessions, removal->away);
        return 0;
}

int store_remove(const struct store *store, const char *name, bool force, struct error *err)
{
        return remove_as(store, name, &(struct removal){ .is_forced = force }, err);
}

int store_bury(const struct store *store, const char *name, struct error *err)
{
        return remove_as(store, name, &(struct removal){ .is_forced = true, .is_over = true }, err);
}

int store_set_aside(const struct store *store, const char *name, char ret[PAGE_NAME_BYTES],
                    struct error *err)
{
        char away[PAGE_NAME_BYTES];
        scoped_fd int sessions = folder_open_sessions(store, false, err);
        int rc = sessions < 0 ? sessions : folder_temporary_name(".kept-", away, err);

        if (rc < 0)
                return rc;
        if (renameat(sessions, name, sessions, away) < 0)
                return fail(err, -errno, "session %s: %m", name);
        memcpy(ret, away, sizeof(away));
        return 0;
}

/* Deletes a folder that a killed creator or remover left behind. */
static void tidy(int sessions, const char *name)
{
        struct timespec now;
        struct stat st;

        if (strncmp(name, ".new-", 5) != 0 && strncmp(name, ".old-", 5) != 0)
                return;
        clock_gettime(CLOCK_REALTIME, &now);
        if (fstatat(sessions, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            now.tv_sec - st.st_mtim.tv_sec > LEFTOVER_SECONDS)
                folder_delete(sessions, name, NULL);
}

int store_list(const struct store *store, int (*each)(const char *name, void *context),
               void *context, struct error *err)
{
        int sessions = folder_open_sessions(store, false, err);
        scoped_dir DIR *entries = NULL;
        struct dirent *entry;
        int rc = 0;

        if (sessions == -ENOENT)
                return 0;
        if (sessions < 0)
                return sessions;
        entries = fdopendir(sessions);
        if (!entries) {
                rc = -errno;
                close(sessions);
                return fail(err, rc, "%s: %m", store->path);
        }
        while (rc >= 0 && (entry = readdir(entries))) {
                if (settings_check_name("", entry->d_name, NULL) == 0)
                        rc = each(entry->d_name, context);
                else
                        tidy(sessions, entry->d_name);
        }
        return rc < 0 ? rc : 0;
}
