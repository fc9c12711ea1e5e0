/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sink closes: a socket goes to it in every case, and whatever the sink does, or the
 * kernel refuses, keeps the daemon waiting for nothing.
 *
 * A story knows that a socket is closed as a pipe ends whose last writer lies in its queue.
 */
#include "daemon/base/sink.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/base/receive.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define HANG_SECONDS 60
#define MANY 1000u /* more than one sink has room for */

static struct event_base *base;
static struct sink *sink;
static bool is_sending_refused, is_fork_refused;
static bool is_stopped; /* a sink, before it is told anything, once */
static pid_t child;     /* the last one */

/* -- The kernel ------------------------------------------------------------------------------- */

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
        typedef ssize_t call(int, const struct msghdr *, int);
        static call *real;

        if (is_sending_refused) {
                errno = ETOOMANYREFS;
                return -1;
        }
        if (!real)
                real = (call *)dlsym(RTLD_NEXT, "sendmsg");
        return real(fd, message, flags);
}

ssize_t recv(int fd, void *into, size_t bytes, int flags)
{
        typedef ssize_t call(int, void *, size_t, int);
        static call *real;

        if (!real)
                real = (call *)dlsym(RTLD_NEXT, "recv");
        if (is_stopped && child == 0) {
                is_stopped = false;
                raise(SIGSTOP);
        }
        return real(fd, into, bytes, flags);
}

pid_t fork(void)
{
        typedef pid_t call(void);
        static call *real;

        if (is_fork_refused) {
                errno = EAGAIN;
                return -1;
        }
        if (!real)
                real = (call *)dlsym(RTLD_NEXT, "fork");
        child = real();
        if (is_stopped && child > 0)
                assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
        return child;
}

/* -- The stage -------------------------------------------------------------------------------- */

static int begin(void **state)
{
        struct error err = { 0 };

        alarm(HANG_SECONDS);
        is_sending_refused = is_fork_refused = is_stopped = false;
        base = event_base_new();
        return base && sink_start(&sink, base, &err) == 0 ? 0 : -1;
}

static int end(void **state)
{
        sink_stop(sink);
        event_base_free(base);
        return 0;
}

/* What is closed in one turn of the loop is handed over in the one after the next. */
static void turn(void)
{
        for (unsigned i = 0; i < 2; i++)
                event_base_loop(base, EVLOOP_NONBLOCK);
}

static void send_descriptor(int socket, int fd)
{
        union {
                struct cmsghdr head;
                char room[CMSG_SPACE(sizeof(int))];
        } rights = { .head = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
        struct iovec part = { "x", 1 };
        const struct msghdr message = { .msg_iov = &part,
                                        .msg_iovlen = 1,
                                        .msg_control = &rights,
                                        .msg_controllen = sizeof(rights.room) };

        memcpy(CMSG_DATA(&rights.head), &fd, sizeof(fd));
        assert_int_equal(sendmsg(socket, &message, 0), 1);
}

/* A connection of the daemon's, of this kind, with an unread message. */
struct connection {
        int ours, peers;
        int pipe; /* ends when the message does */
};

static struct connection connection_make(int type)
{
        struct connection made;
        int pair[2], ends[2];

        assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair), 0);
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        made = (struct connection){ .ours = pair[0], .peers = pair[1], .pipe = ends[0] };
        send_descriptor(made.peers, ends[1]);
        close(ends[1]);
        return made;
}

/* Waits for it: the loop does not turn meanwhile. */
static void expect_closed(struct connection *connection)
{
        char byte;

        assert_int_equal(read(connection->pipe, &byte, 1), 0);
        assert_true(recv(connection->peers, &byte, 1, MSG_DONTWAIT) <= 0);
        close(connection->pipe);
        close(connection->peers);
}

static void expect_not_closed(const struct connection *connection)
{
        char byte;

        assert_int_equal(fcntl(connection->pipe, F_SETFL, O_NONBLOCK), 0);
        assert_int_equal(read(connection->pipe, &byte, 1), -1);
        assert_int_equal(fcntl(connection->pipe, F_SETFL, 0), 0);
}

static bool is_open(const struct connection *connection)
{
        return fcntl(connection->ours, F_GETFD) >= 0;
}

/* -- The stories ------------------------------------------------------------------------------ */

static void test_a_socket_is_closed_by_another_process(void **state)
{
        struct connection one = connection_make(SOCK_STREAM);

        kill(child, SIGSTOP);
        sink_close(sink, one.ours);
        assert_true(is_open(&one)); /* until libevent knows that its events are gone */
        turn();
        assert_false(is_open(&one));
        expect_not_closed(&one);
        kill(child, SIGCONT);
        expect_closed(&one);
}

static void test_a_peer_sees_the_end_at_once(void **state)
{
        struct connection one = connection_make(SOCK_SEQPACKET);
        char byte;

        kill(child, SIGSTOP);
        sink_close(sink, one.ours);
        assert_int_equal(recv(one.peers, &byte, 1, MSG_DONTWAIT), 0);
        kill(child, SIGCONT);
        turn();
        expect_closed(&one);
}

static void test_a_sink_that_stands_still_is_replaced(void **state)
{
        static struct connection crowd[64];
        const pid_t first = child;

        kill(first, SIGSTOP);
        for (unsigned i = 0; i < 64; i++) {
                crowd[i] = connection_make(SOCK_STREAM);
                sink_close(sink, crowd[i].ours);
        }
        turn();
        for (unsigned i = 0; i < MANY; i++) {
                sink_close(sink, socket(AF_UNIX, SOCK_STREAM, 0));
                turn();
        }
        assert_int_not_equal(child, first);
        assert_true(sink_takes(sink));
        for (unsigned i = 0; i < 64; i++)
                expect_closed(&crowd[i]);
}

static void test_a_sink_that_somebody_killed_is_replaced(void **state)
{
        struct connection one = connection_make(SOCK_STREAM);
        const pid_t first = child;

        kill(first, SIGKILL);
        while (kill(first, 0) == 0) { /* reaped once it is replaced */
                struct connection next = connection_make(SOCK_STREAM);

                sink_close(sink, next.ours);
                turn();
                expect_closed(&next);
        }
        sink_close(sink, one.ours);
        turn();
        expect_closed(&one);
}

/* By the number of descriptors in flight, or where a chain of sockets is too long for it. */
static void test_what_the_kernel_does_not_send_is_inherited(void **state)
{
        struct connection one = connection_make(SOCK_STREAM), two = connection_make(SOCK_STREAM);
        const pid_t first = child;

        is_sending_refused = is_stopped = true;
        sink_close(sink, one.ours);
        turn();
        assert_int_not_equal(child, first);
        assert_false(is_open(&one));
        expect_not_closed(&one);
        kill(child, SIGCONT);
        is_sending_refused = is_stopped = false;
        sink_close(sink, two.ours);
        turn();
        expect_closed(&one);
        expect_closed(&two);
}

static void test_what_cannot_be_handed_over_stays_open_and_nothing_more_is_taken(void **state)
{
        struct connection one = connection_make(SOCK_STREAM);

        is_sending_refused = is_fork_refused = true;
        sink_close(sink, one.ours);
        turn();
        assert_true(is_open(&one));
        assert_false(sink_takes(sink));
        is_sending_refused = is_fork_refused = false;
        while (!sink_takes(sink))
                event_base_loop(base, EVLOOP_ONCE);
        assert_false(is_open(&one));
        expect_closed(&one);
}

static void test_what_waits_at_the_end_is_closed(void **state)
{
        struct connection one = connection_make(SOCK_STREAM);
        struct error err = { 0 };

        sink_close(sink, one.ours);
        sink_stop(sink);
        expect_closed(&one);
        assert_int_equal(sink_start(&sink, base, &err), 0);
}

static void test_a_message_with_descriptors_stays_where_it_is(void **state)
{
        static const int kind[] = { SOCK_STREAM, SOCK_SEQPACKET };

        for (unsigned i = 0; i < 2; i++) {
                struct connection one = connection_make(kind[i]);
                char byte[8];

                assert_int_equal(receive_plain(one.ours, byte, sizeof(byte)), -EBADMSG);
                assert_int_equal(recv(one.ours, byte, sizeof(byte), MSG_PEEK), 1);
                sink_close(sink, one.ours);
                turn();
                expect_closed(&one);
        }
}

static void test_what_comes_without_descriptors_is_received(void **state)
{
        char byte[8];
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        assert_int_equal(receive_plain(pair[0], byte, sizeof(byte)), -EAGAIN);
        assert_int_equal(send(pair[1], "plain", 5, 0), 5);
        assert_int_equal(receive_plain(pair[0], byte, sizeof(byte)), 5);
        assert_memory_equal(byte, "plain", 5);
        assert_int_equal(send(pair[1], "abc", 3, 0), 3);
        send_descriptor(pair[1], pair[1]);
        /* Of a stream the kernel looks on beyond a message without any. */
        assert_int_equal(receive_plain(pair[0], byte, sizeof(byte)), -EBADMSG);
        sink_close(sink, pair[0]);
        close(pair[1]);
        turn();
}

int main(void)
{
#define STORY(name) cmocka_unit_test_setup_teardown(name, begin, end)
        const struct CMUnitTest tests[] = {
                STORY(test_a_socket_is_closed_by_another_process),
                STORY(test_a_peer_sees_the_end_at_once),
                STORY(test_a_sink_that_stands_still_is_replaced),
                STORY(test_a_sink_that_somebody_killed_is_replaced),
                STORY(test_what_the_kernel_does_not_send_is_inherited),
                STORY(test_what_cannot_be_handed_over_stays_open_and_nothing_more_is_taken),
                STORY(test_what_waits_at_the_end_is_closed),
                STORY(test_a_message_with_descriptors_stays_where_it_is),
                STORY(test_what_comes_without_descriptors_is_received),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
