/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection: a HELLO, an answer, the end. What is not said in time is not waited for.
 *
 * A welcome that is not read keeps its descriptors in flight, and the kernel bounds those of the
 * daemon's user in all (RLIMIT_NOFILE): a few thousand, and nobody joins any more. So the
 * connection of a welcome stays until the kernel says that the welcome was read or that the peer
 * is gone, also when the session goes first, and each peer may leave a few welcomes unread.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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

#define BUSY_MS 20u /* when to come again, where no rate says so */
#define UNREAD_MOST 16u
#define UNREAD_LOOK_USEC 500000

/* An answer being made. */
struct reply {
        struct tenant_visit *visit;
        unsigned version; /* 0: none was agreed on */
        int code;         /* enum message_code; 0: come in */
        uint32_t retry_ms;
        struct error err; /* why */
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
        tenants->counts.connections--;
        if (visit->unread) {
                peers_leave(visit->unread);
                tenants->unread_count--;
        }
        event_free(visit->event);
        tenant_queue_remove(tenants, &visit->message);
        if (peers_rests(visit->counted, clock_machine_ns()))
                sink_close_unseen(tenants->options.sink, visit->fd);
        else
                sink_close(tenants->options.sink, visit->fd);
        peers_leave(visit->counted);
        tenant_peer_end(&visit->peer);
        free(visit);
}

/* -- Until the welcome is read ----------------------------------------------------------------- */

static unsigned connections_most(const struct tenants *tenants)
{
        return descriptors_most(tenants->options.config->join_connections_most, DESCRIPTORS_VISITS);
}

/* A peer that is gone has nothing left to read. */
static bool is_unread(const struct tenant_visit *visit)
{
        int bytes = 0;

        return visit->unread && ioctl(visit->fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

static unsigned count_unread(const struct tenants *tenants, const struct peer *peer)
{
        const struct tenant_visit *visit;
        unsigned count = 0;

        TAILQ_FOREACH(visit, &tenants->visits, entry)
        {
                /* cppcheck-suppress uninitvar ; TAILQ_FOREACH sets it */
                if (visit->unread == peer && is_unread(visit))
                        count++;
        }
        return count;
}

/* A user, whatever sessions it makes; root is a session's, as many containers are root. */
static struct peer *enter_unread(struct tenant_visit *visit)
{
        const struct peers_rate any = { 0 };
        const struct peer_key key =
                visit->peer.uid ? peers_user(visit->peer.uid) : peers_session(visit->listener->id);

        return peers_enter(&visit->tenants->unread, &key, &any, clock_machine_ns());
}

/* Where half of all connections wait, one each is enough: so the others find room. */
static bool may_leave_unread(const struct tenants *tenants, const struct peer *peer)
{
        const unsigned of_session = tenants->options.config->join_session_connections_most;
        unsigned most = min_u32(of_session, UNREAD_MOST);

        if (tenants->unread_count >= connections_most(tenants) / 2)
                most = 1;
        return peer->connections <= most || count_unread(tenants, peer) < most;
}

static void await_reading(struct tenant_visit *visit)
{
        const struct timeval look = { .tv_usec = UNREAD_LOOK_USEC };

        tenant_peer_end(&visit->peer); /* a descriptor less, for as long as this takes */
        if (event_add(visit->event, &look) < 0)
                log_line(LOG_WARN, "a welcome cannot be waited for: out of memory");
}

/* One that says more, or will say nothing more, would wake us again at once: then the clock looks.
 */
static void look_again(struct tenant_visit *visit, short what)
{
        if (!is_unread(visit)) {
                tenant_visit_end(visit);
        } else if (what & EV_READ) {
                event_del(visit->event);
                event_assign(visit->event, visit->tenants->options.base, -1, EV_PERSIST,
                             event_get_callback(visit->event), visit);
                await_reading(visit);
        }
}

void tenant_visit_leave(struct tenant_visit *visit)
{
        tenant_queue_remove(visit->tenants, &visit->message);
        if (is_unread(visit))
                visit->listener = NULL;
        else
                tenant_visit_end(visit);
}

/* -- The answer ------------------------------------------------------------------------------- */

static int refuse(struct reply *reply, enum message_code code, const char *why)
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
                               ? refuse(reply, MESSAGE_BAD_TOKEN,
                                        "the daemon wants a token; say it in "
                                        "ALIQUOT_JOIN_TOKEN")
                               : 0;
        if (token_is(token, asked->token, asked->token_bytes))
                return 0;
        return refuse(reply, MESSAGE_BAD_TOKEN, "this is not the daemon's token");
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

/* Refuses whoever leaves too much unread; a reply is counted before it is sent. */
static int check_unread(struct reply *reply)
{
        struct tenant_visit *visit = reply->visit;
        struct tenants *tenants = visit->tenants;
        struct peer *unread = enter_unread(visit);

        if (unread && may_leave_unread(tenants, unread)) {
                visit->unread = unread;
                tenants->unread_count++;
                return 0;
        }
        if (unread)
                peers_leave(unread);
        reply->retry_ms = BUSY_MS;
        fail(&reply->err, -EBUSY, "user %u has not read its other welcomes", visit->peer.uid);
        return MESSAGE_TOO_MANY;
}

/* The visit goes on as one of the session that was made for it. */
static int enter_by_share(struct reply *reply)
{
        struct tenant_visit *visit = reply->visit;
        struct tenant_listener *made =
                tenant_share_admit(visit->tenants, visit->peer.uid, &reply->err);

        if (!made)
                return MESSAGE_TROUBLE;
        visit->listener = made;
        return 0;
}

/* Whatever is wrong with the message, the rate is asked first: guessing tokens costs as well. */
static void judge(struct reply *reply, const void *message, size_t bytes, struct message_asked *ret)
{
        const struct tenant_visit *visit = reply->visit;
        int malformed = message_read_hello(message, bytes, ret, &reply->err);

        reply->version = malformed ? 0 : ret->version;
        reply->code = check_rate(reply);
        if (!reply->code)
                reply->code = malformed;
        if (!reply->code && !visit->listener->is_share &&
            visit->peer.uid != visit->listener->owner_uid && visit->peer.uid != 0)
                reply->code = refuse(reply, MESSAGE_NOT_YOURS, "the session is another user's");
        if (!reply->code)
                reply->code = check_token(reply, ret);
        if (!reply->code && visit->listener->is_share)
                reply->code = enter_by_share(reply);
        if (!reply->code)
                reply->code = check_session(reply, ret);
        if (!reply->code)
                reply->code = check_unread(reply);
}

/* What a call on its socket took is its session's, and its owner's. */
static void end_call(const struct tenant_visit *visit, uint64_t begin_ns)
{
        peers_call_end(visit->counted, begin_ns, clock_machine_ns());
        peers_call_end(visit->listener->owner, begin_ns, clock_machine_ns());
}

/* One that does not read has room for one message all the same: it has had none. */
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

/* Of descriptors in flight: others than joiners have them too. */
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

static void let_in(struct reply *reply, const struct message_asked *asked)
{
        struct tenant_visit *visit = reply->visit;
        struct tenant_listener *listener = visit->listener;
        struct message_welcome welcome;
        scoped_fd int slots = -1;

        if (tenant_open_pages(listener, &slots, &reply->err) < 0) {
                log_line(LOG_WARN, "session %s: %s", listener->name, reply->err.text);
                reply->code = refuse(reply, MESSAGE_TROUBLE,
                                     "the session's pages cannot be opened; see the daemon's log");
                return;
        }
        tenant_peer_identify(&visit->peer); /* while it waits for the answer */
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
        log_line(LOG_DEBUG, "pid %d (%s) of uid %u in %s joined session %s", visit->peer.pid,
                 asked->command, visit->peer.uid, visit->peer.cgroup[0] ? visit->peer.cgroup : "-",
                 listener->name);
        tenant_watch(visit);
}

static void answer(struct tenant_visit *visit, const void *message, size_t bytes)
{
        struct reply reply = { .visit = visit };
        struct message_refused refused;
        struct message_asked asked = { 0 };

        judge(&reply, message, bytes, &asked);
        if (!reply.code)
                let_in(&reply, &asked);
        if (!reply.code)
                return;
        visit->tenants->counts.refused[reply.code]++;
        /* A line each would let a peer fill the log; metrics count them. */
        log_line(LOG_DEBUG, "session %s: pid %d of uid %u was refused: %s", visit->listener->name,
                 visit->peer.pid, visit->peer.uid, reply.err.text);
        message_write_refused(&refused, reply.version, (enum message_code)reply.code,
                              reply.retry_ms, reply.err.text);
        deliver(visit, &refused, sizeof(refused), NULL, 0);
}

static void end_silent(struct tenant_visit *visit)
{
        visit->tenants->counts.silent++;
        tenant_visit_end(visit);
}

/* Whether something was said, or never will be: then the visit is over once its welcome is read. */
static bool hear(struct tenant_visit *visit)
{
        char message[MESSAGE_MOST + 1];
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
        answer(visit, message, (size_t)got);
        explicit_bzero(message, (size_t)got);
        if (is_unread(visit))
                await_reading(visit);
        else
                tenant_visit_end(visit);
        return true;
}

static void on_message(evutil_socket_t fd, short what, void *context)
{
        struct tenant_visit *visit = context;

        if (visit->unread)
                look_again(visit, what);
        else if (what & EV_READ)
                tenant_queue_add(visit->listener, &visit->message);
        else if (!hear(visit))
                end_silent(visit);
}

static void hear_message(void *of)
{
        hear(of);
}

/* -- Who may say something -------------------------------------------------------------------- */

/* The oldest, of this session (NULL: of all), has had the most time; what it has said is heard yet.
 * One that has not read its welcome is left: these are few, see may_leave_unread(). */
static void end_oldest(struct tenants *tenants, const struct peer *peer)
{
        const unsigned before = tenants->counts.connections;
        struct tenant_visit *visit = TAILQ_FIRST(&tenants->visits);

        while (visit && tenants->counts.connections == before) {
                struct tenant_visit *next = TAILQ_NEXT(visit, entry);

                if (peer && visit->counted != peer)
                        ; /* not its place */
                else if (visit->unread)
                        look_again(visit, 0);
                else if (!hear(visit))
                        end_silent(visit);
                visit = next;
        }
}

/* NULL: out of memory. */
static struct tenant_visit *make(struct tenant_listener *listener, int fd)
{
        struct tenants *tenants = listener->tenants;
        const struct peers_rate rate = rate_of(tenants);
        struct tenant_visit *visit = calloc(1, sizeof(*visit));
        struct peer_key key;

        if (!visit || !tenant_peer_read(fd, &visit->peer)) {
                free(visit);
                return NULL;
        }
        *visit = (struct tenant_visit){ .tenants = tenants,
                                        .listener = listener,
                                        .message = { .step = hear_message, .of = visit },
                                        .peer = visit->peer,
                                        .fd = fd };
        key = peers_session(listener->id);
        visit->counted = peers_enter(&tenants->peers, &key, &rate, clock_machine_ns());
        visit->event =
                event_new(tenants->options.base, fd, EV_READ | EV_PERSIST, on_message, visit);
        if (visit->counted && visit->event)
                return visit;
        if (visit->counted)
                peers_leave(visit->counted);
        if (visit->event)
                event_free(visit->event);
        tenant_peer_end(&visit->peer);
        free(visit);
        return NULL;
}

void tenant_visit_begin(struct tenant_listener *listener, int fd)
{
        struct tenants *tenants = listener->tenants;
        const struct config *config = tenants->options.config;
        const uint64_t wait_us = config->join_timeout_ns / 1000;
        const struct timeval wait = { .tv_sec = (time_t)(wait_us / 1000000),
                                      .tv_usec = (suseconds_t)(wait_us % 1000000) };
        struct tenant_visit *visit = make(listener, fd);

        if (!visit) {
                sink_close(tenants->options.sink, fd);
                return;
        }
        if (visit->counted->connections > config->join_session_connections_most)
                end_oldest(tenants, visit->counted);
        else if (tenants->counts.connections >= connections_most(tenants))
                end_oldest(tenants, NULL);
        TAILQ_INSERT_TAIL(&tenants->visits, visit, entry);
        tenants->counts.connections++;
        /* Most have said it by now. */
        if (!hear(visit) && event_add(visit->event, &wait) < 0)
                tenant_visit_end(visit);
}
