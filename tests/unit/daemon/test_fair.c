/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose request is served next. Costs are the test's.
 */
#include <string.h>

#include "daemon/base/fair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define MANY 100

static struct fair fair;
static struct fair_peer crowd, neighbour, other;
static struct fair_request of_crowd[MANY], of_neighbour[MANY], of_other[MANY];

static int begin(void **state)
{
        fair_init(&fair);
        memset(&crowd, 0, sizeof(crowd));
        memset(&neighbour, 0, sizeof(neighbour));
        memset(&other, 0, sizeof(other));
        return 0;
}

static struct fair_peer *serve(uint64_t cost_ns)
{
        struct fair_request *request = fair_take(&fair);
        struct fair_peer *peer = NULL;

        if (request)
                peer = request->context;
        if (peer)
                fair_charge(&fair, peer, cost_ns);
        return peer;
}

static void ask(struct fair_peer *peer, struct fair_request *request)
{
        request->context = peer;
        fair_add(&fair, peer, request);
}

static void ask_often(struct fair_peer *peer, struct fair_request *requests)
{
        for (unsigned i = 0; i < MANY; i++)
                ask(peer, &requests[i]);
}

static void test_who_asks_once_is_served_next_whatever_another_has_waiting(void **state)
{
        ask_often(&crowd, of_crowd);
        for (unsigned i = 0; i < MANY / 2; i++)
                assert_ptr_equal(serve(10), &crowd);
        ask(&neighbour, &of_neighbour[0]);
        assert_ptr_equal(serve(10), &neighbour);
        assert_ptr_equal(serve(10), &crowd);
}

static void test_a_request_of_no_cost_counts_too(void **state)
{
        ask_often(&crowd, of_crowd);
        assert_ptr_equal(serve(0), &crowd);
        ask(&neighbour, &of_neighbour[0]);
        assert_ptr_equal(serve(0), &neighbour);
}

/* Two ask without end, and a request of one takes nine times as long. */
static void test_time_is_shared_and_not_the_number_of_requests(void **state)
{
        unsigned dear = 0, cheap = 0;

        ask_often(&crowd, of_crowd);
        ask_often(&neighbour, of_neighbour);
        while (neighbour.count) {
                if (fair_take(&fair)->context == &crowd) {
                        fair_charge(&fair, &crowd, 9);
                        dear++;
                } else {
                        fair_charge(&fair, &neighbour, 1);
                        cheap++;
                }
        }
        assert_int_equal(cheap, MANY);
        assert_in_range(dear, MANY / 9, MANY / 9 + 1);
}

/* Whoever did not ask has not saved anything up either. */
static void test_who_was_away_gets_no_more_than_its_share_after(void **state)
{
        ask_often(&crowd, of_crowd);
        for (unsigned i = 0; i < MANY / 2; i++)
                serve(1000);
        ask_often(&neighbour, of_neighbour);
        for (unsigned i = 0; i < 10; i++) {
                assert_ptr_equal(serve(1000), &neighbour);
                assert_ptr_equal(serve(1000), &crowd);
        }
}

static void test_what_was_taken_before_a_pause_is_forgotten_in_it(void **state)
{
        ask(&crowd, &of_crowd[0]);
        assert_ptr_equal(serve(UINT64_C(1000000000)), &crowd);
        assert_null(serve(0));
        ask(&crowd, &of_crowd[0]);
        ask(&other, &of_other[0]);
        assert_ptr_equal(serve(1), &crowd); /* which came first */
        assert_ptr_equal(serve(1), &other);
}

static void test_who_leaves_is_not_served_and_the_order_of_one_peer_stays(void **state)
{
        for (unsigned i = 0; i < 3; i++)
                ask(&crowd, &of_crowd[i]);
        ask(&other, &of_other[0]);
        fair_remove(&fair, &of_crowd[1]);
        fair_remove(&fair, &of_crowd[1]);
        fair_remove(&fair, &of_other[0]);
        assert_ptr_equal(fair_take(&fair), &of_crowd[0]);
        assert_ptr_equal(fair_take(&fair), &of_crowd[2]);
        assert_null(fair_take(&fair));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(
                        test_who_asks_once_is_served_next_whatever_another_has_waiting, begin),
                cmocka_unit_test_setup(test_a_request_of_no_cost_counts_too, begin),
                cmocka_unit_test_setup(test_time_is_shared_and_not_the_number_of_requests, begin),
                cmocka_unit_test_setup(test_who_was_away_gets_no_more_than_its_share_after, begin),
                cmocka_unit_test_setup(test_what_was_taken_before_a_pause_is_forgotten_in_it,
                                       begin),
                cmocka_unit_test_setup(
                        test_who_leaves_is_not_served_and_the_order_of_one_peer_stays, begin),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
