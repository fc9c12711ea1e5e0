/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ending a session: say so in its page, see that nobody lives in it, rename it away, delete it.
 *
 * A process that takes a slot looks at `removed` after it has the lock; we look at the locks after
 * we have set `removed`. So either it sees the flag, or we see the lock.
 *
 * Removers take turns, by a lock on the folder of all sessions: a second one would take back the
 * flag of the first, or rename away what somebody made under the same name since.
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

#define LEFTOVER_SECONDS 60 /* no maker or remover takes so long */

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
        /* Who recovers a slot, or is about to take it, lives in it as well. */
        rc = liveness_probe_any(fd, PAGE_LOCK_LIVE(0), PAGE_LOCK_LIVE(PAGE_SLOTS));
        liveness_close(fd);
        if (rc < 0) {
                errno = -rc;
                return fail(err, rc, "locks of %s: %m", path);
        }
        return rc;
}

/* 0 when nobody lives in it any more, and nobody can move in. What somebody else began to remove
 * and did not finish is finished. */
static int retire(const struct store *store, const char *name, struct error *err)
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

/* In use or broken: tell whoever still looks, and go on. `slots` is not mapped: it may be another
 * user's, who can cut it short meanwhile. */
static void mark_removed(const struct store *store, const char *name)
{
        struct store_session session;

        if (folder_map_limits(store, name, &session, NULL) < 0)
                return;
        store_release(shared_half(&session.limits->removed), 1);
        store_close(&session);
}

/* `open`: the stem of its name where it stays, since it is another's and may be open. */
static int remove_as(const struct store *store, const char *name, bool force, const char *open,
                     struct error *err)
{
        char away[PAGE_NAME_BYTES];
        scoped_fd int sessions = -1;
        bool is_anothers;
        int rc = settings_check_name("session", name, err);

        if (rc < 0)
                return rc;
        sessions = folder_open_sessions(store, false, err);
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
        is_anothers = folder_is_anothers(sessions, name);
        rc = folder_temporary_name(is_anothers ? open : ".old-", away, err);
        if (rc < 0)
                return rc;
        if (force)
                mark_removed(store, name);
        else
                rc = retire(store, name, err);
        if (rc < 0)
                return rc;
        if (renameat(sessions, name, sessions, away) < 0)
                return fail(err, -errno, "session %s: %m", name);
        /* From here on whoever looks next finds it, should we end. */
        if (is_anothers) {
                folder_look_open(sessions, away);
                return 0;
        }
        return folder_delete(sessions, away, err);
}

int store_remove(const struct store *store, const char *name, bool force, struct error *err)
{
        return remove_as(store, name, force, FOLDER_OPEN, err);
}

int store_bury(const struct store *store, const char *name, struct error *err)
{
        return remove_as(store, name, true, FOLDER_OVER, err);
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

/* What a killed maker or remover left behind. */
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
