/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners, admission of connections, and the timer that ends connections that take too long. If
 * the server is full, a newcomer ends a connection of the peer that has the most; if the newcomer's
 * peer already has its maximum, one of that peer's own connections ends. So no number of peers
 * keeps another out, whatever their connections do. A connection of root or of the daemon's owner
 * on the socket never ends for other peers, and some connections are reserved for these two.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/scoped.h"
#include "common/text.h"
#include "daemon/base/descriptors.h"
#include "daemon/base/receive.h"
#include "daemon/base/turn.h"
#include "daemon/http/http_parts.h"

/* length of the queue of connections to accept; a flood would fill a longer one too, and all in it
 * would wait longer */
#define BACKLOG 512
#define CLOCK_USEC 100000
/* maximum number of connections accepted in one turn of the event loop, because other events wait
 * meanwhile */
#define ACCEPTS 64u

struct peers_rate http_rate(const struct http *http)
{
        return (struct peers_rate){ http->options.config->rate_per_second,
                                    http->options.config->rate_burst };
}

unsigned http_connection_count(const struct http *http)
{
        return http->count;
}

/* Closes a TCP socket here, because its peer cannot send descriptors through it; other sockets are
 * closed by the sink. */
void http_close(struct http *http, int fd, bool is_local, const struct peer *counted)
{
        if (!is_local)
                close(fd);
        else if (counted && peers_rests(counted, clock_machine_ns()))
                sink_close_unseen(http->options.sink, fd);
        else
                sink_close(http->options.sink, fd);
}

/* -- The timer -------------------------------------------------------------------------------- */

static void enable_listeners(struct http *http)
{
        if (http->local && sink_takes(http->options.sink))
                evconnlistener_enable(http->local);
        if (http->tcp)
                evconnlistener_enable(http->tcp);
}

static void on_clock(evutil_socket_t fd, short what, void *context)
{
        struct http *http = context;
        struct http_connection *connection = TAILQ_FIRST(&http->connections);
        const struct peers_rate rate = http_rate(http);
        uint64_t now_ns = clock_machine_ns();

        while (connection) {
                struct http_connection *next = TAILQ_NEXT(connection, entry);

                if (connection->deadline_ns && connection->deadline_ns <= now_ns)
                        http_connection_expire(connection);
                connection = next;
        }
        peers_tidy(&http->peers, &rate, now_ns);
        enable_listeners(http);
}

/* -- Admission -------------------------------------------------------------------------------- */

/* Returns in which order a peer's connections are ended for a newcomer, lowest first: idle ones,
 * then those with a request or answer under way, then streams. */
static unsigned order_of(const struct http_connection *connection)
{
        if (connection->phase == HTTP_IDLE)
                return 0;
        return connection->phase == HTTP_STREAM ? 2 : 1;
}

/* Whether `a`, which comes after `b` in the list, is ended before `b`. */
static bool goes_before(const struct http_connection *a, const struct http_connection *b)
{
        if (a->counted->connections != b->counted->connections)
                return a->counted->connections > b->counted->connections;
        return order_of(a) < order_of(b);
}

enum who { WHO_SAME_PEER, WHO_NO_OWNER, WHO_ANYBODY };

static bool is_candidate(const struct http_connection *one, enum who who, const struct peer *peer)
{
        if (who == WHO_SAME_PEER)
                return one->counted == peer;
        return who == WHO_ANYBODY || !one->peer.is_owner;
}

/* Returns the connection that is ended for a newcomer of `peer`: one of the peer that has the most
 * connections, by order_of(), the oldest first. So no peer loses a connection to a peer that has
 * more. */
static struct http_connection *choose_leaver(struct http *http, enum who who,
                                             const struct peer *peer)
{
        struct http_connection *connection, *leaver = NULL;

        TAILQ_FOREACH(connection, &http->connections, entry)
        {
                /* cppcheck-suppress uninitvar ; TAILQ_FOREACH sets it */
                if (is_candidate(connection, who, peer) &&
                    (!leaver || goes_before(connection, leaver)))
                        leaver = connection;
        }
        return leaver;
}

/* Whether there is room for one more connection. Some are reserved for root and the daemon's
 * owner. */
static bool has_place(const struct http *http, bool is_owner)
{
        unsigned most = descriptors_max(http->options.config->connections_max, DESCRIPTORS_HTTP);

        return http->count < most &&
               (is_owner || http->count - http->owner_count < most - peers_reserve(most));
}

bool http_make_room(struct http *http, const struct http_connection *newcomer)
{
        const struct peer *peer = newcomer->counted;
        struct http_connection *leaver;

        if (peer->connections >
            descriptors_max(http->options.config->peer_connections_max, DESCRIPTORS_HTTP_PEER)) {
                leaver = choose_leaver(http, WHO_SAME_PEER, peer);
        } else if (has_place(http, newcomer->peer.is_owner)) {
                return true;
        } else {
                leaver = choose_leaver(http, WHO_NO_OWNER, peer);
                if (!leaver && newcomer->peer.is_owner)
                        leaver = choose_leaver(http, WHO_ANYBODY, peer);
        }
        if (leaver)
                http_connection_end(leaver);
        return leaver;
}

static bool has_had_turn(const struct http *http)
{
        return http->accepted >= descriptors_max(ACCEPTS, DESCRIPTORS_TURN);
}

/* Counts a connection that was accepted in this turn. libevent accepts as long as somebody
 * connects, so peers that do nothing but connect could keep it busy for ever. After ACCEPTS
 * connections the listener is disabled until the loop has handled other events. */
static void count_accept(struct http *http, struct evconnlistener *listener)
{
        http->accepted++;
        turn_come(http->accept_again);
        if (has_had_turn(http) || (listener == http->local && !sink_takes(http->options.sink)))
                evconnlistener_disable(listener);
}

static void on_accept_again(evutil_socket_t fd, short what, void *context)
{
        struct http *http = context;

        if (has_had_turn(http))
                enable_listeners(http);
        http->accepted = 0;
}

static void on_local(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                     int length, void *context)
{
        struct http *http = context;
        struct ucred said;
        socklen_t bytes = sizeof(said);
        struct http_peer peer = { .is_local = true };
        struct peer_key key;

        count_accept(http, listener);
        receive_prepare(fd);
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &said, &bytes) < 0) {
                http_close(http, fd, true, NULL);
                return;
        }
        peer.uid = said.uid;
        peer.gid = said.gid;
        peer.pid = said.pid;
        peer.is_owner = peer.uid == 0 || peer.uid == geteuid();
        key = peers_user(peer.uid);
        http_accept(http, fd, &peer, &key);
}

static void on_tcp(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                   int length, void *context)
{
        const struct http_peer peer = { 0 };
        const struct peer_key key = peers_address(address);
        struct http *http = context;

        count_accept(http, listener);
        http_accept(http, fd, &peer, &key);
}

/* Disables the listener when there are no descriptors left, because connections that wait would
 * wake the loop again at once. on_clock() enables it again. */
static void on_accept_error(struct evconnlistener *listener, void *context)
{
        static uint64_t told_ns;
        const uint64_t now_ns = clock_machine_ns();
        const int error = errno;

        evconnlistener_disable(listener);
        if (log_due(&told_ns, now_ns))
                log_line(LOG_WARN, "accept: %s", strerror(error));
}

static struct evconnlistener *listen_on(struct http *http, int fd, evconnlistener_cb callback)
{
        struct evconnlistener *listener = evconnlistener_new(http->options.base, callback, http,
                                                             LEV_OPT_CLOSE_ON_EXEC, BACKLOG, fd);

        if (listener)
                evconnlistener_set_error_cb(listener, on_accept_error);
        return listener;
}

/* Stops listening; does nothing if `listener` is NULL. */
static void stop_listening(struct http *http, struct evconnlistener *listener)
{
        evutil_socket_t fd;

        if (!listener)
                return;
        fd = evconnlistener_get_fd(listener);
        evconnlistener_free(listener);
        http_close(http, fd, listener != http->tcp, NULL);
}

/* -- Listening -------------------------------------------------------------------------------- */

/* Finds the group in socket.group. *ret is -1 if none is configured: the socket keeps the daemon's
 * own group. */
static int find_group(const struct config *config, gid_t *ret, struct error *err)
{
        const char *name = config->socket_group;
        char place[CONFIG_PLACE_BYTES];
        const struct group *group = name[0] ? getgrnam(name) : NULL;
        char *end;
        unsigned long number;

        *ret = group ? group->gr_gid : (gid_t)-1;
        if (!name[0] || group)
                return 0;
        number = strtoul(name, &end, 10);
        if (*end || number > UINT32_MAX)
                return fail(err, -ENOENT, "%ssocket.group = %s: there is no such group",
                            config_place(config, "socket.group", place), name);
        *ret = (gid_t)number;
        return 0;
}

int http_check_group(const struct config *config, struct error *err)
{
        gid_t group;

        return find_group(config, &group, err);
}

static int give_group(const struct config *config, const char *path, struct error *err)
{
        gid_t group;
        int rc = find_group(config, &group, err);

        if (rc == 0 && group != (gid_t)-1 && lchown(path, (uid_t)-1, group) < 0)
                return fail(err, -errno, "give %s to group %s: %m", path, config->socket_group);
        return rc;
}

int http_admit(const struct config *config, const char *path, struct error *err)
{
        int rc = give_group(config, path, err);

        if (rc == 0 && chmod(path, config->socket_mode) < 0)
                rc = fail(err, -errno, "%s: %m", path);
        return rc;
}

/* Fills in the path at which the socket is bound before it is renamed. */
static int name_unix(const char *path, struct sockaddr_un *ret, struct error *err)
{
        int rc = text_put(ret->sun_path, sizeof(ret->sun_path), err, "%s.new", path);

        ret->sun_family = AF_UNIX;
        if (rc < 0)
                wrap(err, "the path of the socket");
        return rc;
}

int http_check_path(const char *path, struct error *err)
{
        struct sockaddr_un address;

        return name_unix(path, &address, err);
}

/* Binds the socket with mode 0600 first, so that nobody can connect between bind() and chmod() who
 * may not connect afterwards. */
static int bind_unix(const struct config *config, const struct sockaddr_un *address, int fd,
                     struct error *err)
{
        const char *path = address->sun_path;
        mode_t mask;
        int rc;

        if (unlink(path) < 0 && errno != ENOENT)
                return fail(err, -errno, "%s: %m", path);
        mask = umask(0177);
        rc = bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? -errno : 0;
        umask(mask);
        if (rc < 0)
                return fail(err, rc, "%s: %s", path, strerror(-rc));
        return http_admit(config, path, err);
}

/* Listens at a temporary path and then renames the socket, because others can connect as soon as it
 * is at its path. The caller holds the lock of the runtime folder, so an existing socket there
 * belongs to a daemon that has ended, and is replaced. Existing connections stay. */
static int listen_local(struct http *http, struct error *err)
{
        struct sockaddr_un address = { 0 };
        const char *made = address.sun_path;
        struct evconnlistener *listener;
        scoped_fd int fd = -1;
        struct stat st;
        int rc = name_unix(http->local_path, &address, err);

        if (rc < 0)
                return rc;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return fail(err, -errno, "a socket: %m");
        rc = bind_unix(http->options.config, &address, fd, err);
        if (rc < 0)
                return rc;
        listener = listen_on(http, fd, on_local);
        if (!listener)
                return fail(err, -EIO, "listen on %s: %m", http->local_path);
        steal_fd(&fd);
        if (lstat(made, &st) < 0 || rename(made, http->local_path) < 0) {
                rc = fail(err, -errno, "%s: %m", http->local_path);
                stop_listening(http, listener);
                unlink(made);
                return rc;
        }
        stop_listening(http, http->local);
        http->local = listener;
        http->local_device = (uint64_t)st.st_dev;
        http->local_inode = (uint64_t)st.st_ino;
        return 0;
}

int http_listen_unix(struct http *http, const char *path, struct error *err)
{
        int rc = http_check_path(path, err);

        if (rc == 0)
                rc = http_check_group(http->options.config, err);
        if (rc == 0)
                rc = text_put(http->local_path, sizeof(http->local_path), err, "%s", path);
        return rc < 0 ? rc : listen_local(http, err);
}

static bool is_in_place(const struct http *http)
{
        struct stat st;

        return lstat(http->local_path, &st) == 0 && (uint64_t)st.st_dev == http->local_device &&
               (uint64_t)st.st_ino == http->local_inode;
}

void http_look(struct http *http)
{
        struct error err = { 0 };
        int rc;

        if (!http->local || is_in_place(http))
                return;
        rc = listen_local(http, &err);
        if (rc == 0)
                log_line(LOG_WARN,
                         "%s was deleted or replaced under this daemon; it listens there anew",
                         http->local_path);
        else if (rc != http->local_trouble)
                log_line(LOG_ERROR,
                         "%s was deleted or replaced under this daemon, which cannot listen there "
                         "anew and tries again: %s",
                         http->local_path, err.text);
        http->local_trouble = rc;
}

int http_listen_tcp(struct http *http, const struct address *address, unsigned *ret_port,
                    struct error *err)
{
        struct address bound = { .length = sizeof(bound.socket) };
        int fd = socket(address->socket.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        int on = 1, rc = 0;

        if (fd < 0)
                return fail(err, -errno, "a socket: %m");
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (bind(fd, (const struct sockaddr *)&address->socket, address->length) < 0)
                rc = fail(err, -errno, "http.address: %m");
        if (rc == 0) {
                http->tcp = listen_on(http, fd, on_tcp);
                rc = http->tcp ? 0 : fail(err, -EIO, "http.address: listen: %m");
        }
        if (rc < 0) {
                close(fd);
                return rc;
        }
        if (getsockname(fd, (struct sockaddr *)&bound.socket, &bound.length) < 0)
                return fail(err, -errno, "http.address: %m");
        *ret_port = address_port(&bound);
        return 0;
}

/* -- Start and stop --------------------------------------------------------------------------- */

int http_start(struct http **ret, const struct http_options *options, struct error *err)
{
        const struct timeval every = { .tv_usec = CLOCK_USEC };
        struct http *http = calloc(1, sizeof(*http));

        if (!http)
                return fail(err, -ENOMEM, "out of memory");
        http->options = *options;
        TAILQ_INIT(&http->connections);
        LIST_INIT(&http->peers);
        http->clock = event_new(options->base, -1, EV_PERSIST, on_clock, http);
        http->accept_again = event_new(options->base, -1, 0, on_accept_again, http);
        if (!http->accept_again || http_queue_start(http, err) < 0 || !http->clock ||
            event_add(http->clock, &every) < 0) {
                http_stop(http);
                return fail(err, -ENOMEM, "out of memory");
        }
        *ret = http;
        return 0;
}

void http_stop(struct http *http)
{
        struct http_connection *connection;

        if (!http)
                return;
        if (http->local && is_in_place(http)) /* otherwise it may be another daemon's by now */
                unlink(http->local_path);
        stop_listening(http, http->local);
        stop_listening(http, http->tcp);
        while ((connection = TAILQ_FIRST(&http->connections))) {
                evbuffer_write(connection->output, connection->fd);
                http_connection_end(connection);
        }
        http_queue_stop(http);
        if (http->clock)
                event_free(http->clock);
        if (http->accept_again)
                event_free(http->accept_again);
        peers_free(&http->peers);
        free(http);
}
