/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flights are billed without bias: what is billed over many comes to what they took, whatever their
 * lengths and pauses are, and a flight that a wait ended is billed to the nanosecond.
 */
#include "shim/time/flight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

/* One flight that nobody waits for: looks are on time. Returns what it is billed. */
static int64_t fly(struct flight *flight, uint64_t begin_ns, uint64_t length_ns)
{
        uint64_t end_ns = begin_ns + length_ns;
        int64_t exact_ns;

        flight_begin(flight, begin_ns);
        while (flight->look_ns < end_ns)
                flight_seen(flight, flight->look_ns);
        exact_ns = (int64_t)(flight->busy_ns - begin_ns);
        return exact_ns + flight_end(flight, flight->look_ns);
}

/* One whose begin nobody saw, either: what a stream holds behind a wait. */
static int64_t fly_unseen(struct flight *flight, uint64_t begin_ns, uint64_t length_ns)
{
        uint64_t end_ns = begin_ns + length_ns, look_ns = flight_look_ns(flight, begin_ns);
        int64_t exact_ns;

        if (look_ns >= end_ns)
                return 0;
        flight_begin_unseen(flight, look_ns);
        begin_ns = flight->begin_ns;
        while (flight->look_ns < end_ns)
                flight_seen(flight, flight->look_ns);
        exact_ns = (int64_t)(flight->busy_ns - begin_ns);
        return exact_ns + flight_end(flight, end_ns);
}

typedef int64_t flying(struct flight *flight, uint64_t begin_ns, uint64_t length_ns);

static void assert_unbiased(flying *fly_once, uint64_t length_ns, uint64_t pause_ns)
{
        struct flight flight = { .seed = length_ns * 31 + pause_ns };
        int64_t billed_ns = 0;
        uint64_t now_ns = 5 * MS, count = 100000;

        for (uint64_t i = 0; i < count; i++) {
                billed_ns += fly_once(&flight, now_ns, length_ns);
                now_ns += length_ns + pause_ns;
        }
        assert_in_range(billed_ns, count * length_ns * 97 / 100, count * length_ns * 103 / 100);
}

static void assert_unbiased_at_all_lengths(flying *fly_once)
{
        assert_unbiased(fly_once, 190 * US, 810 * US);
        assert_unbiased(fly_once, 20 * US, 180 * US);
        assert_unbiased(fly_once, 50 * US, 51 * US);
        assert_unbiased(fly_once, 1 * MS, 1 * MS);
        assert_unbiased(fly_once, 3 * MS + 7, 333 * US);
        assert_unbiased(fly_once, 200 * US, 800 * US);
}

static void what_is_billed_comes_to_what_it_took(void **state)
{
        assert_unbiased_at_all_lengths(fly);
}

static void so_it_does_where_nobody_saw_the_begin(void **state)
{
        assert_unbiased_at_all_lengths(fly_unseen);
}

static void a_flight_that_a_wait_ended_is_billed_exactly(void **state)
{
        struct flight flight = { .seed = 1 };

        flight_begin(&flight, 7 * MS + 3);
        while (flight.look_ns < 9 * MS)
                flight_seen(&flight, flight.look_ns);
        flight_end_at(&flight, 9 * MS + 11);
        assert_int_equal(flight.busy_ns, 9 * MS + 11);
        assert_int_equal(flight.begin_ns, 0);
}

/* It is in flight all along, so a late look loses nothing. */
static void a_look_that_is_late_counts_every_slot_until_then(void **state)
{
        struct flight flight = { .seed = 2 };

        flight_begin(&flight, 10 * MS);
        flight_seen(&flight, 60 * MS);
        assert_true(flight.look_ns > 60 * MS && flight.look_ns <= 62 * MS);
        assert_in_range(50 * MS + (uint64_t)flight_end(&flight, 61 * MS), 48 * MS, 52 * MS);
}

static void looks_are_rare_where_a_flight_lasts_or_waits_end_it(void **state)
{
        struct flight flight = { .seed = 3 };
        unsigned looks = 0;

        flight_begin(&flight, 10 * MS);
        for (; flight.look_ns < 110 * MS; looks++)
                flight_seen(&flight, flight.look_ns);
        assert_in_range(looks, 75, 95);
        for (unsigned i = 0; i < 20; i++) {
                flight_end_at(&flight, 200 * MS + i);
                flight_begin(&flight, 200 * MS + i);
        }
        flight_end_at(&flight, 205 * MS);
        flight_look_ns(&flight, 206 * MS);
        flight_look_ns(&flight, 206 * MS + 250 * US);
        flight_look_ns(&flight, 207 * MS);
        assert_int_equal(flight.length_ns, FLIGHT_LONG_SLOT_NS);
}

static void looks_are_rare_where_no_limit_depends_on_them(void **state)
{
        struct flight flight = { .seed = 4, .is_coarse = true };
        unsigned looks = 0;

        for (uint64_t now_ns = 10 * MS; now_ns < 110 * MS; now_ns += 100 * US, looks++) {
                flight_begin(&flight, now_ns);
                now_ns = flight.look_ns;
                flight_end(&flight, now_ns);
        }
        assert_in_range(looks, 60, 90);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_billed_comes_to_what_it_took),
                cmocka_unit_test(so_it_does_where_nobody_saw_the_begin),
                cmocka_unit_test(a_flight_that_a_wait_ended_is_billed_exactly),
                cmocka_unit_test(a_look_that_is_late_counts_every_slot_until_then),
                cmocka_unit_test(looks_are_rare_where_a_flight_lasts_or_waits_end_it),
                cmocka_unit_test(looks_are_rare_where_no_limit_depends_on_them),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
