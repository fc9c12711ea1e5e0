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
#include "cli/presence.h"
#include "common/maps.h"
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

#define SESSION_IS "ALIQUOT_SESSION="
#define FOLDER_IS "ALIQUOT_RUNTIME_DIR="
#define SOCKET_IS "GPUSLICE_IPC_SOCK=" /* its folder may be the runtime folder */

static bool begins(const char *entry, const char *key)
{
        return strncmp(entry, key, strlen(key)) == 0;
}

/* Whether the environment of a process names the session, in this folder. A process that names no
 * folder has one of the usual folders. */
static bool names_session(int proc, const char *pid, const struct store *store, const char *name,
                          char *buffer)
{
        bool has_name = false, is_elsewhere = !store_is_usual(store);
        const char *folder = NULL;
        scoped_fd int fd = -1;
        char path[64];
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
                const char *entry = buffer + at;

                if (begins(entry, SESSION_IS))
                        has_name = strcmp(entry + strlen(SESSION_IS), name) == 0;
                else if (begins(entry, FOLDER_IS))
                        folder = entry + strlen(FOLDER_IS);
                else if (begins(entry, SOCKET_IS))
                        is_elsewhere = false;
        }
        if (folder)
                is_elsewhere = strcmp(folder, store->path) != 0;
        return has_name && !is_elsewhere;
}

bool sweep_is_named(const struct store *store, const char *name, pid_t asker)
{
        scoped_dir DIR *proc = opendir("/proc");
        static char buffer[ENVIRON_BYTES];
        struct dirent *process;
        char *end;

        if (!proc)
                return true;
        while ((process = readdir(proc))) {
                long pid = strtol(process->d_name, &end, 10);

                if (*end || pid == getpid() || pid == asker)
                        continue;
                if (names_session(dirfd(proc), process->d_name, store, name, buffer))
                        return true;
        }
        return false;
}

static bool has_mapped(const char *pid, uint64_t inode)
{
        scoped_maps struct maps maps = { 0 };

        if (maps_open(&maps, pid) < 0)
                return false;
        while (maps_next(&maps)) {
                if (maps.inode == inode && maps_is_named(&maps, "slots"))
                        return true;
        }
        return false;
}

bool sweep_is_mapped(const struct store *store, const char *name)
{
        scoped_dir DIR *proc = opendir("/proc");
        struct store_session session;
        struct dirent *process;
        uint64_t inode;
        char *end;

        if (!proc || store_join(store, name, false, &session, NULL) < 0)
                return true;
        inode = session.slots_file.inode;
        store_close(&session);
        while ((process = readdir(proc))) {
                strtol(process->d_name, &end, 10);
                if (!*end && has_mapped(process->d_name, inode))
                        return true;
        }
        return false;
}

static bool is_young(const struct store_session *session)
{
        struct stat st;

        return stat(session->path, &st) < 0 || time(NULL) - st.st_mtime < YOUNG_SECONDS;
}

/* True: it is gone, or will be as soon as its daemon has heard that. */
static bool remove_unused(const struct store *store, const char *name, bool is_ours)
{
        struct store_session session;
        bool is_used, is_daemons;

        if (!store_is_fresh_name(name) || store_join(store, name, false, &session, NULL) < 0)
                return false;
        is_used = store_is_live(&session, NULL) != 0 ||
                  (!is_ours && (is_young(&session) || is_kept(&session)));
        is_daemons = session.limits->owner == PAGE_OWNER_DAEMON;
        store_close(&session);
        if (is_used || sweep_is_named(store, name, 0))
                return false;
        if (!is_daemons)
                return store_remove(store, name, false, NULL) == 0;
        return presence_look(store) == PRESENCE_LISTENS &&
               client_remove(store, name, false, NULL) == 0;
}

void sweep_one(const struct store *store, const char *name)
{
        remove_unused(store, name, true);
}

bool sweep_old(const struct store *store, const char *name)
{
        return remove_unused(store, name, false);
}

static int visit(const char *name, void *context)
{
        sweep_old(context, name);
        return 0;
}

void sweep_all(const struct store *store)
{
        struct store copy = *store;

        store_list(store, visit, &copy, NULL);
}
