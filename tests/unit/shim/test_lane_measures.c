/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is learned from the work between two markers, what is expected by it, and what is made of
 * launches of which only the host's clock tells.
 */
#include "lane_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "shim/cost.h"
#include "shim/cuda/lanes.h"
#include "shim/session.h"

#define KERNEL_NS (200 * US)
#define UNKNOWN_NS (50 * US) /* of a launch of which nothing is known, as in lane_time.c */
#define WHAT 4711            /* a kernel or graph */

/* In a process that has measured nothing yet. */
static int begin(void **state)
{
        int rc = stage_begin(state);

        if (rc < 0)
                return rc;
        cost_forget();
        stage.work->piece = (struct estimate){ 0 };
        stage.work->length_ns = stage.work->alone_ns = stage.work->launch_ns = 0;
        stage.work->spans.count = 0;
        stage.lane = lane_find(CONTEXT, STREAM, stage.work);
        return stage.lane ? 0 : -1;
}

static void reap(struct lane *lane)
{
        assert_true(lane_try(lane));
        lane_reap(lane);
        lane_drop(lane);
}

/* One piece between two markers; it is over, and has been seen to be. */
static void measure(uint64_t what, uint64_t took_ns)
{
        const struct marker end = { .pieces = 1, .paid_ns = UNKNOWN_NS, .what = what };

        stage_work(stage.lane, &end, took_ns);
        stage.now_ns = stage.free_ns + 10 * US;
        reap(stage.lane);
}

static void expect_about(uint64_t ns, uint64_t expected_ns)
{
        assert_in_range(ns, expected_ns - expected_ns / 100, expected_ns + expected_ns / 100);
}

/* -- What is expected ------------------------------------------------------------------------- */

static void of_what_nothing_is_known_a_little_is_expected_and_more_of_a_graph(void **state)
{
        struct expected any = lane_expect(stage.lane, 0, false);
        struct expected graph = lane_expect(stage.lane, WHAT, true);

        assert_int_equal(any.estimate.mean_ns, UNKNOWN_NS);
        assert_true(any.is_unknown && !any.is_own);
        assert_int_equal(graph.estimate.mean_ns, 16 * UNKNOWN_NS);
        assert_true(graph.is_unknown && graph.is_own && !graph.is_pending);
}

static void what_was_measured_once_is_known(void **state)
{
        measure(WHAT, 3 * MS);
        assert_false(lane_expect(stage.lane, WHAT, false).is_unknown);
        expect_about(lane_expect(stage.lane, WHAT, false).estimate.mean_ns, 3 * MS);
        /* It is long, and says nothing of those that are short. */
        assert_true(lane_expect(stage.lane, WHAT, false).is_own);
        assert_int_equal(stage.lane->piece.samples, 0);
        measure(WHAT + 1, KERNEL_NS);
        assert_int_equal(stage.lane->piece.samples, 1);
        expect_about(lane_expect(stage.lane, 0, false).estimate.mean_ns, KERNEL_NS);
}

static void what_is_under_way_is_waited_for_to_tell(void **state)
{
        const struct marker end = { .pieces = 1, .paid_ns = UNKNOWN_NS, .what = WHAT };
        uint32_t settled = load_relaxed(&stage.work->motion.settled);

        stage_work(stage.lane, &end, KERNEL_NS);
        assert_true(lane_expect(stage.lane, WHAT, false).is_pending);
        assert_int_equal(load_relaxed(&stage.work->in_flight_ns), UNKNOWN_NS);
        stage.now_ns = stage.free_ns + US;
        reap(stage.lane);
        assert_false(lane_expect(stage.lane, WHAT, false).is_pending);
        assert_int_equal(load_relaxed(&stage.work->in_flight_ns), 0);
        assert_int_equal(load_relaxed(&stage.work->motion.settled), settled + 2); /* both markers */
}

/* -- What stands behind a wait ---------------------------------------------------------------- */

static const struct marker piece = { .pieces = 1, .paid_ns = KERNEL_NS };

/* The first piece runs, the second stands behind the wait. */
static void what_stands_behind_a_wait_is_told_from_what_can_run(void **state)
{
        uint64_t begin_ns;

        measure(0, KERNEL_NS);
        begin_ns = stage.now_ns;
        stage_work(stage.lane, &piece, KERNEL_NS);
        lane_break(stage.lane, LANE_WAITS);
        lane_break(stage.lane, LANE_BROKEN); /* and something else */
        stage.free_ns = begin_ns + 10 * MS;
        stage_work(stage.lane, &piece, 11 * MS);
        assert_int_equal(load_relaxed(&stage.work->in_flight_ns), 2 * KERNEL_NS);
        assert_int_equal(lanes_standing(stage.work).marked_ns, 0);
        stage.now_ns = begin_ns + MS;
        reap(stage.lane);
        add_relaxed(&stage.lane->since_ns, 1);
        assert_int_equal(lanes_standing(stage.work).marked_ns, KERNEL_NS);
        assert_int_equal(lanes_standing(stage.work).since_ns, 1);
        stage.now_ns = begin_ns + 10 * MS + US;
        assert_int_equal(lanes_standing(stage.work).marked_ns, 0);
        assert_int_equal(load_relaxed(&stage.work->in_flight_ns), KERNEL_NS);
}

static void what_ends_by_itself_holds_nothing_back(void **state)
{
        measure(0, KERNEL_NS);
        lane_break(stage.lane, LANE_BROKEN);
        stage.free_ns = stage.now_ns + 10 * MS;
        stage_work(stage.lane, &piece, 11 * MS);
        assert_int_equal(lanes_standing(stage.work).marked_ns, 0);
        assert_int_equal(load_relaxed(&stage.lane->broken), LANE_WHOLE);
}

/* Nobody was told what was put in the stream before it had a lane. */
static void a_new_lane_may_stand_behind_anything(void **state)
{
        stage.free_ns = stage.now_ns + 10 * MS;
        stage_work(stage.lane, &piece, 11 * MS);
        assert_int_equal(lanes_standing(stage.work).marked_ns, KERNEL_NS);
}

/* Two streams at once: each piece takes as long as before, and half of that is its own. */
static void work_beside_other_work_is_expected_to_take_its_part(void **state)
{
        for (unsigned i = 0; i < 20; i++) {
                stage.work->spans.count = 0;
                spans_add(&stage.work->spans, (int64_t)stage.now_ns,
                          (int64_t)(stage.now_ns + KERNEL_NS / 2));
                measure(0, KERNEL_NS);
        }
        expect_about(lane_expect(stage.lane, 0, false).estimate.mean_ns, KERNEL_NS / 2);
}

/* Of late, not of ever: the sums stay small, and so does what was covered. */
static void what_is_long_over_is_forgotten(void **state)
{
        for (unsigned i = 0; i < 300; i++) {
                measure(0, MS);
                assert_true(stage.work->length_ns <= 100 * MS);
                assert_in_range(stage.work->spans.count, 0, 2);
                stage.now_ns += MS;
        }
}

/* The driver tells late that it was over: its stamp is from before it was last seen to work. */
static void a_driver_that_tells_late_is_not_learned_from(void **state)
{
        const struct marker end = { .pieces = 1, .paid_ns = UNKNOWN_NS };
        uint64_t billed_ns;

        measure(0, KERNEL_NS);
        billed_ns = stage_billed_ns();
        stage.late_ns = MS;
        stage_work(stage.lane, &end, KERNEL_NS);
        stage.now_ns = stage.free_ns + 500 * US;
        reap(stage.lane);
        stage.now_ns += MS;
        reap(stage.lane);
        stage.now_ns += MS;
        reap(stage.lane);
        assert_false(lane_is_pending(stage.lane));
        assert_int_equal(stage.lane->piece.samples, 1);
        assert_int_equal(stage_billed_ns() - billed_ns, UNKNOWN_NS);
}

/* The host may be held up after a launch: that is no time in which the stream stood idle. */
static void a_launch_takes_the_host_as_long_as_the_quickest_of_late(void **state)
{
        static const uint64_t host_ns[] = { 2 * US, MS, MS, 3 * US };
        uint64_t quickest_ns = 2 * US;

        for (unsigned i = 0; i < 4; i++) {
                assert_true(lane_try(stage.lane));
                assert_true(lane_mark(stage.lane, NULL));
                stage.now_ns += host_ns[i];
                assert_in_range(lane_lead_ns(stage.lane), 2 * US, quickest_ns);
                quickest_ns += quickest_ns / 16 + 2;
                stage.now_ns += MS;
                lane_reap(stage.lane);
                lane_drop(stage.lane);
        }
        /* Where all of them take longer now, that is believed after some. */
        for (unsigned i = 0; i < 100; i++) {
                assert_true(lane_try(stage.lane));
                assert_true(lane_mark(stage.lane, NULL));
                stage.now_ns += 20 * US;
                quickest_ns = lane_lead_ns(stage.lane);
                lane_reap(stage.lane);
                lane_drop(stage.lane);
        }
        assert_int_equal(quickest_ns, 20 * US);
}

/* -- What nothing measured -------------------------------------------------------------------- */

/* So many launches were let through behind the newest marker, paid for by the average. */
static void leave(uint32_t pieces, bool is_drawing)
{
        assert_true(lane_try(stage.lane));
        stage.lane->is_drawing = is_drawing;
        add_relaxed(&stage.lane->since, pieces);
        add_relaxed(&stage.lane->since_ns, pieces * UNKNOWN_NS);
        lane_leave_since(stage.lane);
        lane_drop(stage.lane);
}

/* One that was picked at random; what was billed for it, and for what it told of. */
static uint64_t pick(uint64_t took_ns)
{
        const struct marker end = { .pieces = 1, .paid_ns = UNKNOWN_NS, .is_drawn = true };
        uint64_t billed_ns = stage_billed_ns();

        stage_work(stage.lane, &end, took_ns);
        stage.now_ns = stage.free_ns + 10 * US;
        reap(stage.lane);
        return stage_billed_ns() - billed_ns;
}

/* Were they billed by an average of those that came before, a program would have more the more
 * launches follow its short ones. */
static void what_nothing_measured_took_what_the_next_one_picked_does(void **state)
{
        uint64_t billed_ns;

        for (unsigned i = 0; i < 20; i++)
                measure(0, 20 * US);
        billed_ns = stage_billed_ns();
        leave(7, true);
        leave(2, true);
        assert_int_equal(stage_billed_ns(), billed_ns);
        expect_about(pick(800 * US), 10 * 800 * US);
        expect_about(pick(20 * US), 20 * US);
}

/* Whoever is measured because it happens to be the first after a copy is always the same kernel. */
static void who_was_not_picked_tells_of_itself_alone(void **state)
{
        uint64_t billed_ns;

        leave(7, true);
        billed_ns = stage_billed_ns();
        measure(0, 800 * US);
        expect_about(stage_billed_ns() - billed_ns, 800 * US);
        expect_about(pick(20 * US), 8 * 20 * US);
}

static void where_nobody_will_be_picked_it_took_the_average(void **state)
{
        uint64_t billed_ns;

        for (unsigned i = 0; i < 20; i++)
                measure(0, 20 * US);
        billed_ns = stage_billed_ns();
        leave(7, false);
        expect_about(stage_billed_ns() - billed_ns, 7 * 20 * US);
        leave(2000, true); /* more than a random number ever is */
        expect_about(stage_billed_ns() - billed_ns, 2007 * 20 * US);
        expect_about(pick(800 * US), 800 * US);
}

/* Long kernels, and graphs, are paid for one by one. */
static void what_was_paid_for_by_its_own_cost_took_that(void **state)
{
        const struct launched launched = {
                .pieces = 3, .paid_ns = 10 * MS + UNKNOWN_NS, .own = 2, .own_ns = 10 * MS
        };
        uint64_t billed_ns;

        for (unsigned i = 0; i < 20; i++)
                measure(0, 20 * US);
        billed_ns = stage_billed_ns();
        lane_count(stage.lane, &launched);
        leave(0, false);
        expect_about(stage_billed_ns() - billed_ns, 10 * MS + 20 * US);
        billed_ns = stage_billed_ns();
        lane_count(stage.lane, &launched);
        leave(0, true); /* whoever is picked next is not like those */
        expect_about(stage_billed_ns() - billed_ns, 10 * MS);
        expect_about(pick(800 * US), 2 * 800 * US);
}

/* All of it together is measured, and what the others take is not learned from it. */
static void what_has_a_cost_of_its_own_teaches_nothing_of_others(void **state)
{
        const struct launched launched = {
                .pieces = 3, .paid_ns = 10 * MS, .own = 2, .own_ns = 10 * MS - 20 * US
        };
        uint64_t billed_ns;

        for (unsigned i = 0; i < 20; i++)
                measure(0, 20 * US);
        billed_ns = stage_billed_ns();
        assert_true(lane_try(stage.lane));
        assert_true(lane_mark(stage.lane, NULL));
        stage.free_ns = stage.now_ns + 30 * MS;
        lane_count(stage.lane, &launched);
        assert_true(lane_mark_since(stage.lane));
        stage.now_ns = stage.free_ns + 10 * US;
        lane_reap(stage.lane);
        lane_drop(stage.lane);
        expect_about(stage_billed_ns() - billed_ns, 30 * MS);
        expect_about(lane_expect(stage.lane, 0, false).estimate.mean_ns, 20 * US);
}

static void what_others_may_have_lengthened_tells_of_itself_alone(void **state)
{
        struct limits_page *limits = (struct limits_page *)(uintptr_t)session_limits();

        leave(7, true);
        limits->scheduler_at_ns = stage.now_ns;
        limits->device[0].lease.mode = PAGE_MODE_OPEN;
        limits->device[0].lease.shared_until_ns = UINT64_MAX;
        expect_about(pick(800 * US), 800 * US);
        limits->device[0].lease = (struct page_lease){ 0 };
        limits->scheduler_at_ns = 0;
        expect_about(pick(20 * US), 8 * 20 * US);
}

/* The lane's last marker was passed long ago, and work of which nobody knows when it began is under
 * way: it is what was expected, no more than all the time since, and no less than what is still to
 * come now. */
static void billed_since(uint64_t idle_ns, uint64_t left_ns, uint64_t paid_ns, uint64_t expected_ns)
{
        const struct marker end = { .pieces = 4, .paid_ns = paid_ns };
        uint64_t billed_ns = stage_billed_ns();

        stage.now_ns = stage.free_ns + idle_ns;
        assert_true(lane_try(stage.lane));
        stage.free_ns = stage.now_ns + left_ns;
        assert_true(lane_mark(stage.lane, &end));
        stage.now_ns = stage.free_ns + 10 * US;
        lane_reap(stage.lane);
        lane_drop(stage.lane);
        expect_about(stage_billed_ns() - billed_ns, expected_ns);
}

static void a_stream_that_works_on_is_measured_from_its_last_marker(void **state)
{
        measure(0, KERNEL_NS);
        billed_since(100 * US, 10 * MS, 0, 10 * MS);
        billed_since(5 * MS, 10 * MS, 12 * MS, 12 * MS);
        billed_since(5 * MS, 10 * MS, SECOND, 15 * MS);
}

/* Another thread has just put something between the launches that a marker ends and the marker. */
static void what_somebody_put_in_between_meanwhile_is_not_billed(void **state)
{
        const struct marker end = { .pieces = 4, .paid_ns = 4 * KERNEL_NS };
        uint64_t billed_ns;

        measure(0, KERNEL_NS);
        billed_ns = stage_billed_ns();
        assert_true(lane_try(stage.lane));
        assert_true(lane_mark(stage.lane, NULL));
        stage.free_ns = stage.now_ns + SECOND;
        lane_break(stage.lane, LANE_WAITS);
        assert_true(lane_mark(stage.lane, &end));
        stage.now_ns = stage.free_ns + 10 * US;
        lane_reap(stage.lane);
        lane_drop(stage.lane);
        expect_about(stage_billed_ns() - billed_ns, 4 * KERNEL_NS);
        assert_int_equal(stage.lane->piece.samples, 1);
}

/* -- Bursts (shim/cuda/burst.h) --------------------------------------------------------------- */

static void begin_picked(void)
{
        stage.lane->has_bursts = stage.lane->is_measuring = stage.lane->is_picked = true;
        stage.lane->burst++;
}

/* The program waits for so many launches, which no marker measured. */
static void wait_for_unmeasured(uint32_t pieces)
{
        assert_true(lane_try(stage.lane));
        stage.lane->has_bursts = true;
        stage.lane->is_measuring = stage.lane->is_picked = false;
        add_relaxed(&stage.lane->since, pieces);
        add_relaxed(&stage.lane->since_ns, pieces * UNKNOWN_NS);
        lane_leave_since(stage.lane);
        lane_leave_burst(stage.lane);
        lane_drop(stage.lane);
}

/* And for a short launch and a long one, all of which is measured. What was billed. */
static uint64_t wait_for_measured(uint64_t first_ns, uint64_t last_ns)
{
        const struct marker end = { .pieces = 1, .paid_ns = UNKNOWN_NS };
        uint64_t billed_ns = stage_billed_ns();

        begin_picked();
        stage_work(stage.lane, &end, first_ns);
        assert_true(lane_try(stage.lane));
        add_relaxed(&stage.lane->since, 1);
        stage.free_ns += last_ns;
        lane_mark_last(stage.lane, true);
        stage.lane->is_measuring = stage.lane->is_picked = false;
        stage.now_ns = stage.free_ns + 10 * US;
        lane_reap(stage.lane);
        lane_drop(stage.lane);
        return stage_billed_ns() - billed_ns;
}

static void what_is_launched_last_before_a_wait_is_measured(void **state)
{
        expect_about(wait_for_measured(20 * US, 800 * US), 820 * US);
        expect_about(stage.lane->longest_ns, 820 * US);
}

static void a_burst_that_is_measured_tells_of_those_that_were_not(void **state)
{
        uint64_t sampled_ns = stage_meter()->sampled_ns;

        wait_for_measured(20 * US, 800 * US);
        wait_for_unmeasured(2);
        wait_for_unmeasured(7); /* however many launches */
        expect_about(wait_for_measured(20 * US, 480 * US), 3 * 500 * US);
        expect_about(stage_meter()->sampled_ns - sampled_ns, 2 * 500 * US);
        expect_about(wait_for_measured(20 * US, 480 * US), 500 * US);
        expect_about(stage_meter()->sampled_ns - sampled_ns, 2 * 500 * US);
}

/* Its first is over before the program waits, and nothing came after it. */
static void a_burst_of_one_that_is_over_tells_at_once(void **state)
{
        const struct marker end = { .pieces = 1, .paid_ns = UNKNOWN_NS };
        uint64_t billed_ns;

        wait_for_measured(20 * US, 480 * US);
        wait_for_unmeasured(1);
        billed_ns = stage_billed_ns();
        begin_picked();
        stage_work(stage.lane, &end, KERNEL_NS);
        stage.now_ns = stage.free_ns + 10 * US;
        reap(stage.lane);
        assert_true(lane_try(stage.lane));
        lane_mark_last(stage.lane, true);
        lane_drop(stage.lane);
        expect_about(stage_billed_ns() - billed_ns, 2 * KERNEL_NS);
}

/* One of 20 ms after many of 20 us would be a debt of a second at once. */
static void a_burst_longer_than_any_before_stands_for_few(void **state)
{
        for (unsigned i = 0; i < 20; i++)
                wait_for_measured(10 * US, 10 * US);
        for (unsigned i = 0; i < 50; i++)
                wait_for_unmeasured(1);
        /* For those of 100 us, as many as there would have been at the most. */
        expect_about(wait_for_measured(10 * US, 20 * MS), 6 * (20 * MS + 10 * US) + 45 * 20 * US);
        for (unsigned i = 0; i < 2; i++)
                wait_for_unmeasured(1);
        expect_about(wait_for_measured(10 * US, 20 * MS), 3 * (20 * MS + 10 * US));
}

/* -- By the host's clock ---------------------------------------------------------------------- */

/* So many launches in a stream without events, which is seen to work until then, and idle later. */
static uint64_t untimed(uint32_t pieces, uint64_t working_ns, uint64_t idle_ns)
{
        uint64_t billed_ns = stage_billed_ns();

        assert_true(lane_try(stage.lane));
        lane_begin_untimed(stage.lane);
        add_relaxed(&stage.lane->since, pieces);
        stage.now_ns += working_ns;
        if (working_ns)
                lane_look_untimed(stage.lane, false);
        stage.now_ns += idle_ns - working_ns;
        lane_look_untimed(stage.lane, true);
        lane_drop(stage.lane);
        return stage_billed_ns() - billed_ns;
}

static void without_events(void)
{
        assert_true(lane_try(stage.lane));
        lane_give_up(stage.lane);
        lane_drop(stage.lane);
        stage.lane->retime_ns = UINT64_MAX;
}

static void without_events_a_launch_took_until_it_was_seen_to_be_over(void **state)
{
        without_events();
        /* The first stands behind what was launched before: that says nothing of its own length. */
        assert_int_equal(untimed(1, 0, SECOND), SECOND);
        assert_int_equal(stage.lane->piece.samples, 0);
        assert_int_equal(untimed(1, 0, KERNEL_NS), KERNEL_NS);
        assert_int_equal(stage.lane->piece.mean_ns, KERNEL_NS);
        /* Looked at before the average is over: no longer than there was time. */
        assert_int_equal(untimed(1, 0, KERNEL_NS / 2), KERNEL_NS / 2);
}

/* Who comes back after a second has not computed for a second; who was seen to compute has. */
static void without_events_who_comes_back_late_pays_twice_the_average_at_most(void **state)
{
        without_events();
        for (unsigned i = 0; i < 20; i++)
                untimed(1, 0, KERNEL_NS);
        assert_int_equal(untimed(1, 0, SECOND), 2 * KERNEL_NS + UNKNOWN_NS);
        assert_int_equal(untimed(1, 10 * MS, SECOND), 10 * MS);
}

/* Where it waited at the gate in between it was not the device that took so long. */
static void without_events_what_was_waited_at_the_gate_is_not_billed(void **state)
{
        uint64_t billed_ns;

        without_events();
        for (unsigned i = 0; i < 20; i++)
                untimed(2, 0, 2 * KERNEL_NS);
        billed_ns = stage_billed_ns();
        assert_true(lane_try(stage.lane));
        lane_begin_untimed(stage.lane);
        add_relaxed(&stage.lane->since, 2);
        add_relaxed(&stage.work->gated_ns, 4 * KERNEL_NS);
        stage.now_ns += 5 * KERNEL_NS;
        lane_look_untimed(stage.lane, true);
        lane_drop(stage.lane);
        /* One by the clock, and two by the average. */
        assert_int_equal(stage_billed_ns() - billed_ns, 2 * KERNEL_NS);
}

static void a_driver_that_cannot_record_is_tried_again_after_a_second(void **state)
{
        stage.unrecorded = CUDA_ERROR_UNKNOWN;
        assert_true(lane_try(stage.lane));
        assert_false(lane_mark(stage.lane, NULL));
        assert_null(stage.lane->timeline);
        stage.unrecorded = CUDA_SUCCESS;
        stage.now_ns += SECOND - 1;
        lane_look_untimed(stage.lane, true);
        assert_null(stage.lane->timeline);
        stage.now_ns++;
        lane_look_untimed(stage.lane, true);
        assert_non_null(stage.lane->timeline);
        lane_drop(stage.lane);
}

#define STORY(story) cmocka_unit_test_setup_teardown(story, begin, stage_end)

int main(void)
{
        const struct CMUnitTest tests[] = {
                STORY(of_what_nothing_is_known_a_little_is_expected_and_more_of_a_graph),
                STORY(what_was_measured_once_is_known),
                STORY(what_is_under_way_is_waited_for_to_tell),
                STORY(what_stands_behind_a_wait_is_told_from_what_can_run),
                STORY(what_ends_by_itself_holds_nothing_back),
                STORY(a_new_lane_may_stand_behind_anything),
                STORY(work_beside_other_work_is_expected_to_take_its_part),
                STORY(what_is_long_over_is_forgotten),
                STORY(a_driver_that_tells_late_is_not_learned_from),
                STORY(a_launch_takes_the_host_as_long_as_the_quickest_of_late),
                STORY(what_nothing_measured_took_what_the_next_one_picked_does),
                STORY(who_was_not_picked_tells_of_itself_alone),
                STORY(where_nobody_will_be_picked_it_took_the_average),
                STORY(what_was_paid_for_by_its_own_cost_took_that),
                STORY(what_has_a_cost_of_its_own_teaches_nothing_of_others),
                STORY(what_others_may_have_lengthened_tells_of_itself_alone),
                STORY(a_stream_that_works_on_is_measured_from_its_last_marker),
                STORY(what_is_launched_last_before_a_wait_is_measured),
                STORY(a_burst_that_is_measured_tells_of_those_that_were_not),
                STORY(a_burst_of_one_that_is_over_tells_at_once),
                STORY(a_burst_longer_than_any_before_stands_for_few),
                STORY(what_somebody_put_in_between_meanwhile_is_not_billed),
                STORY(without_events_a_launch_took_until_it_was_seen_to_be_over),
                STORY(without_events_who_comes_back_late_pays_twice_the_average_at_most),
                STORY(without_events_what_was_waited_at_the_gate_is_not_billed),
                STORY(a_driver_that_cannot_record_is_tried_again_after_a_second),
        };

        return cmocka_run_group_tests_name("lane measures", tests, NULL, NULL);
}
