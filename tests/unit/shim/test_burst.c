/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a burst asks the driver about a stream that the program does not name just then: it
 * may be gone, or be another context's default stream, or somebody else may record in it.
 */
#include "lane_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "shim/credit.h"
#include "shim/cuda/burst.h"
#include "shim/cuda/front.h"
#include "shim/cuda/lanes.h"
#include "shim/cuda/real.h"
#include "shim/cuda/recorded.h"

#define PIECE_NS (100 * US)

/* -- The driver ------------------------------------------------------------------------------- */

static CUcontext current, below[4];
static unsigned depth;
static unsigned asked, relaxed;
static bool is_capturing;

static CUresult play_capturing(CUstream stream, CUstreamCaptureStatus *ret)
{
        asked++;
        assert_true(relaxed);
        *ret = is_capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
        return CUDA_SUCCESS;
}

static CUresult play_current(CUcontext *ret)
{
        *ret = current;
        return CUDA_SUCCESS;
}

static CUresult play_push(CUcontext context)
{
        below[depth++] = current;
        current = context;
        return CUDA_SUCCESS;
}

static CUresult play_pop(CUcontext *ret)
{
        *ret = current;
        current = below[--depth];
        return CUDA_SUCCESS;
}

static CUresult (*record_anywhere)(CUevent event, CUstream stream);

static CUresult play_record(CUevent event, CUstream stream)
{
        if (stream == CU_STREAM_LEGACY && current != CONTEXT)
                return CUDA_ERROR_INVALID_HANDLE;
        return record_anywhere(event, stream);
}

static CUresult (*query_anywhere)(CUevent event);

/* Of a thread that records, or beside one, it would end the capture. */
static CUresult play_query(CUevent event)
{
        assert_true(relaxed);
        return query_anywhere(event);
}

static CUresult play_exchange(CUstreamCaptureMode *mode)
{
        CUstreamCaptureMode before =
                relaxed ? CU_STREAM_CAPTURE_MODE_RELAXED : CU_STREAM_CAPTURE_MODE_GLOBAL;

        relaxed = *mode == CU_STREAM_CAPTURE_MODE_RELAXED;
        *mode = before;
        return CUDA_SUCCESS;
}

bool stream_is_recorded(CUstream stream)
{
        (void)stream;
        return false;
}

/* -- A program -------------------------------------------------------------------------------- */

static int begin(void **state)
{
        int rc = stage_begin(state);

        if (!record_anywhere) {
                record_anywhere = real.cuEventRecord;
                query_anywhere = real.cuEventQuery;
        }
        real.cuStreamIsCapturing = play_capturing;
        real.cuCtxGetCurrent = play_current;
        real.cuCtxPushCurrent_v2 = play_push;
        real.cuCtxPopCurrent_v2 = play_pop;
        real.cuEventRecord = play_record;
        real.cuEventQuery = play_query;
        real.cuThreadExchangeStreamCaptureMode = play_exchange;
        current = CONTEXT;
        is_capturing = false;
        asked = 0;
        credit_here = (struct credit){ 0 };
        return rc;
}

static int end(void **state)
{
        relaxed = true;
        return stage_end(state);
}

/* As passages do: a marker ahead of a launch, and some more with credit. */
static void launch(CUstream stream, uint32_t more)
{
        struct lane *lane = lane_find(CONTEXT, stream, stage.work);

        relaxed = true;
        assert_true(lane_try(lane));
        assert_true(lane_mark(lane, NULL));
        add_relaxed(&lane->since, 1);
        add_relaxed(&lane->since_ns, PIECE_NS);
        lane_drop(lane);
        relaxed = false;
        credit_here = (struct credit){ .left = 10,
                                       .granted = 10 + more,
                                       .at_wait = -1,
                                       .piece_ns = PIECE_NS,
                                       .context = key_of(CONTEXT),
                                       .lane = (uintptr_t)lane };
        stage.lane = lane;
        stage.free_ns = stage.now_ns + (1 + more) * PIECE_NS;
}

/* -- Stories ---------------------------------------------------------------------------------- */

static void what_was_launched_is_measured_as_it_is_waited_for(void **state)
{
        launch(STREAM, 2);
        burst_end();
        assert_int_equal(load_relaxed(&stage.lane->since), 0);
        assert_true(lane_is_pending(stage.lane));
        assert_int_equal(stage.lane->marker[1].pieces, 3);
        assert_false(relaxed);
        asked = 0;
        burst_end();
        assert_int_equal(asked, 0);
}

static void nothing_is_asked_of_a_stream_that_was_destroyed(void **state)
{
        launch(STREAM, 2);
        lanes_leave_stream(STREAM);
        burst_end();
        assert_int_equal(asked, 0);
        assert_false(lane_is_pending(stage.lane));
        assert_int_equal(load_relaxed(&stage.lane->since), 0); /* it took the average */
}

static void a_default_stream_is_that_of_its_own_context(void **state)
{
        launch(CU_STREAM_LEGACY, 2);
        current = ANOTHER_CONTEXT;
        burst_end();
        assert_non_null(stage.lane->timeline);
        assert_true(lane_is_pending(stage.lane));
        assert_ptr_equal(current, ANOTHER_CONTEXT);
}

static void nothing_is_put_in_a_stream_that_is_recorded(void **state)
{
        launch(STREAM, 2);
        is_capturing = true;
        burst_end();
        assert_int_equal(asked, 1);
        assert_false(lane_is_pending(stage.lane));
}

/* Who asks again and again is heard the next time. */
static void a_wait_that_finds_the_lane_in_use_is_none(void **state)
{
        launch(STREAM, 2);
        assert_true(lane_try(stage.lane));
        burst_end();
        lane_drop(stage.lane);
        assert_int_equal(load_relaxed(&stage.lane->since), 3);
        burst_end();
        assert_int_equal(load_relaxed(&stage.lane->since), 0);
}

/* So long that it was taken for no burst, as nobody seemed to wait any more. */
static void what_was_left_of_a_burst_without_end_is_not_of_the_next(void **state)
{
        const struct launched launched = { .pieces = 100, .paid_ns = 100 * PIECE_NS };
        struct lane *lane;

        launch(STREAM, 0);
        lane = stage.lane;
        assert_true(lane_try(lane));
        lane->has_bursts = true;
        lane->bursts_to_skip = 5;
        assert_false(burst_is_measured(lane, false));
        lane_count(lane, &launched);
        lane_leave_part(lane);
        assert_true(burst_is_measured(lane, true));
        lane->has_bursts = true; /* it waits again */
        assert_false(burst_is_measured(lane, false));
        assert_false(burst_is_measured(lane, true));
        lane_drop(lane);
}

#define STORY(story) cmocka_unit_test_setup_teardown(story, begin, end)

int main(void)
{
        const struct CMUnitTest tests[] = {
                STORY(what_was_launched_is_measured_as_it_is_waited_for),
                STORY(nothing_is_asked_of_a_stream_that_was_destroyed),
                STORY(a_default_stream_is_that_of_its_own_context),
                STORY(nothing_is_put_in_a_stream_that_is_recorded),
                STORY(a_wait_that_finds_the_lane_in_use_is_none),
                STORY(what_was_left_of_a_burst_without_end_is_not_of_the_next),
        };

        return cmocka_run_group_tests_name("burst", tests, NULL, NULL);
}
