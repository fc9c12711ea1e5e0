/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/base/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/aside.h"
#include "common/clock.h"
#include "common/log.h"
#include "daemon/base/turn.h"

#define NAME "aliquot-sink"
#define ENDED_MAX 64u
#define AGAIN_USEC 100000

struct sink {
        struct event *turn;  /* hands over sockets, once in a turn of the event loop */
        struct event *again; /* timer: checks whether killed sinks are gone */
        struct aside aside;
        int channel;                   /* socket to the sink; -1: there is no sink */
        struct aside ended[ENDED_MAX]; /* sinks that were killed and are not gone yet */
        unsigned ended_count;
        int *waiting; /* sockets to be handed over, in order */
        unsigned count, room;
        /* number of these that were there before this turn of the event loop began */
        unsigned ready;
        bool is_stuck; /* no socket can be handed over for now */
        uint64_t told_ns;
};

/* -- In the sink ------------------------------------------------------------------------------ */

union rights {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
};

/* Receives the socket that the daemon sent; -1: there was none. If the daemon has ended, so does
 * the sink. */
static int take_socket(int channel)
{
        union rights rights = { 0 };
        char byte;
        struct iovec part = { &byte, 1 };
        struct msghdr message = { .msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = &rights,
                                  .msg_controllen = sizeof(rights.room) };
        const struct cmsghdr *head;
        int fd = -1;

        if (recvmsg(channel, &message, MSG_CMSG_CLOEXEC) != 1)
                _exit(0);
        head = CMSG_FIRSTHDR(&message);
        if (head && head->cmsg_type == SCM_RIGHTS)
                memcpy(&fd, CMSG_DATA(head), sizeof(fd));
        return fd;
}

/* Closes `fd` (if it is not negative), and then every socket that the daemon sends. */
static _Noreturn void close_all(int channel, int fd)
{
        char told;

        for (;;) {
                if (fd < 0)
                        fd = take_socket(channel);
                /* When this byte arrives, the daemon has closed its own copy. */
                if (recv(channel, &told, 1, 0) != 1)
                        _exit(0);
                if (fd >= 0) {
                        shutdown(fd, SHUT_RDWR);
                        close(fd);
                }
                fd = -1;
        }
}

/* -- Starting and killing sinks --------------------------------------------------------------- */

static void reap_ended(struct sink *sink)
{
        unsigned kept = 0;

        for (unsigned i = 0; i < sink->ended_count; i++) {
                enum aside_state state =
                        aside_tend(&sink->ended[i], 0, UINT64_MAX, clock_machine_ns());

                if (state == ASIDE_RUNS)
                        sink->ended[kept++] = sink->ended[i];
        }
        sink->ended_count = kept;
}

/* Closes the channel. The sink closes what it was told to close, and then exits. Nothing is ever
 * sent to our end, so closing it drops no descriptor. */
static void leave_child(struct sink *sink)
{
        if (sink->channel >= 0)
                close(sink->channel);
        sink->channel = -1;
}

/* Kills the sink. The caller has checked that `ended` has room. */
static void end_child(struct sink *sink)
{
        leave_child(sink);
        if (!sink->aside.child)
                return;
        aside_end(&sink->aside);
        sink->ended[sink->ended_count++] = sink->aside;
        sink->aside = (struct aside){ 0 };
}

/* Forks a new sink, which inherits `fd` and closes it. False: that failed. */
static bool begin_child(struct sink *sink, int fd)
{
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return false;
        switch (aside_fork_with(&sink->aside, NAME, (const int[]){ pair[1], fd }, 2,
                                clock_machine_ns())) {
        case 0:
                close_all(pair[1], fd);
        case -1:
                close(pair[0]);
                close(pair[1]);
                return false;
        }
        close(pair[1]);
        sink->channel = pair[0];
        return true;
}

/* -- In the daemon ---------------------------------------------------------------------------- */

static bool send_socket(int channel, int fd)
{
        union rights rights = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
                                          .cmsg_level = SOL_SOCKET,
                                          .cmsg_type = SCM_RIGHTS } };
        char byte = 0;
        struct iovec part = { &byte, 1 };
        const struct msghdr message = { .msg_iov = &part,
                                        .msg_iovlen = 1,
                                        .msg_control = &rights,
                                        .msg_controllen = sizeof(rights.room) };

        memcpy(CMSG_DATA(&rights.head), &fd, sizeof(fd));
        return sendmsg(channel, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

static bool hand_over(struct sink *sink, int fd)
{
        const char closed = 0;

        if (sink->channel < 0 || !send_socket(sink->channel, fd)) {
                reap_ended(sink);
                if (sink->ended_count == ENDED_MAX)
                        return false;
                end_child(sink);
                if (!begin_child(sink, fd))
                        return false;
        }
        close(fd);
        /* If the byte cannot be sent, the channel is closed: otherwise the sink would take the next
         * socket's message for this byte. */
        if (send(sink->channel, &closed, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
                leave_child(sink);
        return true;
}

static void tell_stuck(struct sink *sink)
{
        if (log_due(&sink->told_ns, clock_machine_ns()))
                log_line(LOG_WARN,
                         "%u sockets cannot be closed now, and none is accepted meanwhile: %u "
                         "processes " NAME " stand in the kernel, on files that users sent to this "
                         "daemon",
                         sink->count, sink->ended_count);
}

static void hand_over_ready(struct sink *sink)
{
        unsigned done = 0;

        while (done < sink->ready && hand_over(sink, sink->waiting[done]))
                done++;
        sink->is_stuck = done < sink->ready;
        sink->count -= done;
        if (done)
                memmove(sink->waiting, sink->waiting + done, sink->count * sizeof(*sink->waiting));
        sink->ready = sink->count;
        if (sink->is_stuck)
                tell_stuck(sink);
}

static void look_again(struct sink *sink)
{
        static const struct timeval again = { .tv_usec = AGAIN_USEC };

        if (!event_pending(sink->again, EV_TIMEOUT, NULL))
                event_add(sink->again, &again);
}

static void on_turn(evutil_socket_t fd, short what, void *context)
{
        struct sink *sink = context;

        hand_over_ready(sink);
        if (sink->is_stuck || sink->ended_count)
                look_again(sink);
        if (sink->count && !sink->is_stuck)
                turn_come(sink->turn);
}

static void on_again(evutil_socket_t fd, short what, void *context)
{
        struct sink *sink = context;

        reap_ended(sink);
        if (sink->count)
                turn_come(sink->turn);
        else if (sink->ended_count)
                look_again(sink);
}

static bool has_place(struct sink *sink)
{
        const unsigned room = sink->room ? 2 * sink->room : 64;
        int *waiting;

        if (sink->count < sink->room)
                return true;
        waiting = realloc(sink->waiting, room * sizeof(*waiting));
        if (!waiting)
                return false;
        sink->waiting = waiting;
        sink->room = room;
        return true;
}

void sink_close(struct sink *sink, int fd)
{
        shutdown(fd, SHUT_RDWR);
        sink_close_unseen(sink, fd);
}

void sink_close_unseen(struct sink *sink, int fd)
{
        if (!has_place(sink)) {
                if (!hand_over(sink, fd))
                        log_line(LOG_ERROR, "out of memory: a socket stays open");
                return;
        }
        sink->waiting[sink->count++] = fd;
        if (!sink->is_stuck)
                turn_come(sink->turn);
}

bool sink_takes(const struct sink *sink)
{
        return !sink->is_stuck;
}

int sink_start(struct sink **ret, struct event_base *base, struct error *err)
{
        struct sink *sink = calloc(1, sizeof(*sink));

        if (!sink)
                return fail(err, -ENOMEM, "out of memory");
        sink->channel = -1;
        sink->turn = event_new(base, -1, 0, on_turn, sink);
        sink->again = event_new(base, -1, 0, on_again, sink);
        if (!sink->turn || !sink->again || !has_place(sink)) {
                sink_stop(sink);
                return fail(err, -ENOMEM, "out of memory");
        }
        if (!begin_child(sink, -1)) {
                int rc = -errno;

                sink_stop(sink);
                return fail(err, rc, "fork " NAME ": %s", strerror(-rc));
        }
        *ret = sink;
        return 0;
}

/* Hands over all sockets. Those that cannot be handed over stay open until the daemon has exited;
 * closing them does not wait then. */
void sink_stop(struct sink *sink)
{
        if (!sink)
                return;
        sink->ready = sink->count;
        hand_over_ready(sink);
        leave_child(sink);
        if (sink->turn)
                event_free(sink->turn);
        if (sink->again)
                event_free(sink->again);
        free(sink->waiting);
        free(sink);
}
