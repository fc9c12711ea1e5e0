/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a launch to its charge, by a driver that tells the wrong time once, or always, and on a host
 * that is stopped anywhere in between: no program runs for nothing, and none pays for ever.
 *
 * The driver is played here: a device with a time of its own and one stream that works one piece
 * after the other. Time passes only where a story says so.
 */
#include "shim/cuda/lane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "shim/attach.h"
#include "shim/cuda/front.h"
#include "shim/cuda/lanes.h"
#include "shim/cuda/real.h"
#include "shim/session.h"

#define US UINT64_C(1000)
#define MS (1000 * US)
#define SECOND (1000 * MS)
#define START (1000 * SECOND)
#define CONTEXT ((CUcontext)(uintptr_t)64)
#define ANOTHER_CONTEXT ((CUcontext)(uintptr_t)96)
#define STREAM ((CUstream)(uintptr_t)128)
#define OURS ((CUstream)(uintptr_t)256)
#define KERNEL_NS (200 * US)

/* -- The session, and the host's time --------------------------------------------------------- */

static struct limits_page limits;
static struct slots_page *slots;
static uint64_t now_ns;
static unsigned looks; /* at the clock */
static struct {
        unsigned look; /* after which the host is stopped; 0: never */
        uint64_t ns;
} stop;

const struct limits_page *session_limits(void)
{
        return &limits;
}

struct slots_page *session_slots(void)
{
        return slots;
}

struct process *process_attached(void)
{
        return NULL;
}

uint64_t stream_key(CUstream stream)
{
        return key_of(stream);
}

/* Every line of ours that asks for the time is one at which the host may be stopped: behind it. */
static uint64_t play_now(void)
{
        uint64_t told_ns = now_ns;

        if (++looks == stop.look)
                now_ns += stop.ns;
        return told_ns;
}

static struct lane *given_away; /* while somebody sleeps, by who holds it */

static void play_sleep(uint64_t deadline_ns)
{
        now_ns = now_ns > deadline_ns ? now_ns : deadline_ns;
        if (!given_away)
                return;
        given_away->timeline = NULL;
        store_release(&given_away->context, key_of(ANOTHER_CONTEXT));
        lane_drop(given_away);
        given_away = NULL;
}

static const struct time_authority played_time = {
        .version = TIME_AUTHORITY_VERSION,
        .bytes = sizeof(played_time),
        .now_ns = play_now,
        .sleep_until = play_sleep,
};

/* -- The driver ------------------------------------------------------------------------------- */

struct CUevent_st {
        bool is_recorded;
        uint64_t at_ns;
};

static uint64_t free_ns, work_ns;         /* when the stream has done all; all that it was given */
static unsigned readings;                 /* of the time between two events */
static CUresult refused;                  /* what it says instead, ... */
static unsigned refused_from, refused_to; /* ... to these readings */
static float wrong_ms;
static unsigned wrong_from, wrong_to;
static unsigned live_events;

static CUresult play_stream(CUstream *ret, unsigned flags)
{
        (void)flags;
        *ret = OURS;
        return CUDA_SUCCESS;
}

static CUresult play_stream_end(CUstream stream)
{
        return stream == OURS ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult play_event(CUevent *ret, unsigned flags)
{
        (void)flags;
        *ret = calloc(1, sizeof(**ret));
        live_events++;
        return CUDA_SUCCESS;
}

static CUresult play_event_end(CUevent event)
{
        free(event);
        live_events--;
        return CUDA_SUCCESS;
}

static CUresult play_record(CUevent event, CUstream stream)
{
        event->is_recorded = true;
        event->at_ns = stream == STREAM && free_ns > now_ns ? free_ns : now_ns;
        return CUDA_SUCCESS;
}

static CUresult play_query(CUevent event)
{
        return event->is_recorded && event->at_ns > now_ns ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

static CUresult play_elapsed(float *ret, CUevent from, CUevent to)
{
        unsigned reading = ++readings;

        if (reading >= refused_from && reading < refused_to)
                return refused;
        if (from->at_ns > now_ns || to->at_ns > now_ns)
                return CUDA_ERROR_NOT_READY;
        *ret = (float)((double)(int64_t)(to->at_ns - from->at_ns) / 1e6);
        if (reading >= wrong_from && reading < wrong_to)
                *ret = wrong_ms;
        return CUDA_SUCCESS;
}

static CUresult play_push(CUcontext context)
{
        return context == CONTEXT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult play_pop(CUcontext *ret)
{
        *ret = CONTEXT;
        return CUDA_SUCCESS;
}

struct real real = {
        .cuStreamCreate = play_stream,
        .cuStreamDestroy_v2 = play_stream_end,
        .cuEventCreate = play_event,
        .cuEventDestroy_v2 = play_event_end,
        .cuEventRecord = play_record,
        .cuEventQuery = play_query,
        .cuEventElapsedTime = play_elapsed,
        .cuCtxPushCurrent_v2 = play_push,
        .cuCtxPopCurrent_v2 = play_pop,
};

/* -- A program -------------------------------------------------------------------------------- */

static uint64_t return_ns; /* from when the device has a launch until it returns */
static struct work *work;
static struct lane *lane;

static int begin(void **state)
{
        if (!slots)
                slots = calloc(1, sizeof(*slots));
        if (!slots)
                return -1;
        limits.device[0].cap_ppm = PAGE_WHOLE_PPM / 2;
        now_ns = now_ns ? now_ns + 100 * SECOND : START;
        free_ns = work_ns = 0;
        looks = readings = refused_from = refused_to = wrong_from = wrong_to = 0;
        stop.look = 0;
        clock_follow(&played_time);
        work = work_of(0);
        return 0;
}

static int end(void **state)
{
        stop.look = 0;
        lanes_forget(CONTEXT);
        assert_int_equal(live_events, 0);
        return 0;
}

static uint64_t billed_ns(void)
{
        return slots->meter[0].busy_ns;
}

static void give_work(void)
{
        free_ns = (free_ns > now_ns ? free_ns : now_ns) + KERNEL_NS;
        work_ns += KERNEL_NS;
}

static struct marker one_piece(uint64_t paid_ns)
{
        return (struct marker){ .pieces = 1, .paid_ns = paid_ns };
}

static uint64_t expected_ns(void)
{
        return lane_expect(lane, 0, false).estimate.mean_ns;
}

/* As a passage does, in a program that waits for each launch. Without events it is told by the
 * host's clock. */
static void launch_and_wait(void)
{
        struct marker after = one_piece(expected_ns());
        bool is_marked;

        assert_true(lane_try(lane));
        lane_reap(lane);
        lane_look_untimed(lane, true);
        lane_settle_since(lane);
        lane_begin_untimed(lane);
        is_marked = lane_mark(lane, NULL);
        now_ns += 2 * US;
        give_work();
        now_ns += return_ns;
        if (is_marked)
                after.lead_ns = lane_lead_ns(lane);
        if (!is_marked || !lane_mark(lane, &after)) {
                add_relaxed(&lane->since, 1);
                add_relaxed(&lane->since_ns, after.paid_ns);
        }
        play_sleep(free_ns + 5 * US);
        lane_reap(lane);
        lane_look_untimed(lane, true);
        lane_drop(lane);
}

/* As passages do, in one that keeps its stream full: five kernels between two markers. */
static void launch_ahead(void)
{
        struct marker between = { .pieces = 5, .paid_ns = 5 * expected_ns() };
        bool is_marked = true;

        assert_true(lane_try(lane));
        lane_reap(lane);
        lane_look_untimed(lane, true);
        if (!lane_is_pending(lane)) {
                lane_begin_untimed(lane);
                is_marked = lane_mark(lane, NULL);
        }
        for (unsigned i = 0; i < 5; i++)
                give_work();
        if (!is_marked || !lane_mark(lane, &between)) {
                add_relaxed(&lane->since, 5);
                add_relaxed(&lane->since_ns, between.paid_ns);
        }
        play_sleep(free_ns - 3 * KERNEL_NS);
        if (!lane->timeline)
                play_sleep(free_ns);
        lane_drop(lane);
}

static void settle_all(void)
{
        play_sleep(free_ns + MS);
        assert_true(lane_try(lane));
        lane_reap(lane);
        lane_look_untimed(lane, true);
        lane_drop(lane);
}

typedef void way(void);
static way *const ways[] = { launch_and_wait, launch_ahead };

/* So much of what the device did is billed, in per cent, by a program that begins now. */
static uint64_t percent_billed(way *launch, unsigned times)
{
        uint64_t billed = billed_ns(), given = work_ns;

        for (unsigned i = 0; i < times; i++)
                launch();
        settle_all();
        return 100 * (billed_ns() - billed) / (work_ns - given);
}

static void open_lane(void)
{
        lane = lane_find(CONTEXT, STREAM, work);
        assert_non_null(lane);
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
        for (return_ns = US; return_ns < 10 * MS; return_ns *= 3) {
                percent_billed(launch_and_wait, 200);
                assert_true(percent_billed(launch_and_wait, 200) >= 50);
        }
        return_ns = 0;
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
                        looks = 0;
                        stop.look = at;
                        stop.ns = length_ns[at % 3];
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
                        wrong_ms = values[at];
                        wrong_from = readings + 20;
                        wrong_to = wrong_from + 1;
                        assert_in_range(percent_billed(ways[i], 60), 85, 115);
                        now_ns += SECOND;
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
                        wrong_ms = values[at];
                        wrong_from = readings;
                        wrong_to = UINT32_MAX;
                        percent_billed(ways[i], 100);
                        assert_in_range(percent_billed(ways[i], 1000), 80, 160);
                        wrong_to = 0;
                        now_ns += 2 * SECOND;
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
                        refused = answers[at];
                        refused_from = readings + 10;
                        refused_to = refused_from + 200;
                        percent_billed(ways[i], 100);
                        refused_to = 0;
                        now_ns += 2 * SECOND;
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
        stop.look = looks + 1;
        stop.ns = SECOND;
        percent_billed(launch_and_wait, 10);
        assert_in_range(percent_billed(launch_and_wait, 50), 95, 105);
}

/* Its holder may be in the driver, in a process that is stopped and goes on. */
static void a_lane_that_is_held_when_its_context_goes_is_its_holders_to_bury(void **state)
{
        struct marker after = one_piece(77);
        struct lane *old;

        open_lane();
        old = lane;
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
        assert_ptr_not_equal(lane, old);
        live_events -= 2; /* they went with the context */
        lane_drop(old);
        lanes_reap(work);
        assert_int_equal(load_relaxed(&old->context), 0);
        assert_int_equal(load_relaxed(&work->in_flight_ns), 0);
        assert_true(lanes_are_done(work));
        assert_in_range(percent_billed(launch_and_wait, 50), 95, 105);
}

/* What was its holder's to give is another context's by the time the first one may look. */
static void a_lane_that_another_context_has_by_now_is_left_alone(void **state)
{
        open_lane();
        assert_true(lane_try(lane));
        assert_true(lane_mark(lane, NULL));
        given_away = lane;
        lanes_forget(CONTEXT);
        assert_int_equal(load_relaxed(&lane->context), key_of(ANOTHER_CONTEXT));
        assert_true(lane_is_pending(lane));
        assert_true(lane_try(lane));
        lane_drop(lane);
        lanes_forget(ANOTHER_CONTEXT);
        assert_false(lane_is_pending(lane));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(what_is_measured_is_what_the_device_did, begin,
                                                end),
                cmocka_unit_test_setup_teardown(who_is_late_to_return_from_launches_is_never_free,
                                                begin, end),
                cmocka_unit_test_setup_teardown(a_host_that_is_stopped_anywhere_goes_on_as_before,
                                                begin, end),
                cmocka_unit_test_setup_teardown(one_wrong_value_is_forgotten_at_once, begin, end),
                cmocka_unit_test_setup_teardown(
                        a_driver_that_never_tells_the_time_is_billed_all_the_same, begin, end),
                cmocka_unit_test_setup_teardown(a_driver_that_refuses_for_a_while_is_asked_again,
                                                begin, end),
                cmocka_unit_test_setup_teardown(two_contexts_do_not_cover_each_other, begin, end),
                cmocka_unit_test_setup_teardown(
                        a_lane_that_is_held_when_its_context_goes_is_its_holders_to_bury, begin,
                        end),
                cmocka_unit_test_setup_teardown(
                        a_lane_that_another_context_has_by_now_is_left_alone, begin, end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
