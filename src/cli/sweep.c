/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/enter.h"
#include "cli/presence.h"
#include "common/scoped.h"
#include "common/text.h"
#include "store/liveness.h"

#define YOUNG_SECONDS 60
#define ENVIRON_BYTES (4u << 20) /* more than the kernel lets a process have by default */

static int slots_file(const struct store_session *session, char path[STORE_PATH_BYTES],
                      struct liveness_file *ret, struct error *err)
{
        *ret = (struct liveness_file){ path, session->slots_file.device,
                                       session->slots_file.inode };
        return text_put(path, STORE_PATH_BYTES, err, "%s/slots", session->path);
}

int sweep_keep(const struct store_session *session, struct error *err)
{
        static char path[STORE_PATH_BYTES];
        static struct liveness_file file;
        void *pin;
        int rc = slots_file(session, path, &file, err);

        if (rc == 0)
                rc = liveness_lock(&file, PAGE_LOCK_KEEPER, &pin);
        if (rc < 0) {
                errno = -rc;
                return fail(err, rc, "lock of %s: %m", path);
        }
        return 0;
}

static bool is_kept(const struct store_session *session)
{
        char path[STORE_PATH_BYTES];
        struct liveness_file file;
        int fd = slots_file(session, path, &file, NULL);
        int rc;

        if (fd == 0)
                fd = liveness_open(&file);
        if (fd < 0)
                return true;
        rc = liveness_probe(fd, PAGE_LOCK_KEEPER);
        liveness_close(fd);
        return rc != 0;
}

/* Whether the environment of a process holds `entry`. */
static bool has_entry(int proc, const char *pid, const char *entry, char *buffer)
{
        char path[64];
        scoped_fd int fd = -1;
        size_t used = 0;
        ssize_t got;

        if (text_put(path, sizeof(path), NULL, "%s/environ", pid) < 0)
                return false;
        fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return false;
        while (used < ENVIRON_BYTES - 1 &&
               (got = read(fd, buffer + used, ENVIRON_BYTES - 1 - used)) > 0)
                used += (size_t)got;
        buffer[used] = '\0';
        for (size_t at = 0; at < used; at += strlen(buffer + at) + 1) {
                if (strcmp(buffer + at, entry) == 0)
                        return true;
        }
        return false;
}

/* A process that does not show its environment counts as having none. */
static bool is_named_by_a_process(const char *name)
{
        scoped_dir DIR *proc = opendir("/proc");
        static char buffer[ENVIRON_BYTES];
        char entry[PAGE_NAME_BYTES + 32];
        struct dirent *process;
        char *end;

        if (!proc || text_put(entry, sizeof(entry), NULL, "ALIQUOT_SESSION=%s", name) < 0)
                return true;
        while ((process = readdir(proc))) {
                if (strtol(process->d_name, &end, 10) == getpid() || *end)
                        continue;
                if (has_entry(dirfd(proc), process->d_name, entry, buffer))
                        return true;
        }
        return false;
}

static bool is_young(const struct store_session *session)
{
        struct stat st;

        return stat(session->path, &st) < 0 || time(NULL) - st.st_mtime < YOUNG_SECONDS;
}

static void remove_unused(const struct store *store, const char *name, bool is_ours)
{
        struct store_session session;
        bool is_used, is_daemons;

        if (!enter_is_fresh_name(name) || store_join(store, name, false, &session, NULL) < 0)
                return;
        is_used = store_is_live(&session, NULL) != 0 ||
                  (!is_ours && (is_young(&session) || is_kept(&session)));
        is_daemons = session.limits->owner == PAGE_OWNER_DAEMON;
        store_close(&session);
        if (is_used || is_named_by_a_process(name))
                return;
        if (!is_daemons)
                store_remove(store, name, false, NULL);
        else if (presence_look(store) == PRESENCE_LISTENS)
                client_remove(store, name, false, NULL);
}

void sweep_one(const struct store *store, const char *name)
{
        remove_unused(store, name, true);
}

static int visit(const char *name, void *context)
{
        remove_unused(context, name, false);
        return 0;
}

void sweep_all(const struct store *store)
{
        struct store copy = *store;

        store_list(store, visit, &copy, NULL);
}
