/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a listener for each session. It is opened when the session's folder is created, and when
 * the daemon starts, and closed when the folder is removed.
 *
 * The socket file stays when the daemon ends. Programs that join then wait until a daemon listens
 * on it again, whereas a missing file means that the session does not exist.
 */
#include "daemon/tenant/tenant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/pidfd.h"
#include "common/scoped.h"
#include "common/text.h"
#include "daemon/base/descriptors.h"
#include "daemon/processes/identity.h"
#include "daemon/tenant/tenant_parts.h"

#define CLOCK_USEC 500000
#define MISSING_BEATS 60u /* clock beats between two searches for sessions without a listener */

const struct tenants_counts *tenants_counts(const struct tenants *tenants)
{
        return &tenants->counts;
}

bool tenants_use_mounts(const struct tenants *tenants)
{
        return tenants->mount >= 0;
}

/* -- A listener ------------------------------------------------------------------------------- */

void tenant_listener_close(struct tenant_listener *listener)
{
        struct tenant_visit *visit = TAILQ_FIRST(&listener->tenants->visits);

        while (visit) {
                struct tenant_visit *next = TAILQ_NEXT(visit, entry);

                if (visit->listener == listener)
                        tenant_visit_leave(visit);
                visit = next;
        }
        tenant_forget_all(listener);
        tenant_accept_end(&listener->accept);
        peers_leave(listener->accept.owner);
        LIST_REMOVE(listener, entry);
        listener->tenants->listener_count--;
        if (listener->accept.fd >= 0)
                sink_close(listener->tenants->options.sink, listener->accept.fd);
        if (listener->limits >= 0)
                close(listener->limits);
        free(listener);
}

static int open_folder(const struct tenants *tenants, const char *name, struct error *err)
{
        char path[STORE_PATH_BYTES];
        int rc = text_put(path, sizeof(path), err, "%s/sessions/%s",
                          node_store(tenants->options.node)->path, name);
        int fd;

        if (rc < 0)
                return rc;
        fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? fail(err, -errno, "%s: %m", path) : fd;
}

static int listener_listen(struct tenant_listener *listener, struct error *err)
{
        scoped_fd int folder = open_folder(listener->tenants, listener->name, err);
        int rc;

        if (folder < 0)
                return folder;
        listener->accept.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (listener->accept.fd < 0)
                return fail(err, -errno, "a socket: %m");
        rc = tenant_bind(
                &(struct tenant_binding){ folder, listener->accept.fd, 0600, listener->owner_uid },
                &listener->device, &listener->inode, err);
        return rc < 0 ? rc : tenant_accept_begin(&listener->accept, err);
}

/* Whether another listener may be opened. Users create sessions, which must not use up all
 * descriptors. */
static bool has_room(struct tenants *tenants)
{
        unsigned most = descriptors_max(SESSIONS_MAX, DESCRIPTORS_SESSIONS);

        /* Log it again only after a quarter of the listeners is gone. */
        if (tenants->listener_count < most - most / 4)
                tenants->is_full = false;
        if (tenants->listener_count < most)
                return true;
        if (!tenants->is_full)
                log_line(LOG_WARN,
                         "%u sessions have a socket, and the limit of open files (RLIMIT_NOFILE) "
                         "leaves no room for more; the others are joined by their files meanwhile",
                         most);
        tenants->is_full = true;
        return false;
}

static struct peer *enter_owner(struct tenants *tenants, uint32_t uid)
{
        const struct peer_key key = peers_user(uid);

        return peers_enter(&tenants->owners, &key, &(struct peers_rate){ 0 }, clock_machine_ns());
}

struct tenant_listener *tenant_listener_new(struct tenants *tenants, uint32_t owner_uid)
{
        struct tenant_listener *listener = has_room(tenants) ? calloc(1, sizeof(*listener)) : NULL;
        struct peer *owner = listener ? enter_owner(tenants, owner_uid) : NULL;

        if (!owner) {
                free(listener);
                return NULL;
        }
        *listener = (struct tenant_listener){
                .tenants = tenants,
                .owner_uid = owner_uid,
                .accept = { .tenants = tenants, .listener = listener, .owner = owner, .fd = -1 },
                .limits = -1
        };
        LIST_INIT(&listener->residents);
        LIST_INSERT_HEAD(&tenants->listeners, listener, entry);
        tenants->listener_count++;
        return listener;
}

static void listener_open(struct tenants *tenants, const struct sessions_one *session)
{
        struct tenant_listener *listener = tenant_listener_new(tenants, session->owner_uid);
        struct error err = { 0 };

        if (!listener)
                return;
        memcpy(listener->name, session->name, sizeof(listener->name));
        memcpy(listener->id, session->id, sizeof(listener->id));
        if (listener_listen(listener, &err) == 0)
                return;
        log_line(LOG_WARN, "the socket of session %s: %s; it is joined by its files meanwhile",
                 session->name, err.text);
        tenant_listener_close(listener);
}

/* -- Sessions are created and removed --------------------------------------------------------- */

struct tenant_listener *tenant_find(const struct tenants *tenants, const char *name)
{
        struct tenant_listener *listener;

        LIST_FOREACH(listener, &tenants->listeners, entry)
        {
                /* cppcheck-suppress uninitvar ; LIST_FOREACH sets it */
                if (strcmp(listener->name, name) == 0)
                        break;
        }
        /* cppcheck-suppress uninitvar ; NULL if the loop has ended */
        return listener;
}

const char *tenants_cgroup(const struct tenants *tenants, const char *session, uint32_t pid)
{
        const struct tenant_listener *listener = tenant_find(tenants, session);
        const struct tenant_resident *resident = listener ? LIST_FIRST(&listener->residents) : NULL;

        while (resident && (uint32_t)resident->peer.pid != pid)
                resident = LIST_NEXT(resident, entry);
        return resident ? resident->peer.cgroup : NULL;
}

/* Whether the session's path still leads to this socket; its folder may have been replaced. */
static bool listener_is_there(const struct tenant_listener *listener,
                              const struct sessions_one *session)
{
        scoped_fd int folder = open_folder(listener->tenants, listener->name, NULL);

        return folder >= 0 && memcmp(listener->id, session->id, sizeof(listener->id)) == 0 &&
               tenant_is_bound(folder, listener->device, listener->inode);
}

static void on_folder(const struct sessions_one *session, bool is_there, void *context)
{
        struct tenants *tenants = context;
        struct tenant_listener *listener = tenant_find(tenants, session->name);

        if (listener && is_there && listener_is_there(listener, session))
                return;
        if (listener)
                tenant_listener_close(listener);
        if (is_there)
                listener_open(tenants, session);
}

/* Opens listeners for sessions that have none, for example because there were no descriptors. */
static void open_missing(struct tenants *tenants)
{
        const struct sessions *all = node_sessions(tenants->options.node);

        unsigned shares = tenants->share ? 1 : 0;

        for (unsigned i = 0; tenants->listener_count < all->count + shares && i < all->entries;
             i++) {
                if (all->session[i].state != SESSIONS_FREE &&
                    !tenant_find(tenants, all->session[i].name))
                        listener_open(tenants, &all->session[i]);
        }
}

static void on_clock(evutil_socket_t fd, short what, void *context)
{
        struct tenants *tenants = context;
        const struct config *config = tenants->options.config;
        const struct peers_rate rate = { config->join_rate_per_second, config->join_rate_burst };
        struct tenant_listener *listener;

        peers_tidy(&tenants->peers, &rate, clock_machine_ns());
        peers_tidy(&tenants->unread, &(struct peers_rate){ 0 }, clock_machine_ns());
        peers_tidy(&tenants->owners, &(struct peers_rate){ 0 }, clock_machine_ns());
        peers_tidy(&tenants->guests, &rate, clock_machine_ns());
        LIST_FOREACH(listener, &tenants->listeners, entry)
        {
                /* cppcheck-suppress uninitvar ; LIST_FOREACH sets it */
                tenant_accept_resume(&listener->accept);
        }
        if (++tenants->beats % MISSING_BEATS == 0)
                open_missing(tenants);
        tenant_doors_tend(tenants);
        tenant_doors_look(tenants);
        tenant_share_sweep(tenants);
}

/* -- Start and stop --------------------------------------------------------------------------- */

/* Warns if the token is short enough to be guessed, and if a token is required but not for joins
 * through files. */
static void warn_of_token(const struct tenants *tenants, const char *origin)
{
        const size_t length = tenants->token.length;

        if (length && length < TOKEN_MIN)
                log_line(LOG_WARN,
                         "%s holds a token of %zu characters, which can be guessed: %u or more are "
                         "better",
                         origin, length, TOKEN_MIN);
        if (tenants->options.config->is_join_token_required)
                log_line(LOG_WARN,
                         "join.token_required: asked of who joins by a socket; a session's owner "
                         "still joins by its files in %s/sessions without a token",
                         node_store(tenants->options.node)->path);
}

int tenants_read_token(const struct config *config, struct token *ret, struct error *err)
{
        const char *file = config->join_token_file;
        const char *said = getenv("GPUSLICE_IPC_TOKEN");
        char place[CONFIG_PLACE_BYTES];

        token_wipe(ret);
        if (file[0])
                return token_read(file, 1, ret, err) < 0
                               ? wrap(err, "%sjoin.token_file",
                                      config_place(config, "join.token_file", place))
                               : 0;
        return said && said[0] ? token_take(said, "GPUSLICE_IPC_TOKEN", ret, err) : 0;
}

int tenants_reload(struct tenants *tenants, struct error *err)
{
        const char *file = tenants->options.config->join_token_file;
        struct token token;
        int rc = tenants_read_token(tenants->options.config, &token, err);

        if (rc == 0) {
                tenants->token = token;
                warn_of_token(tenants, file[0] ? file : "GPUSLICE_IPC_TOKEN");
        }
        token_wipe(&token);
        tenant_doors_follow(tenants);
        tenant_share_keep(tenants);
        return rc;
}

/* Logs which functions this kernel lacks. */
static void say_what_is_missing(const struct tenants *tenants)
{
        const char *folder = node_store(tenants->options.node)->path;

        if (tenants->mount < 0)
                log_line(LOG_INFO,
                         "no read-only mounts here: root in a container can write the limits that "
                         "it is handed");
        if (tenants->mount < 0 && geteuid() == 0 && tenant_may_run_programs(folder))
                log_line(LOG_WARN,
                         "%s is on a mount without nosuid: root in a container can make a program "
                         "of root's in it",
                         folder);
        if (!pidfd_is_there())
                log_line(LOG_WARN,
                         "pidfd_open: %m: processes are held by their folders in /proc, and "
                         "their end is looked for, not told");
}

int tenants_start(struct tenants **ret, const struct tenants_options *options, struct error *err)
{
        const struct timeval every = { .tv_usec = CLOCK_USEC };
        struct tenants *tenants = calloc(1, sizeof(*tenants));
        int rc;

        if (!tenants)
                return fail(err, -ENOMEM, "out of memory");
        tenants->options = *options;
        tenants->mount = -1;
        LIST_INIT(&tenants->peers);
        LIST_INIT(&tenants->unread);
        LIST_INIT(&tenants->owners);
        LIST_INIT(&tenants->guests);
        LIST_INIT(&tenants->doors);
        LIST_INIT(&tenants->listeners);
        TAILQ_INIT(&tenants->visits);
        TAILQ_INIT(&tenants->waiters);
        TAILQ_INIT(&tenants->held);
        rc = tenants_reload(tenants, err);
        if (rc == 0)
                rc = tenant_queue_start(tenants, err);
        tenants->clock = event_new(options->base, -1, EV_PERSIST, on_clock, tenants);
        if (rc == 0 && (!tenants->clock || event_add(tenants->clock, &every) < 0))
                rc = fail(err, -ENOMEM, "out of memory");
        if (rc < 0) {
                tenants_stop(tenants);
                return rc;
        }
        tenants->mount = tenant_mount(node_store(options->node)->path);
        say_what_is_missing(tenants);
        node_watch_folders(options->node, on_folder, tenants);
        open_missing(tenants);
        tenants->is_started = true;
        tenant_share_keep(tenants);
        rc = tenant_doors_start(tenants, err);
        if (rc < 0) {
                tenants_stop(tenants);
                return rc;
        }
        *ret = tenants;
        return 0;
}

void tenants_stop(struct tenants *tenants)
{
        struct tenant_listener *listener, *next;
        struct tenant_visit *visit;

        if (!tenants)
                return;
        node_leave_folders(tenants->options.node, tenants);
        tenant_doors_stop(tenants);
        tenant_wait_stop(tenants);
        tenants->is_started = false;
        tenant_share_keep(tenants);
        for (listener = LIST_FIRST(&tenants->listeners); listener; listener = next) {
                next = LIST_NEXT(listener, entry);
                tenant_listener_close(listener);
        }
        while ((visit = TAILQ_FIRST(&tenants->visits)))
                tenant_visit_end(visit);
        if (tenants->clock)
                event_free(tenants->clock);
        peers_free(&tenants->peers);
        peers_free(&tenants->unread);
        peers_free(&tenants->owners);
        peers_free(&tenants->guests);
        tenant_queue_stop(tenants);
        token_wipe(&tenants->token);
        if (tenants->mount >= 0)
                close(tenants->mount);
        free(tenants);
}
