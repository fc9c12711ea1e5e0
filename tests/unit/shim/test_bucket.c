/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bucket of a hard cap: filled by the clock, in debt when it must, never forgiving.
 */
#include "shim/time/bucket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "common/clock.h"
#include "core/sched.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define HALF (PAGE_WHOLE_PPM / 2)
#define START UINT64_C(5000000000)

static struct page_meter meter;

#define TOP (BUCKET_PERIOD_NS / 2)

/* Half a card, and a bucket that held 10 ms at START. */
static int full(void **state)
{
        meter = (struct page_meter){ .bucket_ns = 10 * MS, .filled_at_ns = START };
        return 0;
}

static int64_t level(uint64_t after_ns)
{
        return bucket_level_ns(&meter, HALF, START + after_ns);
}

/* Who has just come has saved nothing up, and need not wait either. */
static void a_page_never_used_holds_a_tenth(void **state)
{
        meter = (struct page_meter){ 0 };
        assert_int_equal(bucket_level_ns(&meter, HALF, START), TOP / 10);
        assert_int_equal(bucket_level_ns(&meter, HALF, 1),
                         TOP / 10); /* a machine that just began */
}

static void it_fills_at_the_cap_and_no_higher_than_its_period(void **state)
{
        bucket_charge(&meter, HALF, START, 10 * MS);
        assert_int_equal(level(0), 0);
        assert_int_equal(level(4 * MS), 2 * MS);
        assert_int_equal(level(20 * MS), 10 * MS);
        assert_int_equal(level(3600 * SECOND), TOP);
}

/* Ten hours at half a card: the product is above 2^64. */
static void a_long_idle_time_fills_it_as_a_short_one_does(void **state)
{
        bucket_charge(&meter, HALF, START, 1 * SECOND);
        assert_int_equal(level((UINT64_MAX / HALF) + 1), TOP);
}

static void a_debt_is_paid_back_to_the_last_nanosecond(void **state)
{
        bucket_charge(&meter, HALF, START, 1 * SECOND);
        assert_int_equal(level(0), -990 * MS);
        assert_int_equal(level(1980 * MS), 0);
        assert_int_equal(level(1980 * MS + 2), 1);
}

/* Nine kernels of 3 s that went before it was known what they take: all of it is owed. */
static void no_debt_is_too_large_to_be_owed(void **state)
{
        for (unsigned i = 0; i < 9; i++)
                bucket_charge(&meter, HALF, START, 3 * SECOND);
        assert_int_equal(level(0), 10 * MS - 27 * SECOND);
        assert_int_equal(level(53980 * MS + 2), 1);
        bucket_charge(&meter, HALF, START, INT64_MAX);
        assert_int_equal(level(0), BUCKET_FLOOR_NS);
        assert_true(bucket_due_ns(BUCKET_FLOOR_NS, 1, 1000, START) > START);
}

static void what_was_taken_in_excess_is_put_back(void **state)
{
        bucket_charge(&meter, HALF, START, 8 * MS);
        bucket_charge(&meter, HALF, START, -3 * MS);
        assert_int_equal(level(0), 5 * MS);
        bucket_charge(&meter, HALF, START, INT64_MIN);
        assert_int_equal(level(0), TOP);
}

/* Two processes read the clock a moment apart: no moment is filled twice. */
static void a_clock_that_goes_back_fills_nothing(void **state)
{
        bucket_charge(&meter, HALF, START + 2 * MS, 11 * MS);
        bucket_charge(&meter, HALF, START, 0);
        assert_int_equal(level(2 * MS), 0);
        assert_int_equal(level(4 * MS), 1 * MS);
}

/* Two processes that wait for it look at each nanosecond, of which the cap gives less than one: as
 * much as none is lost. */
static void looks_that_come_often_lose_nothing(void **state)
{
        meter.bucket_ns = (uint64_t)(-1 * MS);
        for (uint64_t ns = 1; ns <= 5000; ns++)
                bucket_charge(&meter, 3 * HALF / 10, START + ns, 0);
        assert_in_range(meter.bucket_ns + 1 * MS, 700, 750);
}

static void a_time_nobody_could_have_written_is_taken_for_now(void **state)
{
        uint64_t now_ns = clock_now_ns();

        meter.filled_at_ns = UINT64_MAX;
        meter.bucket_ns = 0;
        assert_int_equal(level(0), 0);
        bucket_charge(&meter, HALF, START, 0);
        assert_int_equal(level(2 * MS), 1 * MS);
        meter.filled_at_ns = now_ns + 60 * SECOND;
        bucket_charge(&meter, HALF, now_ns, 0);
        assert_int_equal(meter.filled_at_ns, now_ns);
}

/* A debt is not forgiven to who is stopped between its look at the clock and the bucket. */
static void who_was_stopped_with_a_time_in_its_hand_fills_nothing_twice(void **state)
{
        uint64_t now_ns = clock_now_ns();

        bucket_charge(&meter, HALF, now_ns, 60 * SECOND);
        bucket_charge(&meter, HALF, now_ns - 10 * (uint64_t)SECOND, 0);
        assert_true(bucket_level_ns(&meter, HALF, now_ns) < -59 * SECOND);
        assert_true(meter.filled_at_ns >= now_ns);
}

static void whatever_the_page_says_the_level_has_its_bounds(void **state)
{
        static const uint64_t words[] = { 0, 1, INT64_MAX, (uint64_t)INT64_MIN, UINT64_MAX, START };

        for (unsigned i = 0; i < 6; i++) {
                for (unsigned j = 0; j < 6; j++) {
                        meter.bucket_ns = words[i];
                        meter.filled_at_ns = words[j];
                        bucket_charge(&meter, HALF, START, 1);
                        assert_in_range(level(0) - BUCKET_FLOOR_NS, 0, TOP - BUCKET_FLOOR_NS);
                }
        }
}

static void who_waits_until_it_is_due_finds_what_it_waited_for(void **state)
{
        srand(1);
        for (unsigned i = 0; i < 10000; i++) {
                uint32_t cap_ppm = 1000 + (uint32_t)rand() % 998000;
                int64_t want_ns = 1 + rand() % bucket_top_ns(cap_ppm);
                uint64_t due_ns;

                meter = (struct page_meter){ 0 };
                bucket_charge(&meter, cap_ppm, START, rand() % SECOND);
                due_ns = bucket_due_ns(bucket_level_ns(&meter, cap_ppm, START), want_ns, cap_ppm,
                                       START);
                assert_true(bucket_level_ns(&meter, cap_ppm, due_ns) >= want_ns);
                assert_true(due_ns <= START ||
                            bucket_level_ns(&meter, cap_ppm, due_ns - 2000) < want_ns + 2);
        }
}

/* Whatever is charged when: over a long time it is the cap's, and no more. */
static void over_time_no_more_is_used_than_the_cap_gives(void **state)
{
        for (uint32_t cap_ppm = 100000; cap_ppm < PAGE_WHOLE_PPM; cap_ppm += 100000) {
                uint64_t now_ns = START, used_ns = 0;

                meter = (struct page_meter){ 0 };
                srand(cap_ppm);
                while (now_ns < START + 100 * SECOND) {
                        uint64_t piece_ns = 1000 + (uint64_t)rand() % (20 * MS);
                        int64_t level_ns = bucket_level_ns(&meter, cap_ppm, now_ns);

                        now_ns = bucket_due_ns(level_ns, 1, cap_ppm, now_ns);
                        bucket_charge(&meter, cap_ppm, now_ns, (int64_t)piece_ns);
                        used_ns += piece_ns;
                        now_ns += piece_ns;
                }
                assert_true(llabs((int64_t)(used_ns * 1000 / ((now_ns - START) / 1000)) -
                                  (int64_t)cap_ppm) < 1000);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(a_page_never_used_holds_a_tenth, full),
                cmocka_unit_test_setup(it_fills_at_the_cap_and_no_higher_than_its_period, full),
                cmocka_unit_test_setup(a_long_idle_time_fills_it_as_a_short_one_does, full),
                cmocka_unit_test_setup(a_debt_is_paid_back_to_the_last_nanosecond, full),
                cmocka_unit_test_setup(no_debt_is_too_large_to_be_owed, full),
                cmocka_unit_test_setup(what_was_taken_in_excess_is_put_back, full),
                cmocka_unit_test_setup(a_clock_that_goes_back_fills_nothing, full),
                cmocka_unit_test_setup(looks_that_come_often_lose_nothing, full),
                cmocka_unit_test_setup(a_time_nobody_could_have_written_is_taken_for_now, full),
                cmocka_unit_test_setup(who_was_stopped_with_a_time_in_its_hand_fills_nothing_twice,
                                       full),
                cmocka_unit_test_setup(whatever_the_page_says_the_level_has_its_bounds, full),
                cmocka_unit_test_setup(who_waits_until_it_is_due_finds_what_it_waited_for, full),
                cmocka_unit_test_setup(over_time_no_more_is_used_than_the_cap_gives, full),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
