/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a driver's time stamps are believed: whatever one of them says, the next ones are right
 * again, and no work is free for longer than a few.
 */
#include "shim/stamp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#define US INT64_C(1000)
#define MS (1000 * US)
#define S (1000 * MS)
#define NEAR US /* what rounding may come to */

/* A device whose time began long ago, and a host whose clock shows this. */
static int64_t now_ns;

/* A stamp of an event that was asked for `queued_ns` before it was passed, which the host finds so
 * long after. The driver tells `wrong_ns` more than is true. What is believed, less what is true.
 */
static int64_t place(struct anchor *anchor, int64_t anchored_ns, int64_t queued_ns,
                     int64_t wrong_ns)
{
        int64_t passed_ns = now_ns + queued_ns;
        struct stamp stamp;
        int64_t asked_ns = now_ns;

        now_ns = passed_ns + 50 * US;
        anchor_place(anchor, passed_ns - anchored_ns + wrong_ns, asked_ns, now_ns, &stamp);
        assert_in_range(stamp.at_ns, asked_ns - NEAR, now_ns + NEAR);
        now_ns += 50 * US;
        return stamp.at_ns - passed_ns;
}

static void a_right_anchor_stays(void **state)
{
        struct anchor anchor = { .base_ns = 5 * S };

        now_ns = 6 * S;
        for (unsigned i = 0; i < 100; i++)
                assert_int_equal(place(&anchor, 5 * S, (int64_t)i * US, 0), 0);
        assert_int_equal(anchor.base_ns, 5 * S);
}

/* The host was held up between the clock and the record, or after it. */
static void an_anchor_that_is_off_is_right_with_the_first_stamp_that_shows_it(void **state)
{
        static const int64_t off_ns[] = { MS, 100 * MS, S, 60 * S, -MS, -S, -60 * S };

        for (unsigned i = 0; i < sizeof(off_ns) / sizeof(off_ns[0]); i++) {
                struct anchor anchor = { .base_ns = 100 * S + off_ns[i] };

                now_ns = 200 * S;
                place(&anchor, 100 * S, 0, 0);
                assert_in_range(llabs(place(&anchor, 100 * S, 0, 0)), 0, 50 * US);
                assert_in_range(llabs(anchor.base_ns - 100 * S), 0, 50 * US);
        }
}

/* Also where each event waits for milliseconds in a full stream: then it is off by less than that,
 * and what lies between two stamps is right. */
static void one_wrong_value_is_wrong_once(void **state)
{
        static const int64_t wrong_ns[] = { MS, 60 * S, -MS, -60 * S, -(INT64_C(1) << 40) };

        for (unsigned i = 0; i < sizeof(wrong_ns) / sizeof(wrong_ns[0]); i++) {
                struct anchor anchor = { .base_ns = 100 * S };
                int64_t off_ns;

                now_ns = 200 * S;
                place(&anchor, 100 * S, 5 * MS, 0);
                place(&anchor, 100 * S, 5 * MS, wrong_ns[i]);
                place(&anchor, 100 * S, 5 * MS, 0);
                off_ns = place(&anchor, 100 * S, 5 * MS, 0);
                assert_in_range(llabs(off_ns), 0, 5 * MS);
                assert_int_equal(place(&anchor, 100 * S, 5 * MS, 0), off_ns);
        }
}

/* Where an event is believed to be that lies so long after the anchor, which is at 1 s, was asked
 * for at 2 s, and found passed at 3 s. */
static struct stamp believed(struct anchor *anchor, int64_t apart_ns)
{
        struct stamp stamp;

        *anchor = (struct anchor){ .base_ns = S };
        assert_true(anchor_place(anchor, apart_ns, 2 * S, 3 * S, &stamp));
        return stamp;
}

static void what_milliseconds_are_rounded_by_moves_nothing(void **state)
{
        struct anchor anchor;

        assert_int_equal(believed(&anchor, 2 * S + NEAR).at_ns, 3 * S + NEAR);
        assert_int_equal(anchor.base_ns, S);
        assert_int_equal(believed(&anchor, S - NEAR).at_ns, 2 * S - NEAR);
        assert_int_equal(anchor.base_ns, S);
        assert_int_equal(believed(&anchor, 2 * S + NEAR + 1).at_ns, 3 * S);
        assert_int_equal(anchor.base_ns, S - NEAR - 1);
        assert_int_equal(believed(&anchor, S - NEAR - 1).at_ns, 2 * S);
        assert_int_equal(anchor.base_ns, S + NEAR + 1);
}

/* What clocks that drift come to moves the anchor all the same, and is learned from. */
static void only_what_is_far_off_teaches_nothing(void **state)
{
        struct anchor anchor;

        assert_false(believed(&anchor, 2 * S + 20 * US).is_moved);
        assert_false(believed(&anchor, S - 20 * US).is_moved);
        assert_int_equal(anchor.moves, 0);
        assert_true(believed(&anchor, 2 * S + 20 * US + 1).is_moved);
        assert_true(believed(&anchor, S - 20 * US - 1).is_moved);
}

/* Then nothing is known of when it was passed. */
static void an_event_that_was_asked_for_after_now_is_where_it_says(void **state)
{
        struct anchor anchor = { .base_ns = S };
        struct stamp stamp;

        assert_true(anchor_place(&anchor, S, 3 * S, 2 * S, &stamp));
        assert_int_equal(stamp.at_ns, 2 * S);
        assert_int_equal(anchor.base_ns, S);
}

/* Two clocks that drift apart by 100 millionths: a day later as on the first second. */
static void clocks_that_drift_are_followed(void **state)
{
        struct anchor anchor = { .base_ns = 0 };

        now_ns = S;
        for (int64_t i = 1; i < 1000; i++)
                assert_in_range(llabs(place(&anchor, 0, 10 * US, i * 100 * US)), 0, 160 * US);
}

static void a_driver_that_always_says_the_same_tells_no_times(void **state)
{
        struct anchor anchor = { .base_ns = 100 * S };
        struct stamp stamp;
        unsigned stamps = 0;

        for (now_ns = 101 * S; anchor_place(&anchor, 0, now_ns, now_ns + MS, &stamp);
             now_ns += 2 * MS)
                assert_true(++stamps < 8);
        assert_int_equal(stamps, 7);
        anchor = anchor_again(now_ns);
        for (stamps = 0; anchor_place(&anchor, 0, now_ns, now_ns + MS, &stamp); now_ns += 2 * MS)
                assert_true(++stamps < 4);
        assert_int_equal(stamps, 3); /* the first of them is right */
}

static void one_that_is_right_every_second_time_tells_no_times_either(void **state)
{
        struct anchor anchor = { .base_ns = 0 };
        struct stamp stamp;
        unsigned stamps = 0;

        for (now_ns = S; anchor_place(&anchor, now_ns - anchor.base_ns + (stamps % 2 ? 0 : -MS),
                                      now_ns, now_ns + US, &stamp);
             now_ns += S)
                assert_true(++stamps < 24);
        assert_int_equal(stamps, 22);
}

static void what_is_no_time_is_refused(void **state)
{
        static const float wrong[] = { NAN, INFINITY, -INFINITY, 3e38F, -3e38F, 2e12F, -2e12F };
        int64_t ns;

        for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
                assert_false(stamp_ns(wrong[i], &ns));
        assert_true(stamp_ns(-1.5F, &ns));
        assert_int_equal(ns, -1500 * US);
        assert_true(stamp_ns(0, &ns));
        assert_int_equal(ns, 0);
}

/* -- What work took --------------------------------------------------------------------------- */

/* A struct sample in microseconds. */
struct interval {
        uint64_t apart_us, lead_us, unseen_us, paid_us;
};

static uint64_t took(struct interval interval, uint32_t *doubts, bool *is_sure)
{
        struct sample sample = { .apart_ns = interval.apart_us * US,
                                 .lead_ns = interval.lead_us * US,
                                 .unseen_ns = interval.unseen_us * US,
                                 .paid_ns = interval.paid_us * US };

        return sample_took_ns(&sample, doubts, is_sure) / US;
}

/* Of the first such interval: what it took, and whether it is worth learning from. */
static void expect(struct interval interval, uint64_t took_us, bool is_sure)
{
        uint32_t doubts = 0;
        bool is_really;

        assert_int_equal(took(interval, &doubts, &is_really), took_us);
        assert_int_equal(is_really, is_sure);
}

static void work_that_waited_for_its_launch_takes_that_less(void **state)
{
        expect((struct interval){ 204, 4, 0, 50 }, 200, true);
}

/* A launch that returns when its kernel is long over: that is no time in which the stream was idle.
 */
static void no_launch_takes_so_long_that_its_work_is_free(void **state)
{
        uint32_t doubts = 0;
        bool is_sure;

        for (uint64_t lead_us = 0; lead_us < 1000000; lead_us = 2 * lead_us + 1) {
                assert_true(took((struct interval){ 20, lead_us, 0, 0 }, &doubts, &is_sure) >= 10);
                assert_true(took((struct interval){ 2000, lead_us, 0, 0 }, &doubts, &is_sure) >=
                            1950);
        }
}

/* Stopped for a minute between two lines of ours: a kernel of 200 us has not run for a minute. */
static void who_was_held_up_is_not_charged_for_it(void **state)
{
        expect((struct interval){ 60000200, 4, 60000000, 190 }, 200, false);
        expect((struct interval){ 60000200, 4, 60000100, 190 }, 190, false);
        expect((struct interval){ 3000000, 0, 150, 50 }, 3000000, true);
}

/* A sixteenth of an interval is no doubt yet. */
static void who_was_held_up_for_a_moment_is_believed(void **state)
{
        expect((struct interval){ 1600, 0, 100, 50 }, 1600, true);
        expect((struct interval){ 1600, 0, 101, 50 }, 1499, false);
}

/* Nor for more than lies between the markers, less what it had not begun. */
static void who_was_held_up_is_charged_no_more_than_there_was(void **state)
{
        expect((struct interval){ 1000, 4, 500, 5000 }, 996, false);
}

/* The driver told late that it had ended: by its own stamp it was over before. */
static void a_stamp_that_comes_too_early_is_what_was_expected(void **state)
{
        const struct sample sample = { .apart_ns = 20 * US, .paid_ns = 70 * US, .is_early = true };
        uint32_t doubts = 0;
        bool is_sure;

        assert_int_equal(sample_took_ns(&sample, &doubts, &is_sure), 70 * US);
        assert_false(is_sure);
}

static void who_is_always_held_up_is_believed_now_and_then(void **state)
{
        uint32_t doubts = 0, sure = 0;
        bool is_sure;

        for (unsigned i = 0; i < 10 * (STAMP_DOUBTS + 1); i++) {
                uint64_t us = took((struct interval){ 1000, 4, 1000, 0 }, &doubts, &is_sure);

                assert_int_equal(us, is_sure ? 996 : 0);
                sure += is_sure;
        }
        assert_int_equal(sure, 10);
}

static void a_stamp_that_was_far_off_teaches_nothing(void **state)
{
        struct sample sample = { .apart_ns = US, .paid_ns = 50 * US, .is_moved = true };
        uint32_t doubts = 0;
        bool is_sure;

        for (unsigned i = 0; i < 2 * STAMP_DOUBTS; i++) {
                assert_int_equal(sample_took_ns(&sample, &doubts, &is_sure), 50 * US);
                assert_false(is_sure);
        }
}

static void work_that_took_no_time_is_what_was_expected(void **state)
{
        expect((struct interval){ 0, 4, 0, 70 }, 70, false);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_right_anchor_stays),
                cmocka_unit_test(an_anchor_that_is_off_is_right_with_the_first_stamp_that_shows_it),
                cmocka_unit_test(one_wrong_value_is_wrong_once),
                cmocka_unit_test(what_milliseconds_are_rounded_by_moves_nothing),
                cmocka_unit_test(only_what_is_far_off_teaches_nothing),
                cmocka_unit_test(an_event_that_was_asked_for_after_now_is_where_it_says),
                cmocka_unit_test(clocks_that_drift_are_followed),
                cmocka_unit_test(a_driver_that_always_says_the_same_tells_no_times),
                cmocka_unit_test(one_that_is_right_every_second_time_tells_no_times_either),
                cmocka_unit_test(what_is_no_time_is_refused),
                cmocka_unit_test(work_that_waited_for_its_launch_takes_that_less),
                cmocka_unit_test(no_launch_takes_so_long_that_its_work_is_free),
                cmocka_unit_test(who_was_held_up_is_not_charged_for_it),
                cmocka_unit_test(who_was_held_up_for_a_moment_is_believed),
                cmocka_unit_test(who_was_held_up_is_charged_no_more_than_there_was),
                cmocka_unit_test(a_stamp_that_comes_too_early_is_what_was_expected),
                cmocka_unit_test(who_is_always_held_up_is_believed_now_and_then),
                cmocka_unit_test(a_stamp_that_was_far_off_teaches_nothing),
                cmocka_unit_test(work_that_took_no_time_is_what_was_expected),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
