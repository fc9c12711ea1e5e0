/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads of requests: what is understood, and that whatever two readers could take differently is
 * refused. What a refusal looks like on the wire is test_daemon_hostile.py's.
 */
#include <stdio.h>
#include <string.h>

#include "daemon/http/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static char head[4096];

/* The status of a head whose lines are these; each gets its CR LF, and the head its end. */
static int parse(struct request *ret, const char *const *lines)
{
        struct error err;

        head[0] = '\0';
        for (; *lines; lines++) {
                strcat(head, *lines);
                strcat(head, "\r\n");
        }
        strcat(head, "\r\n");
        return request_parse(head, strlen(head), ret, &err);
}

#define PARSE(ret, ...) parse(ret, (const char *const[]){ __VA_ARGS__, NULL })

static void test_a_request_in_all_its_parts(void **state)
{
        struct request request;

        assert_int_equal(PARSE(&request, "POST /v1/a%20b?x=1&y HTTP/1.1", "Host: here",
                               "content-length:  12 ", "Expect: 100-continue", "X-Empty:"),
                         0);
        assert_string_equal(request.method, "POST");
        assert_string_equal(request.path, "/v1/a%20b");
        assert_string_equal(request.query, "x=1&y");
        assert_int_equal(request.body_bytes, 12);
        assert_true(request.keeps_alive && request.awaits_continue && !request.is_old);
        assert_string_equal(request_header(&request, "HOST"), "here");
        assert_string_equal(request_header(&request, "x-empty"), "");
        assert_null(request_header(&request, "Accept"));
}

static void test_who_keeps_the_connection(void **state)
{
        struct request request;

        assert_int_equal(PARSE(&request, "GET / HTTP/1.1", "Host: x", "Connection: a, Close"), 0);
        assert_false(request.keeps_alive);
        assert_int_equal(PARSE(&request, "GET / HTTP/1.0"), 0);
        assert_false(request.keeps_alive);
        assert_int_equal(PARSE(&request, "GET / HTTP/1.0", "Connection: keep-alive"), 0);
        assert_true(request.keeps_alive);
        assert_int_equal(PARSE(&request, "GET / HTTP/1.1", "Host: x", "Connection: closed"), 0);
        assert_true(request.keeps_alive);
}

static void test_what_could_be_read_in_two_ways_is_refused(void **state)
{
        static const struct {
                int status;
                const char *line;
        } bad[] = {
                { 411, "Transfer-Encoding: chunked" },
                { 400, "Content-Length: 0x10" },
                { 400, "Content-Length: -1" },
                { 400, "Content-Length:" },
                { 400, "Content-Length: 1, 1" },
                { 400, "Host: y" },
                { 400, "Host: " },
                { 400, "Bad Name: x" },
                { 400, "Name : x" },
                { 400, ": x" },
                { 400, " folded" },
                { 400, "no colon" },
                { 400, "A: \x7f" },
        };
        struct request request;

        for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_int_equal(PARSE(&request, "GET / HTTP/1.1", "Host: x", bad[i].line),
                                 bad[i].status);
        assert_int_equal(PARSE(&request, "GET / HTTP/1.1", "Host: x", "Content-Length: 1",
                               "Content-Length: 1"),
                         400);
        assert_int_equal(PARSE(&request, "GET / HTTP/1.1"), 400);
        assert_int_equal(PARSE(&request, "GET / HTTP/3.0", "Host: x"), 505);
        assert_int_equal(PARSE(&request, "GET  / HTTP/1.1", "Host: x"), 400);
        assert_int_equal(PARSE(&request, "G\"T / HTTP/1.1", "Host: x"), 400);
        assert_int_equal(PARSE(&request, "GET /#a HTTP/1.1", "Host: x"), 400);
        assert_int_equal(PARSE(&request, "GET * HTTP/1.1", "Host: x"), 400);
}

static int host(const char *text)
{
        struct request request;
        char line[256];

        snprintf(line, sizeof(line), "Host: %s", text);
        return PARSE(&request, "GET / HTTP/1.1", line);
}

static void test_a_host_is_a_name_or_number_and_perhaps_a_port(void **state)
{
        static const char *const good[] = {
                "",      "x",           "example.org",   "127.0.0.1:9420",
                "[::1]", "[fe80::1]:1", "%2Frun%2Fsock", "a_b-c:65535"
        };
        static const char *const bad[] = { "127.0.0.1:80@evil",
                                           "x@y",
                                           "x:",
                                           "x:y",
                                           "x:1:2",
                                           "x:65536",
                                           "x:-1",
                                           "x: 1",
                                           ":1",
                                           "::1",
                                           "[::1",
                                           "[x]",
                                           "[::1]y",
                                           "[]",
                                           "x y",
                                           "x/y",
                                           "x\\y",
                                           "x?y",
                                           "x,y",
                                           "x#y",
                                           "[::1%1]",
                                           "\"x\"",
                                           "x]",
                                           "<x>" };

        for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
                if (host(good[i]) != 0)
                        fail_msg("%s", good[i]);
        }
        for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                if (host(bad[i]) != 400)
                        fail_msg("%s", bad[i]);
        }
}

static void test_a_query_in_its_pairs(void **state)
{
        char text[] = "&a=1&&b=x%3d+y&c&d=%zz&e=%00&f=";
        char *rest = text, *name, *value;
        static const char *const pairs[][2] = { { "a", "1" }, { "b", "x= y" }, { "c", "" },
                                                { NULL, "" }, { NULL, "" },    { "f", "" } };

        for (unsigned i = 0; i < 6; i++) {
                assert_true(request_next_pair(&rest, &name, &value));
                if (!pairs[i][0]) {
                        assert_null(name);
                        continue;
                }
                assert_string_equal(name, pairs[i][0]);
                assert_string_equal(value, pairs[i][1]);
        }
        assert_false(request_next_pair(&rest, &name, &value));
}

static void test_a_host_that_no_name_server_decides(void **state)
{
        static const char *const good[] = { "127.0.0.1",   "10.0.0.7:9420", "localhost",
                                            "LocalHost:1", "[::1]",         "[fe80::1]:80" };
        static const char *const bad[] = {
                "",
                "example.org",
                "localhost.org:80",
                "127.0.0.1.org",
                "[::1",
                "[::1]x",
                "[localhost",
                "127.1",
                "::1",
                "127.0.0.1:80@evil",
                "127.0.0.1:80:80",
                "[::1]:80@evil",
                "::1:80",
                "evil@127.0.0.1",
                "127.0.0.1:",
                "127.0.0.1:-1",
                "127.0.0.1:65536",
                "127.0.0.1 ",
                "[127.0.0.1]",
                "[localhost]",
                "[::1]]",
                "[[::1]]",
                "[fe80::1%eth0]",
                "localhost.",
                ":80",
                "localhost,evil",
                "localhost/",
                "127.0.0.1:80 evil",
        };

        for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++)
                assert_true(request_is_local_host(good[i]));
        for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                if (request_is_local_host(bad[i]))
                        fail_msg("%s", bad[i]);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_request_in_all_its_parts),
                cmocka_unit_test(test_who_keeps_the_connection),
                cmocka_unit_test(test_what_could_be_read_in_two_ways_is_refused),
                cmocka_unit_test(test_a_host_is_a_name_or_number_and_perhaps_a_port),
                cmocka_unit_test(test_a_query_in_its_pairs),
                cmocka_unit_test(test_a_host_that_no_name_server_decides),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
