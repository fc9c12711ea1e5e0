/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which order the HTTP server serves what waits, on socket pairs with peers of the test's
 * choice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/http/http_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define ROOT 0u
#define CROWD 64001u
#define NEIGHBOUR 64002u
#define CONNECTIONS 60u /* of the crowd */
#define PIPELINED 8u
#define CALLERS 300u
#define ACCEPTED_MAX 64u
#define SERVED_MAX (CONNECTIONS * PIPELINED + 16)

static struct event_base *base;
static struct sink *sink;
static struct config config;
static struct http *http;
static int client[CALLERS];
static unsigned clients;
static uint32_t served[SERVED_MAX]; /* whose request, in order */
static unsigned served_count;
static unsigned before_other; /* requests served when another event of the loop came last */
static unsigned in_a_row;     /* the most requests between two such events */

static void on_request(struct http_exchange *exchange, void *context)
{
        assert_in_range(served_count, 0, SERVED_MAX - 1);
        served[served_count++] = exchange->peer->uid;
        http_reply(exchange, 200, "text/plain", "ok", 2);
}

static void on_done(struct http_exchange *exchange, void *context)
{
}

static int begin(void **state)
{
        struct http_options options = { .handler = on_request, .done = on_done };
        struct error err = { 0 };

        config_init(&config);
        base = event_base_new();
        options.config = &config;
        clients = served_count = before_other = in_a_row = 0;
        if (!base || sink_start(&sink, base, &err) < 0)
                return -1;
        options.base = base;
        options.sink = sink;
        return http_start(&http, &options, &err);
}

static int end(void **state)
{
        http_stop(http);
        sink_stop(sink);
        event_base_free(base);
        while (clients)
                close(client[--clients]);
        return 0;
}

static int connect_as(uint32_t uid)
{
        const struct http_peer peer = { .is_local = true, .is_owner = uid == ROOT, .uid = uid };
        const struct peer_key key = peers_user(uid);
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
        http_accept(http, pair[1], &peer, &key);
        client[clients++] = pair[0];
        return pair[0];
}

static void ask(int fd, unsigned count)
{
        static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

        while (count--)
                assert_int_equal(write(fd, request, sizeof(request) - 1), sizeof(request) - 1);
}

static void ask_as_a_crowd(void)
{
        for (unsigned i = 0; i < CONNECTIONS; i++)
                ask(connect_as(CROWD), PIPELINED);
}

static void run_until(unsigned count)
{
        while (served_count < count)
                assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
}

/* Where the first request of `uid` was served, from `at` on. */
static unsigned place_of(uint32_t uid, unsigned at)
{
        while (at < served_count && served[at] != uid)
                at++;
        return at;
}

static void test_a_flood_of_one_user_delays_another_by_a_request(void **state)
{
        unsigned asked_at;

        ask_as_a_crowd();
        run_until(20);
        asked_at = served_count;
        ask(connect_as(NEIGHBOUR), 1);
        run_until(CONNECTIONS * PIPELINED + 1);
        assert_in_range(place_of(NEIGHBOUR, asked_at), asked_at, asked_at + 2);
}

static void test_every_second_request_is_for_root_while_it_asks(void **state)
{
        for (uint32_t user = 1; user <= CONNECTIONS; user++)
                ask(connect_as(CROWD + user), 1);
        ask(connect_as(ROOT), 4);
        run_until(CONNECTIONS + 4);
        for (unsigned at = 0, i = 0; i < 4; i++) {
                unsigned place = place_of(ROOT, at);

                /* The first may be read only after a request was served. */
                assert_in_range(place, at, at + (i ? 1 : 2));
                at = place + 1;
        }
}

static void test_root_keeps_nobody_out_either(void **state)
{
        int neighbour = connect_as(NEIGHBOUR);

        for (unsigned i = 0; i < CONNECTIONS; i++)
                ask(connect_as(ROOT), PIPELINED);
        ask(neighbour, 1);
        run_until(CONNECTIONS * PIPELINED + 1);
        assert_in_range(place_of(NEIGHBOUR, 0), 0, 3);
}

static void on_other(evutil_socket_t fd, short what, void *context)
{
        if (served_count - before_other > in_a_row)
                in_a_row = served_count - before_other;
        before_other = served_count;
}

/* So whoever joins by a session's socket waits for one request at most. */
static void test_other_events_come_between_any_two_requests(void **state)
{
        int pair[2];
        struct event *other;

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        assert_int_equal(write(pair[0], "x", 1), 1);
        other = event_new(base, pair[1], EV_READ | EV_PERSIST, on_other, NULL);
        assert_non_null(other);
        assert_int_equal(event_add(other, NULL), 0);
        ask_as_a_crowd();
        run_until(CONNECTIONS * PIPELINED);
        assert_int_equal(in_a_row, 1);
        event_free(other);
        close(pair[0]);
        close(pair[1]);
}

/* However fast others come, each turn serves one. */
static void test_requests_that_arrive_in_every_turn_do_not_put_off_those_that_wait(void **state)
{
        for (unsigned i = 0; i < CONNECTIONS; i++) {
                ask(connect_as(CROWD + i), 1);
                assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
        }
        assert_in_range(served_count, CONNECTIONS / 2, CONNECTIONS);
}

/* It is served no more, and nothing is left of it. */
static void test_a_connection_may_end_while_its_request_waits(void **state)
{
        const unsigned kept = 4;

        config.peer_connections_max = kept;
        ask_as_a_crowd(); /* each beyond the fourth ends one that came before */
        run_until(kept * PIPELINED);
        assert_int_equal(http_connection_count(http), kept);
        assert_int_equal(event_base_loop(base, EVLOOP_NONBLOCK), 0);
        assert_int_equal(served_count, kept * PIPELINED);
}

static void test_one_connection_is_answered_in_order_to_its_end(void **state)
{
        static const char last[] = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        char answers[8192], *at = answers;
        unsigned count = 0;
        int fd = connect_as(NEIGHBOUR);
        ssize_t got;

        ask(fd, PIPELINED);
        assert_int_equal(write(fd, last, sizeof(last) - 1), sizeof(last) - 1);
        shutdown(fd, SHUT_WR);
        while ((got = read(fd, at, (size_t)(answers + sizeof(answers) - 1 - at))) != 0) {
                if (got > 0)
                        at += got;
                assert_int_equal(event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK), 0);
        }
        *at = '\0';
        for (at = answers; (at = strstr(at, "200 OK")); at++)
                count++;
        assert_int_equal(count, PIPELINED + 1);
}

/* However fast somebody connects, the daemon comes back to its other work. */
static void test_accepting_is_not_all_that_a_turn_of_the_loop_does(void **state)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        char folder[] = "/tmp/aliquot-http-XXXXXX";
        struct error err = { 0 };

        assert_non_null(mkdtemp(folder));
        snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
        config.peer_connections_max = config.connections_max = CALLERS;
        assert_int_equal(http_listen_unix(http, address.sun_path, &err), 0);
        for (unsigned i = 0; i < CALLERS; i++) {
                int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

                assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
                client[clients++] = fd;
        }
        for (unsigned before = 0; before < CALLERS; before = http_connection_count(http)) {
                assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
                assert_in_range(http_connection_count(http), before, before + ACCEPTED_MAX);
        }
        unlink(address.sun_path);
        rmdir(folder);
}

int main(void)
{
#define STORY(name) cmocka_unit_test_setup_teardown(name, begin, end)
        const struct CMUnitTest tests[] = {
                STORY(test_a_flood_of_one_user_delays_another_by_a_request),
                STORY(test_every_second_request_is_for_root_while_it_asks),
                STORY(test_root_keeps_nobody_out_either),
                STORY(test_other_events_come_between_any_two_requests),
                STORY(test_requests_that_arrive_in_every_turn_do_not_put_off_those_that_wait),
                STORY(test_a_connection_may_end_while_its_request_waits),
                STORY(test_one_connection_is_answered_in_order_to_its_end),
                STORY(test_accepting_is_not_all_that_a_turn_of_the_loop_does),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
