/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers: who is the same one, and how often each may ask. Time is the test's.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "daemon/base/peers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define MS UINT64_C(1000000)

static const struct peers_rate rate = { .per_second = 10, .burst = 5 };
static struct peers peers = LIST_HEAD_INITIALIZER(peers);

static struct peer *enter(struct peer_key key)
{
        struct peer *peer = peers_enter(&peers, &key, &rate, 0);

        assert_non_null(peer);
        return peer;
}

static struct peer_key address_of(const char *text)
{
        struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
        struct sockaddr_in four = { .sin_family = AF_INET };

        if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
                return peers_address((struct sockaddr *)&four);
        assert_int_equal(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
        return peers_address((struct sockaddr *)&six);
}

static int forget_all(void **state)
{
        peers_free(&peers);
        return 0;
}

static void test_who_is_the_same_peer(void **state)
{
        struct peer *user = enter(peers_user(1000));

        assert_ptr_equal(enter(peers_user(1000)), user);
        assert_int_equal(user->connections, 2);
        assert_ptr_not_equal(enter(peers_user(1001)), user);
        assert_ptr_not_equal(enter(address_of("0.0.3.232")), user); /* 1000 as an address */
        assert_ptr_equal(enter(address_of("fe80::1")), enter(address_of("fe80::2")));
        assert_ptr_not_equal(enter(address_of("fe80:0:0:1::1")), enter(address_of("fe80::1")));
}

/* Else a program of this machine is as many peers as it binds addresses of 127.0.0.0/8. */
static void test_all_of_loopback_is_one_peer(void **state)
{
        static const char *const loopback[] = { "127.0.0.2", "127.255.255.254", "::1",
                                                "::ffff:127.0.0.1", "::ffff:127.9.9.9" };
        struct peer *peer = enter(address_of("127.0.0.1"));

        for (unsigned i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++)
                assert_ptr_equal(enter(address_of(loopback[i])), peer);
        assert_ptr_not_equal(enter(address_of("126.255.255.255")), peer);
        assert_ptr_not_equal(enter(address_of("128.0.0.1")), peer);
        assert_ptr_not_equal(enter(address_of("::")), peer);
        assert_ptr_not_equal(enter(address_of("::2")), peer);
        assert_ptr_not_equal(enter(address_of("7f00:1::1")), peer);
}

/* A listener on [::] has IPv4 peers under such names: all in one /64. */
static void test_an_ipv4_address_is_the_same_peer_over_ipv6(void **state)
{
        assert_ptr_equal(enter(address_of("::ffff:10.0.0.7")), enter(address_of("10.0.0.7")));
        assert_ptr_not_equal(enter(address_of("::ffff:10.0.0.8")), enter(address_of("10.0.0.7")));
}

static void test_a_burst_and_then_the_rate(void **state)
{
        struct peer *peer = enter(peers_user(1));
        unsigned wait = 0;

        for (unsigned i = 0; i < rate.burst; i++)
                assert_true(peers_take(peer, &rate, SECOND, &wait));
        assert_false(peers_take(peer, &rate, SECOND, &wait));
        assert_int_equal(wait, 1);
        assert_true(peers_take(peer, &rate, SECOND + SECOND / 10, &wait));
        assert_false(peers_take(peer, &rate, SECOND + SECOND / 10, &wait));
        /* However long it was away, it has no more than a burst. */
        for (unsigned i = 0; i < rate.burst; i++)
                assert_true(peers_take(peer, &rate, 1000 * SECOND, &wait));
        assert_false(peers_take(peer, &rate, 1000 * SECOND, &wait));
}

static void test_one_peers_requests_are_not_anothers(void **state)
{
        struct peer *busy = enter(peers_user(1)), *other = enter(peers_user(2));
        unsigned wait;

        while (peers_take(busy, &rate, SECOND, &wait))
                ;
        assert_true(peers_take(other, &rate, SECOND, &wait));
}

/* Else closing the connection would fill the bucket. */
static void test_a_peer_is_forgotten_only_when_its_bucket_is_full(void **state)
{
        struct peer *peer = enter(peers_user(1));
        unsigned wait;

        while (peers_take(peer, &rate, SECOND, &wait))
                ;
        peers_leave(peer);
        peers_tidy(&peers, &rate, SECOND);
        assert_ptr_equal(LIST_FIRST(&peers), peer);
        peers_tidy(&peers, &rate, 2 * SECOND);
        assert_null(LIST_FIRST(&peers));
}

static void test_no_rate_is_no_limit(void **state)
{
        const struct peers_rate none = { .per_second = 0, .burst = 1 };
        struct peer *peer = enter(peers_user(1));
        unsigned wait;

        for (unsigned i = 0; i < 1000; i++)
                assert_true(peers_take(peer, &none, SECOND, &wait));
}

/* As if a call on the peer's socket had taken so much CPU time. */
static void call_for(struct peer *peer, uint64_t took_ns, uint64_t now_ns)
{
        peers_call_end(peer, peers_call_begin() - took_ns, now_ns);
}

static void test_a_busy_machine_makes_a_call_long_and_nobody_rests(void **state)
{
        struct peer *peer = enter(peers_user(1));

        call_for(peer, 5 * MS, SECOND);
        call_for(peer, 5 * MS, 2 * SECOND);
        assert_false(peers_rests(peer, 2 * SECOND));
        call_for(peer, 5 * MS, 60 * SECOND);
        assert_false(peers_rests(peer, 60 * SECOND));
}

static void test_many_long_calls_or_a_very_long_one_make_a_peer_rest(void **state)
{
        struct peer *often = enter(peers_user(1)), *once = enter(peers_user(2));

        for (unsigned i = 0; i < 6; i++)
                call_for(often, 5 * MS, SECOND);
        assert_true(peers_rests(often, 5 * SECOND));
        assert_false(peers_rests(often, 7 * SECOND));
        call_for(once, SECOND, SECOND);
        assert_true(peers_rests(once, 490 * SECOND));
        assert_false(peers_rests(once, 492 * SECOND));
}

static void test_a_peer_does_not_forget_its_long_calls_by_leaving(void **state)
{
        struct peer *peer = enter(peers_user(1));

        call_for(peer, SECOND, SECOND);
        peers_leave(peer);
        peers_tidy(&peers, &rate, 495 * SECOND);
        assert_ptr_equal(enter(peers_user(1)), peer);
        peers_leave(peer);
        peers_tidy(&peers, &rate, 502 * SECOND);
        assert_true(LIST_EMPTY(&peers));
}

#define story(test) cmocka_unit_test_setup_teardown(test, NULL, forget_all)

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(test_who_is_the_same_peer),
                story(test_all_of_loopback_is_one_peer),
                story(test_an_ipv4_address_is_the_same_peer_over_ipv6),
                story(test_a_burst_and_then_the_rate),
                story(test_one_peers_requests_are_not_anothers),
                story(test_a_peer_is_forgotten_only_when_its_bucket_is_full),
                story(test_no_rate_is_no_limit),
                story(test_a_busy_machine_makes_a_call_long_and_nobody_rests),
                story(test_many_long_calls_or_a_very_long_one_make_a_peer_rest),
                story(test_a_peer_does_not_forget_its_long_calls_by_leaving),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
