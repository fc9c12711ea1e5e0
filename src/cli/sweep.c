/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/presence.h"
#include "common/aside.h"
#include "common/machine_clock.h"
#include "common/maps.h"
#include "common/scoped.h"
#include "common/text.h"
#include "store/liveness.h"

#define YOUNG_SECONDS 60
/* a search takes milliseconds unless the machine is overloaded */
#define SEARCH_NS (5 * CLOCK_SECOND_NS)
/* more than the kernel allows a process by default */
#define ENVIRON_BYTES (4u << 20)

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

/* -- Searching all processes ------------------------------------------------------------------- */

struct sweep_search {
        bool (*is_it)(const struct sweep_search *search, int proc, const char *pid);
        const struct store *store; /* used in a search by name, as are the next two fields */
        const char *name;
        pid_t command, asker; /* processes that are not examined */
        struct maps_file slots;
};

/* Returns whether this user started the process. Another user's process cannot join this user's
 * sessions, whatever its environment is, and could block the reader. A setuid program counts for
 * the user who started it. Reading a status file never blocks. */
static bool is_this_users(int proc, const char *pid)
{
        scoped_file FILE *status = NULL;
        char path[64], line[512];
        unsigned uid;
        int fd;

        if (text_put(path, sizeof(path), NULL, "%s/status", pid) < 0)
                return false;
        fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
        status = fd < 0 ? NULL : fdopen(fd, "r");
        while (status && fgets(line, sizeof(line), status)) {
                if (sscanf(line, "Uid: %u", &uid) == 1)
                        return uid == geteuid();
        }
        return false;
}

/* Returns whether any process matches the search. */
static uint8_t look_at_all(void *context)
{
        const struct sweep_search *search = context;
        const pid_t self = getpid();
        scoped_dir DIR *proc = opendir("/proc");
        struct dirent *process;
        char *end;

        while (proc && (process = readdir(proc))) {
                long pid = strtol(process->d_name, &end, 10);

                if (*end || pid == self || pid == search->command || pid == search->asker)
                        continue;
                if (is_this_users(dirfd(proc), process->d_name) &&
                    search->is_it(search, dirfd(proc), process->d_name))
                        return true;
        }
        return !proc;
}

/* A search took too long. The next one would too, so there is none: even with many sessions the
 * command waits only once. */
static bool is_cut_off;

/* Runs a search in a separate process. Returns true even if the search did not end in time. */
static bool is_found(struct sweep_search *search)
{
        const struct aside_question question = { "aliquot-sweep", look_at_all, search };
        int found;

        search->command = getpid();
        found = is_cut_off ? -ETIME : aside_ask(&question, SEARCH_NS);
        is_cut_off = found == -ETIME;
        return found != 0;
}

#define SESSION_IS "ALIQUOT_SESSION="
#define FOLDER_IS "ALIQUOT_RUNTIME_DIR="
/* the folder of this socket may be the runtime folder */
#define SOCKET_IS "GPUSLICE_IPC_SOCK="

static bool begins(const char *entry, const char *key)
{
        return strncmp(entry, key, strlen(key)) == 0;
}

/* Returns whether the environment of a process contains the session's name and this runtime folder.
 * A process without a folder in its environment uses one of the usual folders. */
static bool names_session(const char *environment, size_t bytes, const struct sweep_search *search)
{
        bool has_name = false, is_elsewhere = !store_is_usual(search->store);
        const char *folder = NULL;

        for (size_t at = 0; at < bytes; at += strlen(environment + at) + 1) {
                const char *entry = environment + at;

                if (begins(entry, SESSION_IS))
                        has_name = strcmp(entry + strlen(SESSION_IS), search->name) == 0;
                else if (begins(entry, FOLDER_IS))
                        folder = entry + strlen(FOLDER_IS);
                else if (begins(entry, SOCKET_IS))
                        is_elsewhere = false;
        }
        if (folder)
                is_elsewhere = strcmp(folder, search->store->path) != 0;
        return has_name && !is_elsewhere;
}

static bool is_named(const struct sweep_search *search, int proc, const char *pid)
{
        static char environment[ENVIRON_BYTES];
        scoped_fd int fd = -1;
        char path[64];
        size_t used = 0;
        ssize_t got;

        if (text_put(path, sizeof(path), NULL, "%s/environ", pid) < 0)
                return false;
        fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
        while (fd >= 0 && used < ENVIRON_BYTES - 1 &&
               (got = read(fd, environment + used, ENVIRON_BYTES - 1 - used)) > 0)
                used += (size_t)got;
        environment[used] = '\0';
        return names_session(environment, used, search);
}

bool sweep_is_named(const struct store *store, const char *name, pid_t asker)
{
        struct sweep_search search = {
                .is_it = is_named, .store = store, .name = name, .asker = asker
        };

        return is_found(&search);
}

static bool has_mapped(const struct sweep_search *search, int proc, const char *pid)
{
        return maps_has(pid, &search->slots, "slots") == 1;
}

bool sweep_is_mapped(const struct store *store, const char *name)
{
        struct sweep_search search = { .is_it = has_mapped };
        struct store_session session;
        int rc;

        if (store_join(store, name, false, &session, NULL) < 0)
                return true;
        rc = maps_find(session.slots, &search.slots);
        store_close(&session); /* otherwise the search would find this process */
        return rc < 0 || is_found(&search);
}

/* -- Removing -----------------------------------------------------------------------------------
 */

static bool is_young(const struct store_session *session)
{
        struct stat st;

        return stat(session->path, &st) < 0 || time(NULL) - st.st_mtime < YOUNG_SECONDS;
}

/* Removes an unused session. Returns true if it is removed, or will be when its daemon notices. */
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
        is_cut_off = false;
        remove_unused(store, name, true);
}

bool sweep_old(const struct store *store, const char *name)
{
        return remove_unused(store, name, false);
}

static int visit_session(const char *name, void *context)
{
        sweep_old(context, name);
        return 0;
}

void sweep_all(const struct store *store)
{
        struct store copy = *store;

        store_list(store, visit_session, &copy, NULL);
}
