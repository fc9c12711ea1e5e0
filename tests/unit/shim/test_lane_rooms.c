/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which lane is whose when there are more streams than lanes, what is left in one that changes
 * hands, and what the helper does when the program launches nothing.
 */
#include "lane_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "common/clock.h"
#include "shim/cuda/lanes.h"

#define SLOT 5u
#define EXPECTED_NS (50 * US) /* of a launch of which nothing is known */
/* As in lane_tend.c: after these, and then every time. */
#define GRACE_NS (200 * US)
#define TEND_NS MS

static struct lane *taken[LANES];

static struct lane *find(unsigned stream)
{
        return lane_find(CONTEXT, (CUstream)(uintptr_t)(1024 + stream), stage.work);
}

/* One after the other, so that the first is the one that was not used for longest. */
static void take_all(void)
{
        stage.work->piece = (struct estimate){ 0 };
        stage.work->length_ns = stage.work->alone_ns = 0;
        for (unsigned i = 0; i < LANES; i++) {
                taken[i] = find(i);
                assert_non_null(taken[i]);
                stage.now_ns += US;
        }
}

static void expect_nobody_holds_any(void)
{
        for (unsigned i = 0; i < LANES; i++) {
                assert_true(lane_try(taken[i]));
                lane_drop(taken[i]);
        }
}

static void pend(struct lane *lane)
{
        assert_true(lane_try(lane));
        assert_true(lane_mark(lane, NULL));
        lane_drop(lane);
}

static void the_lane_that_was_not_used_for_longest_is_given_away(void **state)
{
        take_all();
        assert_ptr_equal(find(0), taken[0]);
        assert_ptr_equal(find(LANES), taken[0]);
        expect_nobody_holds_any();
        store_relaxed(&taken[1]->used_at_ns, stage.now_ns);
        assert_ptr_equal(find(LANES + 1), taken[2]);
        expect_nobody_holds_any();
}

/* What is in flight in it is still to be measured. */
static void a_lane_with_a_marker_to_come_is_not_given_away(void **state)
{
        take_all();
        pend(taken[0]);
        pend(taken[1]);
        assert_ptr_equal(find(LANES), taken[2]);
        for (unsigned i = 2; i < LANES; i++)
                pend(taken[i]);
        assert_null(find(LANES + 1));
        expect_nobody_holds_any();
}

static void a_lane_that_somebody_holds_is_not_given_away(void **state)
{
        take_all();
        assert_true(lane_try(taken[0]));
        assert_ptr_equal(find(LANES), taken[1]);
        lane_drop(taken[0]);
        expect_nobody_holds_any();
}

/* While it waited at the gate. */
static void who_comes_back_to_a_lane_of_another_stream_leaves_it_alone(void **state)
{
        take_all();
        assert_true(lane_try_of(taken[0], CONTEXT, (CUstream)(uintptr_t)1024));
        assert_false(lane_try_of(taken[0], CONTEXT, (CUstream)(uintptr_t)1024));
        lane_drop(taken[0]);
        assert_ptr_equal(find(LANES), taken[0]);
        assert_false(lane_try_of(taken[0], CONTEXT, (CUstream)(uintptr_t)1024));
        assert_false(lane_try_of(taken[0], ANOTHER_CONTEXT, (CUstream)(uintptr_t)(1024 + LANES)));
        expect_nobody_holds_any();
}

static void who_gets_a_lane_finds_nothing_of_who_had_it(void **state)
{
        uint64_t billed_ns = stage_billed_ns();
        struct lane *lane;

        take_all();
        lane = taken[0];
        lane->first = 7;
        lane->has_last = true;
        lane->doubts = 3;
        lane->retime_ns = UINT64_MAX;
        lane->is_drawing = true;
        store_relaxed(&lane->motion.escapes, 5);
        store_relaxed(&lane->blocked_at_ns, stage.now_ns);
        store_relaxed(&lane->since, 2);
        store_relaxed(&lane->since_ns, 2 * EXPECTED_NS);
        assert_ptr_equal(find(LANES), lane);
        /* What it launched unmarked is charged at the average. */
        assert_int_equal(stage_billed_ns() - billed_ns, 2 * EXPECTED_NS);
        assert_int_equal(load_relaxed(&lane->since), 0);
        assert_int_equal(load_relaxed(&lane->since_ns), 0);
        assert_int_equal(lane->first, 0);
        assert_false(lane->has_last);
        assert_int_equal(lane->doubts, 0);
        assert_int_equal(lane->retime_ns, 0);
        assert_false(lane->is_drawing);
        assert_int_equal(load_relaxed(&lane->motion.escapes), 0);
        assert_int_equal(load_relaxed(&lane->blocked_at_ns), 0);
        estimate_add(&lane->piece, 77);
        assert_ptr_not_equal(find(LANES + 1), lane);
        store_relaxed(&lane->used_at_ns, 0);
        assert_ptr_equal(find(LANES + 2), lane);
        assert_int_equal(lane->piece.samples, 0);
}

/* -- Places of a stream ----------------------------------------------------------------------- */

/* Markers that are passed one each millisecond from the last one on, until there is no room. */
static uint32_t mark_all(struct lane *lane)
{
        uint32_t placed = 0;

        assert_true(lane_try(lane));
        lane_reap(lane);
        while (lane_mark(lane, NULL)) {
                stage.free_ns += MS;
                placed++;
        }
        lane_drop(lane);
        return placed;
}

/* What is the next to be launched there may be what ends a wait, however long that lasts. */
static void few_places_of_a_stream_that_stands_are_ours(void **state)
{
        struct lane *lane = lane_find(CONTEXT, STREAM, stage.work);

        stage.free_ns = stage.now_ns + SECOND;
        assert_int_equal(mark_all(lane), LANE_BEHIND); /* nobody knows what was there before */
        stage.now_ns += SECOND / 2;
        assert_int_equal(mark_all(lane), 0);
        stage.now_ns += SECOND;
        stage.free_ns = stage.now_ns + SECOND / 2;
        assert_int_equal(mark_all(lane), LANE_UNMOVED);
        lane_break(lane, LANE_WAITS);
        assert_int_equal(mark_all(lane), 0);
        stage.now_ns += SECOND;
        stage.free_ns = stage.now_ns + SECOND;
        assert_int_equal(mark_all(lane), LANE_BEHIND);
}

/* Nor behind what may be over at once, or never. */
static void nor_behind_what_nothing_is_known_of(void **state)
{
        const struct marker end = { .pieces = 1, .paid_ns = EXPECTED_NS, .is_unknown = true };
        struct lane *lane = lane_find(CONTEXT, STREAM, stage.work);

        pend(lane);
        stage.now_ns += US;
        stage.free_ns = stage.now_ns + SECOND;
        assert_true(lane_try(lane));
        lane_reap(lane);
        assert_true(lane_mark(lane, &end));
        lane_drop(lane);
        mark_all(lane);
        assert_int_equal(load_relaxed(&lane->count), LANE_BEHIND);
}

static void in_one_that_moves_there_are_more_of_them_but_never_many(void **state)
{
        struct lane *lane = lane_find(CONTEXT, STREAM, stage.work);
        static const uint32_t room[] = { LANE_UNMOVED, LANE_UNMOVED, 2, 1, 1, 1 };

        pend(lane);
        stage.free_ns = stage.now_ns + MS;
        stage.now_ns += 10 * US;
        for (unsigned i = 0; i < sizeof(room) / sizeof(room[0]); i++) {
                assert_int_equal(mark_all(lane), room[i]);
                stage.now_ns += MS;
        }
        assert_int_equal(load_relaxed(&lane->count), LANE_MARKERS);
}

/* Its context went while it was held; whoever looks for room buries it. */
static void a_lane_that_was_left_is_the_first_to_be_given_away(void **state)
{
        struct lane *old;

        take_all();
        old = taken[LANES / 2];
        assert_true(lane_try(old));
        assert_true(lane_mark(old, NULL));
        store_release(&old->context, LANE_GONE);
        lane_drop(old);
        stage.live_events--; /* it went with the context */
        store_relaxed(&old->used_at_ns, 0);
        assert_ptr_equal(find(LANES), old);
        assert_false(lane_is_pending(old));
        assert_int_equal(load_relaxed(&stage.work->in_flight_ns), 0);
}

/* Its work took longer than was paid; that it is over is seen before the context goes. */
static void what_was_passed_is_measured_before_a_context_goes(void **state)
{
        const struct marker end = { .pieces = 1, .paid_ns = EXPECTED_NS };
        uint64_t billed_ns = stage_billed_ns();
        struct lane *lane = lane_find(CONTEXT, STREAM, stage.work);

        stage_work(lane, &end, 300 * US);
        stage.now_ns += 400 * US;
        lanes_forget(CONTEXT);
        assert_in_range(stage_billed_ns() - billed_ns, 300 * US - US, 300 * US + US);
}

/* -- The helper ------------------------------------------------------------------------------- */

/* The turn is ours, and all that was let through should be done in so long. */
static void let_through(uint64_t ns)
{
        stage.work->admit.slot = SLOT;
        stage_meter()->turn =
                PAGE_TURN_TAKEN | SLOT | (stage.now_ns + SECOND) / 1000 << PAGE_TURN_TIME_SHIFT;
        store_relaxed(&stage.work->busy_until_ns, stage.now_ns + ns);
}

static bool has_turn(void)
{
        return stage_meter()->turn & PAGE_TURN_TAKEN;
}

static void who_launched_nothing_is_not_looked_at(void **state)
{
        store_relaxed(&stage.work->busy_until_ns, 0);
        assert_int_equal(lanes_tend(stage.now_ns), CLOCK_NEVER);
}

static void the_turn_is_given_up_a_little_after_all_should_be_done(void **state)
{
        let_through(3 * MS);
        assert_int_equal(lanes_tend(stage.now_ns), stage.now_ns + 3 * MS + GRACE_NS);
        stage.now_ns += 3 * MS + GRACE_NS - 1;
        assert_int_equal(lanes_tend(stage.now_ns), stage.now_ns + 1);
        assert_true(has_turn());
        stage.now_ns++;
        assert_int_equal(lanes_tend(stage.now_ns), CLOCK_NEVER);
        assert_false(has_turn());
        assert_int_equal(load_relaxed(&stage.work->busy_until_ns), 0);
}

/* And the scheduler hears that it goes on. */
static void work_that_takes_longer_keeps_the_turn(void **state)
{
        const struct marker end = { .pieces = 1, .paid_ns = EXPECTED_NS };
        struct lane *lane = lane_find(CONTEXT, STREAM, stage.work);

        let_through(EXPECTED_NS);
        stage_work(lane, &end, 10 * MS);
        stage.now_ns += 2 * MS;
        assert_false(lanes_are_done(stage.work));
        assert_int_equal(lanes_tend(stage.now_ns), stage.now_ns + TEND_NS);
        assert_true(has_turn());
        assert_int_equal(stage_meter()->active_at_ns, stage.now_ns);
        stage.now_ns += 9 * MS;
        assert_int_equal(lanes_tend(stage.now_ns), CLOCK_NEVER);
        assert_false(has_turn());
        assert_true(lanes_are_done(stage.work));
}

/* What it took is told by the host's clock, at its next look. */
static void what_has_no_events_is_not_charged_at_the_average(void **state)
{
        struct lane *lane = lane_find(CONTEXT, STREAM, stage.work);
        uint64_t billed_ns = stage_billed_ns();

        assert_true(lane_try(lane));
        lane_give_up(lane);
        lane_begin_untimed(lane);
        add_relaxed(&lane->since, 1);
        lane_drop(lane);
        let_through(EXPECTED_NS);
        stage.now_ns += MS;
        assert_int_equal(lanes_tend(stage.now_ns), CLOCK_NEVER);
        assert_int_equal(stage_billed_ns() - billed_ns, 0);
        assert_int_equal(load_relaxed(&lane->since), 1);
}

static void what_was_launched_unmarked_is_charged_when_nothing_follows(void **state)
{
        struct lane *lane = lane_find(CONTEXT, STREAM, stage.work);
        uint64_t billed_ns = stage_billed_ns();

        stage.work->piece = (struct estimate){ 0 };
        stage.work->length_ns = stage.work->alone_ns = 0;
        let_through(EXPECTED_NS);
        store_relaxed(&lane->since, 3);
        store_relaxed(&lane->since_ns, EXPECTED_NS);
        assert_false(lanes_are_done(stage.work));
        stage.now_ns += MS;
        assert_int_equal(lanes_tend(stage.now_ns), CLOCK_NEVER);
        assert_int_equal(stage_billed_ns() - billed_ns, 3 * EXPECTED_NS);
        assert_int_equal(load_relaxed(&lane->since), 0);
}

#define STORY(story) cmocka_unit_test_setup_teardown(story, stage_begin, stage_end)

int main(void)
{
        const struct CMUnitTest tests[] = {
                STORY(the_lane_that_was_not_used_for_longest_is_given_away),
                STORY(a_lane_with_a_marker_to_come_is_not_given_away),
                STORY(a_lane_that_somebody_holds_is_not_given_away),
                STORY(who_comes_back_to_a_lane_of_another_stream_leaves_it_alone),
                STORY(who_gets_a_lane_finds_nothing_of_who_had_it),
                STORY(few_places_of_a_stream_that_stands_are_ours),
                STORY(nor_behind_what_nothing_is_known_of),
                STORY(in_one_that_moves_there_are_more_of_them_but_never_many),
                STORY(a_lane_that_was_left_is_the_first_to_be_given_away),
                STORY(what_was_passed_is_measured_before_a_context_goes),
                STORY(who_launched_nothing_is_not_looked_at),
                STORY(the_turn_is_given_up_a_little_after_all_should_be_done),
                STORY(work_that_takes_longer_keeps_the_turn),
                STORY(what_has_no_events_is_not_charged_at_the_average),
                STORY(what_was_launched_unmarked_is_charged_when_nothing_follows),
        };

        return cmocka_run_group_tests_name("lane rooms", tests, NULL, NULL);
}
