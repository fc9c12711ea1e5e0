/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The union of [submitted, complete], as it is told piece by piece.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/node/flight.h"

static void pieces_that_overlap_count_once(void **state)
{
        struct node_flight flight = { 0 };

        flight_submit(&flight, 100);
        flight_submit(&flight, 150);
        flight_complete(&flight, 200);
        assert_int_equal(flight_ns(&flight, 220), 120);
        flight_complete(&flight, 260);
        assert_int_equal(flight_ns(&flight, 1000), 160);
}

static void a_gap_does_not_count(void **state)
{
        struct node_flight flight = { 0 };

        for (uint64_t at = 1000; at < 11000; at += 100) {
                flight_submit(&flight, at);
                flight_complete(&flight, at + 30);
        }
        assert_int_equal(flight_ns(&flight, 20000), 100 * 30);
}

static void what_follows_at_once_is_the_same_flight(void **state)
{
        struct node_flight flight = { 0 };

        flight_submit(&flight, 100);
        flight_complete(&flight, 200);
        flight_submit(&flight, 200);
        flight_complete(&flight, 300);
        assert_int_equal(flight_ns(&flight, 400), 200);
}

/* A call that entered the driver first, and got its piece in last. */
static void a_beginning_that_is_told_late_counts_and_nothing_counts_twice(void **state)
{
        struct node_flight flight = { 0 };

        flight_submit(&flight, 100);
        flight_complete(&flight, 200);
        flight_submit(&flight, 300);
        flight_submit(&flight, 250);
        assert_int_equal(flight_ns(&flight, 310), 100 + 60);
        flight_submit(&flight, 150);
        assert_int_equal(flight_ns(&flight, 310), 100 + 110);
}

static void the_dead_are_in_flight_until_they_were_last_heard_of(void **state)
{
        struct node_flight flight = { 0 };

        flight_submit(&flight, 100);
        flight_submit(&flight, 120);
        flight_abandon(&flight, 2, 170);
        assert_int_equal(flight_ns(&flight, 1000), 70);
        flight_abandon(&flight, 2, 180);
        assert_int_equal(flight.open, 0);
}

struct piece {
        uint64_t begin_ns, end_ns;
};

static int by_begin(const void *a, const void *b)
{
        const struct piece *first = a, *second = b;

        return (first->begin_ns > second->begin_ns) - (first->begin_ns < second->begin_ns);
}

/* Told in the order of time, as virtual time tells it. */
static void any_pieces_in_the_order_of_time_make_their_union(void **state)
{
        enum { PIECES = 200, LENGTH = 3000 };
        static struct piece pieces[PIECES];
        static char is_covered[2 * LENGTH];

        for (unsigned seed = 1; seed <= 200; seed++) {
                struct node_flight flight = { 0 };
                uint64_t sum_ns = 0, mean_ns = 1 + seed;
                unsigned next = 0;

                srand(seed);
                memset(is_covered, 0, sizeof(is_covered));
                for (unsigned i = 0; i < PIECES; i++) {
                        pieces[i].begin_ns = 1 + (uint64_t)rand() % LENGTH;
                        pieces[i].end_ns = pieces[i].begin_ns + 1 + (uint64_t)rand() % mean_ns;
                        memset(is_covered + pieces[i].begin_ns, 1,
                               pieces[i].end_ns - pieces[i].begin_ns);
                }
                qsort(pieces, PIECES, sizeof(pieces[0]), by_begin);
                for (uint64_t now_ns = 0; now_ns < 2 * LENGTH; now_ns++) {
                        for (; next < PIECES && pieces[next].begin_ns == now_ns; next++)
                                flight_submit(&flight, now_ns);
                        for (unsigned i = 0; i < next; i++) {
                                if (pieces[i].end_ns == now_ns)
                                        flight_complete(&flight, now_ns);
                        }
                        assert_int_equal(flight_ns(&flight, now_ns), sum_ns);
                        sum_ns += (uint64_t)is_covered[now_ns];
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(pieces_that_overlap_count_once),
                cmocka_unit_test(a_gap_does_not_count),
                cmocka_unit_test(what_follows_at_once_is_the_same_flight),
                cmocka_unit_test(a_beginning_that_is_told_late_counts_and_nothing_counts_twice),
                cmocka_unit_test(the_dead_are_in_flight_until_they_were_last_heard_of),
                cmocka_unit_test(any_pieces_in_the_order_of_time_make_their_union),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
