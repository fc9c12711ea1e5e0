/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles one connection: reads a HELLO, answers it, and ends the connection. If the HELLO does not
 * arrive in time, the connection ends.
 *
 * A connection to a door gets its session when its HELLO is read. From then on it is handled like a
 * connection to that session's own socket.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/scoped.h"
#include "common/text.h"
#include "daemon/base/descriptors.h"
#include "daemon/base/receive.h"
#include "daemon/tenant/tenant_parts.h"

#define BUSY_MS 20u /* retry delay, unless the rate of joins gives another one */

/* The answer to one visit. */
struct reply {
        struct tenant_visit *visit;
        unsigned version; /* protocol version; 0: none was agreed on */
        int code;         /* enum message_code; 0: the peer is let in */
        uint32_t retry_ms;
        uint32_t wait_ms;
        struct error err; /* reason of a refusal */
};

static struct peers_rate rate_of(const struct tenants *tenants)
{
        return (struct peers_rate){ tenants->options.config->join_rate_per_second,
                                    tenants->options.config->join_rate_burst };
}

void tenant_visit_end(struct tenant_visit *visit)
{
        struct tenants *tenants = visit->tenants;

        TAILQ_REMOVE(&tenants->visits, visit, entry);
        if (visit->is_held)
                TAILQ_REMOVE(&tenants->held, visit, held);
        tenants->crowd[visit->is_doors].connections--;
        tenants->counts.connections--;
        tenant_unread_end(visit);
        event_free(visit->event);
        tenant_queue_remove(tenants, &visit->message);
        if (peers_rests(visit->counted, clock_machine_ns()))
                sink_close_unseen(tenants->options.sink, visit->fd);
        else
                sink_close(tenants->options.sink, visit->fd);
        peers_leave(visit->counted);
        tenant_peer_end(&visit->peer);
        free(visit->guest);
        free(visit);
}

void tenant_visit_leave(struct tenant_visit *visit)
{
        tenant_queue_remove(visit->tenants, &visit->message);
        visit->door = NULL;
        if (tenant_is_unread(visit))
                visit->listener = NULL;
        else
                tenant_visit_end(visit);
}

/* -- The answer ------------------------------------------------------------------------------- */

static int set_refusal(struct reply *reply, enum message_code code, const char *why)
{
        fail(&reply->err, -EPERM, "%s", why);
        return (int)code;
}

static int check_token(struct reply *reply, const struct message_asked *asked)
{
        const struct tenants *tenants = reply->visit->tenants;
        const struct token *token = &tenants->token;

        if (!token->length)
                return 0;
        if (!asked->token)
                return tenants->options.config->is_join_token_required
                               ? set_refusal(reply, MESSAGE_BAD_TOKEN,
                                             "the daemon wants a token; say it in "
                                             "ALIQUOT_JOIN_TOKEN")
                               : 0;
        if (token_is(token, asked->token, asked->token_bytes))
                return 0;
        return set_refusal(reply, MESSAGE_BAD_TOKEN, "this is not the daemon's token");
}

static int check_session(struct reply *reply, const struct message_asked *asked)
{
        const struct tenant_listener *listener = reply->visit->listener;
        const struct sessions_one *session =
                sessions_find(node_sessions(listener->tenants->options.node), listener->name);

        if (!session || memcmp(session->id, listener->id, sizeof(listener->id)) != 0 ||
            session->state != SESSIONS_OPEN) {
                fail(&reply->err, -EBUSY, "session %s has ended", listener->name);
                return MESSAGE_ENDED;
        }
        if (asked->has_session_id &&
            memcmp(asked->session_id, listener->id, sizeof(listener->id)) != 0) {
                fail(&reply->err, -ENOENT,
                     "this is the socket of session %s, and not of the one "
                     "asked for",
                     listener->name);
                return MESSAGE_OTHER_SESSION;
        }
        return 0;
}

static int check_rate(struct reply *reply)
{
        struct tenant_visit *visit = reply->visit;
        const struct peers_rate rate = rate_of(visit->tenants);
        unsigned seconds;

        if (peers_take(visit->counted, &rate, clock_machine_ns(), &seconds))
                return 0;
        reply->retry_ms = rate.per_second > 1000 / BUSY_MS ? BUSY_MS : 1000 / rate.per_second + 1;
        fail(&reply->err, -EBUSY, "more than %u joins a second", rate.per_second);
        return MESSAGE_TOO_MANY;
}

/* Refuses a peer with too many unread welcomes. */
static int check_unread(struct reply *reply)
{
        const struct tenant_visit *visit = reply->visit;

        if (tenant_unread_begin(reply->visit))
                return 0;
        reply->retry_ms = BUSY_MS;
        fail(&reply->err, -EBUSY, "user %u has not read its other welcomes", visit->peer.uid);
        return MESSAGE_TOO_MANY;
}

static int check_owner(struct reply *reply)
{
        const struct tenant_visit *visit = reply->visit;

        if (visit->listener->is_share || visit->peer.uid == visit->listener->owner_uid ||
            visit->peer.uid == 0)
                return 0;
        return set_refusal(reply, MESSAGE_NOT_YOURS, "the session is another user's");
}

/* Creates a session for the program, to which the visit belongs from now on. */
static int enter_by_share(struct reply *reply)
{
        struct tenant_visit *visit = reply->visit;
        struct tenant_listener *made = tenant_share_admit(visit, &reply->err);

        if (!made)
                return MESSAGE_TROUBLE;
        visit->listener = made;
        visit->is_by_share = true;
        return 0;
}

/* Ends the session of a program that was refused after it was created. */
static void leave_share(struct tenant_visit *visit)
{
        char name[SESSIONS_NAME_BYTES];

        memcpy(name, visit->listener->name, sizeof(name));
        visit->listener = visit->tenants->share;
        tenant_share_undo(visit->tenants, name);
}

/* Finds or creates the session of a connection to a door. Any user of the container may join. */
static int enter_by_door(struct reply *reply)
{
        struct tenant_refusal refusal = { 0 };
        int code = tenant_door_admit(reply->visit, &refusal);

        if (code) {
                reply->retry_ms = refusal.retry_ms;
                reply->wait_ms = refusal.wait_ms;
                reply->err = refusal.why;
        }
        return code;
}

/* Decides the answer to a HELLO. The rate is checked first, even for a malformed message, so that
 * guessing tokens is slow. */
static void judge_hello(struct reply *reply, const void *message, size_t bytes,
                        struct message_asked *ret)
{
        const struct tenant_visit *visit = reply->visit;
        int malformed = message_read_hello(message, bytes, ret, &reply->err);

        reply->version = malformed ? 0 : ret->version;
        reply->code = check_rate(reply);
        if (!reply->code)
                reply->code = malformed;
        if (!reply->code && !visit->door)
                reply->code = check_owner(reply);
        if (!reply->code)
                reply->code = check_token(reply, ret);
        if (!reply->code && visit->door)
                reply->code = enter_by_door(reply);
        else if (!reply->code && visit->listener->is_share)
                reply->code = enter_by_share(reply);
        if (!reply->code)
                reply->code = check_session(reply, ret);
        if (!reply->code)
                reply->code = check_unread(reply);
}

/* Charges the time of a call on the socket to the session and its owner, or to the container, which
 * is both. */
static void end_call(const struct tenant_visit *visit, uint64_t begin_ns)
{
        peers_call_end(visit->counted, begin_ns, clock_machine_ns());
        if (visit->owner != visit->counted)
                peers_call_end(visit->owner, begin_ns, clock_machine_ns());
}

/* Sends the answer. The socket has room for one message even if the peer does not read, because
 * nothing was sent before. */
static bool deliver(const struct tenant_visit *visit, const void *message, size_t bytes,
                    const int *descriptors, unsigned count)
{
        uint64_t begin_ns = peers_call_begin();
        bool is_sent;

        union {
                struct cmsghdr head;
                char room[CMSG_SPACE(MESSAGE_DESCRIPTORS * sizeof(int))];
        } control = { 0 };
        struct iovec part = { (void *)message, bytes };
        struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

        if (count) {
                header.msg_control = &control;
                header.msg_controllen = sizeof(control.room);
                control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(count * sizeof(int)),
                                                 .cmsg_level = SOL_SOCKET,
                                                 .cmsg_type = SCM_RIGHTS };
                memcpy(CMSG_DATA(&control.head), descriptors, count * sizeof(int));
        }
        is_sent = sendmsg(visit->fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)bytes;
        end_call(visit, begin_ns);
        return is_sent;
}

/* Refuses because too many descriptors of the daemon's user are in flight, perhaps also those of
 * other programs. */
static int be_in_flight(struct reply *reply)
{
        struct tenants *tenants = reply->visit->tenants;

        if (!tenants->is_in_flight_told)
                log_line(LOG_WARN,
                         "session %s: the kernel sends no more descriptors for this user "
                         "(RLIMIT_NOFILE), as too many were not received yet; joiners by socket "
                         "are told to come again",
                         reply->visit->listener->name);
        tenants->is_in_flight_told = true;
        reply->retry_ms = BUSY_MS;
        fail(&reply->err, -EBUSY, "too many descriptors are in flight");
        return MESSAGE_TOO_MANY;
}

static void let_in(struct reply *reply)
{
        struct tenant_visit *visit = reply->visit;
        struct tenant_listener *listener = visit->listener;
        struct message_welcome welcome;
        scoped_fd int slots = -1;

        if (tenant_open_pages(listener, &slots, &reply->err) < 0) {
                log_line(LOG_WARN, "session %s: %s", listener->name, reply->err.text);
                reply->code =
                        set_refusal(reply, MESSAGE_TROUBLE,
                                    "the session's pages cannot be opened; see the daemon's log");
                return;
        }
        /* now, because the process still waits for the answer */
        tenant_peer_identify(&visit->peer);
        message_write_welcome(&welcome, reply->version, listener->id, listener->name,
                              listener->is_mounted ? MESSAGE_READ_ONLY_MOUNT : 0);
        welcome.page_version = listener->page_version;
        if (!deliver(visit, &welcome, sizeof(welcome), (const int[]){ listener->limits, slots },
                     MESSAGE_DESCRIPTORS)) {
                if (errno == ETOOMANYREFS)
                        reply->code = be_in_flight(reply);
                return;
        }
        visit->tenants->counts.joined++;
        log_line(LOG_DEBUG, "pid %d of uid %u in %s joined session %s", visit->peer.pid,
                 visit->peer.uid, visit->peer.cgroup[0] ? visit->peer.cgroup : "-", listener->name);
        tenant_watch(visit);
}

static void send_refusal(struct reply *reply)
{
        struct tenant_visit *visit = reply->visit;
        struct message_refused refused;

        visit->tenants->counts.refused[reply->code]++;
        /* At debug level, because a peer could fill the log. Metrics count refusals. */
        log_line(LOG_DEBUG, "%s %s: pid %d of uid %u was refused: %s",
                 visit->door ? "door" : "session",
                 visit->door ? visit->door->profile.name : visit->listener->name, visit->peer.pid,
                 visit->peer.uid, reply->err.text);
        message_write_refused(&refused, reply->version, (enum message_code)reply->code,
                              reply->retry_ms, reply->err.text);
        refused.wait_ms = reply->wait_ms;
        deliver(visit, &refused, sizeof(refused), NULL, 0);
}

/* Ends the visit after its answer was sent, or keeps it until a welcome is read. */
static void end_answered(struct tenant_visit *visit)
{
        if (tenant_is_unread(visit))
                tenant_unread_await(visit);
        else
                tenant_visit_end(visit);
}

/* Postpones the answer until the sessions of this turn are saved, and reads no more from the
 * visit. */
static void hold_back(struct tenant_visit *visit, unsigned version)
{
        event_del(visit->event);
        visit->version = version;
        visit->is_held = true;
        TAILQ_INSERT_TAIL(&visit->tenants->held, visit, held);
}

static void answer_message(struct tenant_visit *visit, const void *message, size_t bytes)
{
        struct reply reply = { .visit = visit };
        struct message_asked asked = { 0 };

        judge_hello(&reply, message, bytes, &asked);
        if (!reply.code && visit->door && visit->tenants->is_batch) {
                hold_back(visit, reply.version);
                return;
        }
        if (!reply.code)
                let_in(&reply);
        if (reply.code)
                send_refusal(&reply);
        if (reply.code && visit->is_by_share)
                leave_share(visit);
        end_answered(visit);
}

/* -- Sessions created in one turn -------------------------------------------------------------- */

void tenant_batch_begin(struct tenants *tenants)
{
        if (!tenants->is_batch)
                database_begin_batch(node_database(tenants->options.node));
        tenants->is_batch = true;
}

static void answer_held(struct tenant_visit *visit, int saved)
{
        struct reply reply = { .visit = visit, .version = visit->version };

        TAILQ_REMOVE(&visit->tenants->held, visit, held);
        visit->is_held = false;
        if (saved < 0)
                reply.code = set_refusal(
                        &reply, MESSAGE_TROUBLE,
                        "the container's session cannot be saved; see the daemon's log");
        else
                let_in(&reply);
        if (reply.code)
                send_refusal(&reply);
        end_answered(visit);
}

void tenant_batch_end(struct tenants *tenants)
{
        struct tenant_visit *visit, *next;
        struct error err = { 0 };
        int rc;

        if (!tenants->is_batch)
                return;
        tenants->is_batch = false;
        rc = database_end_batch(node_database(tenants->options.node), &err);
        if (rc < 0)
                log_line(LOG_ERROR, "sessions of containers: %s", err.text);
        for (visit = TAILQ_FIRST(&tenants->held); visit; visit = next) {
                next = TAILQ_NEXT(visit, held);
                answer_held(visit, rc);
        }
}

/* -- Reading a message ------------------------------------------------------------------------ */

static void end_silent(struct tenant_visit *visit)
{
        visit->tenants->counts.silent++;
        tenant_visit_end(visit);
}

/* Reads and answers a message. False: nothing has arrived yet. Otherwise the visit ends, or will
 * end when its welcome is read. */
static bool read_message(struct tenant_visit *visit)
{
        char message[MESSAGE_MAX + 1];
        uint64_t begin_ns = peers_call_begin();
        ssize_t got = peers_rests(visit->counted, clock_machine_ns())
                              ? -EBUSY
                              : receive_plain(visit->fd, message, sizeof(message));

        end_call(visit, begin_ns);
        tenant_queue_remove(visit->tenants, &visit->message);
        if (got == -EAGAIN || got == -EINTR)
                return false;
        if (got <= 0) {
                end_silent(visit);
                return true;
        }
        answer_message(visit, message, (size_t)got);
        explicit_bzero(message, (size_t)got);
        return true;
}

static void on_message(evutil_socket_t fd, short what, void *context)
{
        struct tenant_visit *visit = context;
        struct tenants *tenants = visit->tenants;

        if (visit->unread)
                tenant_unread_look(visit, what);
        else if (what & EV_READ)
                tenant_queue_add(tenants, visit->owner, &visit->message);
        else if (!read_message(visit))
                end_silent(visit);
        tenant_batch_end(tenants);
}

static void hear_message(void *of)
{
        read_message(of);
}

/* -- New connections -------------------------------------------------------------------------- */

/* Ends the oldest visit to the same kind of socket, or of the same peer, because it has had the
 * most time. If it has sent a HELLO, that is still answered. Visits with unread welcomes are kept;
 * they are few, see tenant_unread_begin(). */
static void end_oldest(const struct tenant_visit *newest, bool is_of_peer)
{
        struct tenants *tenants = newest->tenants;
        const struct tenant_crowd *crowd = &tenants->crowd[newest->is_doors];
        const unsigned before = crowd->connections;
        struct tenant_visit *visit = TAILQ_FIRST(&tenants->visits);

        while (visit && crowd->connections == before) {
                struct tenant_visit *next = TAILQ_NEXT(visit, entry);

                if (visit->is_held || visit->is_doors != newest->is_doors ||
                    (is_of_peer && visit->counted != newest->counted))
                        ; /* not this one */
                else if (visit->unread)
                        tenant_unread_look(visit, 0);
                else if (!read_message(visit))
                        end_silent(visit);
                visit = next;
        }
}

/* Finds the container of a peer that connected to a door. NULL: out of memory. */
static struct tenant_guest *make_guest(const struct tenant_peer *peer)
{
        struct tenant_guest *guest = calloc(1, sizeof(*guest));

        if (guest)
                tenant_peer_container(peer, &guest->cgroup, &guest->stray);
        return guest;
}

/* Finds the peer for which the connection counts, and the peer that is charged for its time in the
 * queue. */
static bool enter_peer(struct tenant_visit *visit)
{
        struct tenants *tenants = visit->tenants;
        const struct peers_rate rate = rate_of(tenants);
        struct peers *peers = visit->door ? &tenants->guests : &tenants->peers;
        struct peer_key key;

        if (visit->door) {
                visit->guest = make_guest(&visit->peer);
                if (!visit->guest)
                        return false;
                key = peers_container(visit->guest->cgroup.container);
        } else if (visit->listener->is_share) {
                key = peers_user(visit->peer.uid);
        } else {
                key = peers_session(visit->listener->id);
        }
        visit->counted = peers_enter(peers, &key, &rate, clock_machine_ns());
        visit->owner = visit->door || visit->listener->is_share ? visit->counted
                                                                : visit->listener->accept.owner;
        return visit->counted != NULL;
}

/* Creates the visit. NULL: out of memory, or the peer is gone. */
static struct tenant_visit *make_visit(struct tenant_listener *listener, struct tenant_door *door,
                                       int fd)
{
        struct tenants *tenants = door ? door->tenants : listener->tenants;
        struct tenant_visit *visit = calloc(1, sizeof(*visit));

        if (!visit || !tenant_peer_read(fd, &visit->peer)) {
                free(visit);
                return NULL;
        }
        *visit = (struct tenant_visit){ .tenants = tenants,
                                        .listener = listener,
                                        .door = door,
                                        .is_doors = door != NULL,
                                        .message = { .step = hear_message, .of = visit },
                                        .peer = visit->peer,
                                        .fd = fd };
        visit->event =
                event_new(tenants->options.base, fd, EV_READ | EV_PERSIST, on_message, visit);
        if (visit->event && enter_peer(visit))
                return visit;
        if (visit->event)
                event_free(visit->event);
        tenant_peer_end(&visit->peer);
        free(visit->guest);
        free(visit);
        return NULL;
}

void tenant_visit_begin(struct tenant_listener *listener, struct tenant_door *door, int fd)
{
        struct tenants *tenants = door ? door->tenants : listener->tenants;
        const struct config *config = tenants->options.config;
        const uint64_t wait_us = config->join_timeout_ns / 1000;
        const struct timeval wait = { .tv_sec = (time_t)(wait_us / 1000000),
                                      .tv_usec = (suseconds_t)(wait_us % 1000000) };
        struct tenant_visit *visit = make_visit(listener, door, fd);
        struct tenant_crowd *crowd;

        if (!visit) {
                sink_close(tenants->options.sink, fd);
                return;
        }
        crowd = &tenants->crowd[visit->is_doors];
        if (visit->counted->connections > config->join_session_connections_max)
                end_oldest(visit, true);
        else if (crowd->connections >= tenant_connections_max(tenants, visit->is_doors))
                end_oldest(visit, false);
        TAILQ_INSERT_TAIL(&tenants->visits, visit, entry);
        crowd->connections++;
        tenants->counts.connections++;
        /* Most peers have sent their HELLO by now. */
        if (!read_message(visit) && event_add(visit->event, &wait) < 0)
                tenant_visit_end(visit);
}
