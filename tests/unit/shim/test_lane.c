/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a launch to its charge, by a driver that tells the wrong time once, or always, and on a host
 * that is stopped anywhere in between: no program runs for nothing, and none pays for ever.
 */
#include "lane_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>

#include "shim/cuda/front.h"
#include "shim/cuda/lanes.h"

#define KERNEL_NS (200 * US)

/* -- A program -------------------------------------------------------------------------------- */

static void give_work(void)
{
        stage.free_ns = (stage.free_ns > stage.now_ns ? stage.free_ns : stage.now_ns) + KERNEL_NS;
        stage.work_ns += KERNEL_NS;
}

static struct marker one_piece(uint64_t paid_ns)
{
        return (struct marker){ .pieces = 1, .paid_ns = paid_ns };
}

static uint64_t expected_ns(void)
{
        return lane_expect(stage.lane, 0, false).estimate.mean_ns;
}

/* As a passage does, in a program that waits for each launch. Without events it is told by the
 * host's clock. */
static void launch_and_wait(void)
{
        struct marker after = one_piece(expected_ns());
        bool is_marked;

        assert_true(lane_try(stage.lane));
        lane_reap(stage.lane);
        lane_look_untimed(stage.lane, true);
        lane_settle_since(stage.lane);
        lane_begin_untimed(stage.lane);
        is_marked = lane_mark(stage.lane, NULL);
        stage.now_ns += 2 * US;
        give_work();
        stage.now_ns += stage.return_ns;
        if (is_marked)
                after.lead_ns = lane_lead_ns(stage.lane);
        if (!is_marked || !lane_mark(stage.lane, &after)) {
                add_relaxed(&stage.lane->since, 1);
                add_relaxed(&stage.lane->since_ns, after.paid_ns);
        }
        stage_sleep_until(stage.free_ns + 5 * US);
        lane_reap(stage.lane);
        lane_look_untimed(stage.lane, true);
        lane_drop(stage.lane);
}

/* As passages do, in one that keeps its stream full: five kernels between two markers. */
static void launch_ahead(void)
{
        struct marker between = { .pieces = 5, .paid_ns = 5 * expected_ns() };
        bool is_marked = true;

        assert_true(lane_try(stage.lane));
        lane_reap(stage.lane);
        lane_look_untimed(stage.lane, true);
        if (!lane_is_pending(stage.lane)) {
                lane_begin_untimed(stage.lane);
                is_marked = lane_mark(stage.lane, NULL);
        }
        for (unsigned i = 0; i < 5; i++)
                give_work();
        if (!is_marked || !lane_mark(stage.lane, &between)) {
                add_relaxed(&stage.lane->since, 5);
                add_relaxed(&stage.lane->since_ns, between.paid_ns);
        }
        stage_sleep_until(stage.free_ns - 3 * KERNEL_NS);
        if (!stage.lane->timeline)
                stage_sleep_until(stage.free_ns);
        lane_drop(stage.lane);
}

static void settle_all(void)
{
        stage_sleep_until(stage.free_ns + MS);
        assert_true(lane_try(stage.lane));
        lane_reap(stage.lane);
        lane_look_untimed(stage.lane, true);
        lane_drop(stage.lane);
}

typedef void way(void);
static way *const ways[] = { launch_and_wait, launch_ahead };

/* So much of what the device did is billed, in per cent, by a program that begins now. */
static uint64_t percent_billed(way *launch, unsigned times)
{
        uint64_t billed = stage_billed_ns(), given = stage.work_ns;

        for (unsigned i = 0; i < times; i++)
                launch();
        settle_all();
        return 100 * (stage_billed_ns() - billed) / (stage.work_ns - given);
}

static void open_lane(void)
{
        stage.lane = lane_find(CONTEXT, STREAM, stage.work);
        assert_non_null(stage.lane);
}

/* -- Stories ---------------------------------------------------------------------------------- */

static void what_is_measured_is_what_the_device_did(void **state)
{
        for (unsigned i = 0; i < 2; i++) {
                open_lane();
                assert_in_range(percent_billed(ways[i], 200), 98, 102);
                lanes_forget(CONTEXT);
        }
}

/* Then the launch itself may be over before it has returned: it is not taken for idle. */
static void who_is_late_to_return_from_launches_is_never_free(void **state)
{
        open_lane();
        for (stage.return_ns = US; stage.return_ns < 10 * MS; stage.return_ns *= 3) {
                percent_billed(launch_and_wait, 200);
                assert_true(percent_billed(launch_and_wait, 200) >= 50);
        }
        stage.return_ns = 0;
        percent_billed(launch_and_wait, 200);
        assert_in_range(percent_billed(launch_and_wait, 200), 98, 102);
}

/* Also that of a timeline's anchor, and between the clock and the record: every line of ours that
 * reads the clock, each in turn. A second later it is as if nothing had been. */
static void a_host_that_is_stopped_anywhere_goes_on_as_before(void **state)
{
        static const uint64_t length_ns[] = { MS, SECOND, 60 * SECOND };

        for (unsigned i = 0; i < 2; i++) {
                for (unsigned at = 1; at < 100; at++) {
                        stage.looks = 0;
                        stage.stop.look = at;
                        stage.stop.ns = length_ns[at % 3];
                        open_lane();
                        /* While it heals: never free, nor paid for by more than a dozen. */
                        assert_in_range(percent_billed(ways[i], 40), 60, 250);
                        assert_in_range(percent_billed(ways[i], 100), 95, 105);
                        lanes_forget(CONTEXT);
                }
        }
}

static void one_wrong_value_is_forgotten_at_once(void **state)
{
        static const float values[] = { 0,   -0.5F,    1000,      60000,      -60000, 1e9F,  -1e9F,
                                        NAN, INFINITY, -INFINITY, 4294967.0F, 3e38F,  1e-30F };

        for (unsigned i = 0; i < 2; i++) {
                for (unsigned at = 0; at < sizeof(values) / sizeof(values[0]); at++) {
                        open_lane();
                        stage.wrong_ms = values[at];
                        stage.wrong_from = stage.readings + 20;
                        stage.wrong_to = stage.wrong_from + 1;
                        assert_in_range(percent_billed(ways[i], 60), 85, 115);
                        stage.now_ns += SECOND;
                        assert_in_range(percent_billed(ways[i], 100), 95, 105);
                        lanes_forget(CONTEXT);
                }
        }
}

/* By the host's clock then, one batch after the other. */
static void a_driver_that_never_tells_the_time_is_billed_all_the_same(void **state)
{
        static const float values[] = { 0, NAN, 12345, -12345 };

        for (unsigned i = 0; i < 2; i++) {
                for (unsigned at = 0; at < sizeof(values) / sizeof(values[0]); at++) {
                        open_lane();
                        stage.wrong_ms = values[at];
                        stage.wrong_from = stage.readings;
                        stage.wrong_to = UINT32_MAX;
                        percent_billed(ways[i], 100);
                        assert_in_range(percent_billed(ways[i], 1000), 80, 160);
                        stage.wrong_to = 0;
                        stage.now_ns += 2 * SECOND;
                        percent_billed(ways[i], 10);
                        assert_in_range(percent_billed(ways[i], 100), 95, 105);
                        lanes_forget(CONTEXT);
                }
        }
}

static void a_driver_that_refuses_for_a_while_is_asked_again(void **state)
{
        static const CUresult answers[] = { CUDA_ERROR_UNKNOWN, CUDA_ERROR_NOT_READY };

        for (unsigned i = 0; i < 2; i++) {
                for (unsigned at = 0; at < 2; at++) {
                        open_lane();
                        stage.refused = answers[at];
                        stage.refused_from = stage.readings + 10;
                        stage.refused_to = stage.refused_from + 200;
                        percent_billed(ways[i], 100);
                        stage.refused_to = 0;
                        stage.now_ns += 2 * SECOND;
                        settle_all();
                        percent_billed(ways[i], 10);
                        assert_in_range(percent_billed(ways[i], 100), 95, 105);
                        lanes_forget(CONTEXT);
                }
        }
}

/* What lies in a stream that is over at another time than the first: neither swallows the other. */
static void two_contexts_do_not_cover_each_other(void **state)
{
        open_lane();
        stage.stop.look = stage.looks + 1;
        stage.stop.ns = SECOND;
        percent_billed(launch_and_wait, 10);
        assert_in_range(percent_billed(launch_and_wait, 50), 95, 105);
}

/* Its holder may be in the driver, in a process that is stopped and goes on. */
static void a_lane_that_is_held_when_its_context_goes_is_its_holders_to_bury(void **state)
{
        struct marker after = one_piece(77);
        struct lane *old;

        open_lane();
        old = stage.lane;
        assert_true(lane_try(old));
        assert_true(lane_mark(old, NULL));
        assert_true(lane_mark(old, &after));
        lanes_forget(CONTEXT);
        assert_true(lane_is_gone(old));
        assert_int_equal(load_relaxed(&old->count), 2);
        /* The driver is asked for nothing more in it. */
        assert_false(lane_mark(old, NULL));
        /* A new context with the same handle has nothing of it. */
        open_lane();
        assert_ptr_not_equal(stage.lane, old);
        stage.live_events -= 2; /* they went with the context */
        lane_drop(old);
        lanes_reap(stage.work);
        assert_int_equal(load_relaxed(&old->context), 0);
        assert_int_equal(load_relaxed(&stage.work->in_flight_ns), 0);
        assert_true(lanes_are_done(stage.work));
        assert_in_range(percent_billed(launch_and_wait, 50), 95, 105);
}

/* What was its holder's to give is another context's by the time the first one may look. */
static void a_lane_that_another_context_has_by_now_is_left_alone(void **state)
{
        open_lane();
        assert_true(lane_try(stage.lane));
        assert_true(lane_mark(stage.lane, NULL));
        stage.given_away = stage.lane;
        lanes_forget(CONTEXT);
        assert_int_equal(load_relaxed(&stage.lane->context), key_of(ANOTHER_CONTEXT));
        assert_true(lane_is_pending(stage.lane));
        assert_true(lane_try(stage.lane));
        lane_drop(stage.lane);
        lanes_forget(ANOTHER_CONTEXT);
        assert_false(lane_is_pending(stage.lane));
}

static void destroy_context(void)
{
        lanes_forget(CONTEXT);
        stage.life++;
        stage.live_events = 0;
}

/* And another one is made that has its handle. */
static void renew_context(void)
{
        destroy_context();
        assert_non_null(lane_find(CONTEXT, STREAM, stage.work));
}

/* The helper stands in the driver for longer than who destroys the context waits. It asks nothing
 * more of what was the context's, touches nothing of the next one's, and leaves no place taken. */
static void a_context_may_go_while_its_time_is_being_told(void **state)
{
        struct marker after = one_piece(77);

        for (unsigned i = 0; i < 200; i++) {
                open_lane();
                assert_true(lane_try(stage.lane));
                assert_true(lane_mark(stage.lane, NULL));
                give_work();
                assert_true(lane_mark(stage.lane, &after));
                /* A new anchor is due. */
                stage_sleep_until(stage.free_ns + 2 * SECOND);
                stage.meanwhile = i % 2 ? renew_context : destroy_context;
                lane_reap(stage.lane);
                assert_null(stage.meanwhile);
                assert_int_equal(load_relaxed(&stage.lane->context), 0);
                lane_drop(stage.lane);
                assert_int_equal(load_relaxed(&stage.work->in_flight_ns), 0);
                assert_true(lanes_are_done(stage.work));
        }
        open_lane();
        assert_non_null(stage.lane->timeline);
        assert_in_range(percent_billed(launch_and_wait, 50), 95, 105);
}

/* Nobody looks at a stream without events but its next launch, which may never come. */
static void a_stream_without_events_that_is_left_is_done_by_its_time(void **state)
{
        open_lane();
        assert_true(lane_try(stage.lane));
        lane_give_up(stage.lane);
        lane_drop(stage.lane);
        add_relaxed(&stage.lane->since, 1);
        add_relaxed(&stage.lane->since_ns, KERNEL_NS);
        store_release(&stage.work->busy_until_ns, stage.now_ns + KERNEL_NS);
        assert_false(lanes_are_done(stage.work));
        stage.now_ns += KERNEL_NS + MS;
        assert_true(lanes_are_done(stage.work));
        lanes_tend(stage.now_ns);
        assert_true(lanes_are_done(stage.work));
}

#define STORY(story) cmocka_unit_test_setup_teardown(story, stage_begin, stage_end)

int main(void)
{
        const struct CMUnitTest tests[] = {
                STORY(what_is_measured_is_what_the_device_did),
                STORY(who_is_late_to_return_from_launches_is_never_free),
                STORY(a_host_that_is_stopped_anywhere_goes_on_as_before),
                STORY(one_wrong_value_is_forgotten_at_once),
                STORY(a_driver_that_never_tells_the_time_is_billed_all_the_same),
                STORY(a_driver_that_refuses_for_a_while_is_asked_again),
                STORY(two_contexts_do_not_cover_each_other),
                STORY(a_lane_that_is_held_when_its_context_goes_is_its_holders_to_bury),
                STORY(a_lane_that_another_context_has_by_now_is_left_alone),
                STORY(a_context_may_go_while_its_time_is_being_told),
                STORY(a_stream_without_events_that_is_left_is_done_by_its_time),
        };

        return cmocka_run_group_tests_name("lane", tests, NULL, NULL);
}
