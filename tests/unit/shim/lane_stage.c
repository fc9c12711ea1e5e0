/* SPDX-License-Identifier: Apache-2.0 */
#include "lane_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "common/clock.h"
#include "shim/attach.h"
#include "shim/cuda/front.h"
#include "shim/cuda/lanes.h"
#include "shim/cuda/real.h"
#include "shim/session.h"

#define START (1000 * SECOND)
#define OURS ((CUstream)(uintptr_t)256)

/* -- The session, and the host's time --------------------------------------------------------- */

struct lane_stage stage;

static struct limits_page limits;
static struct slots_page *slots;

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
        uint64_t told_ns = stage.now_ns;

        if (++stage.looks == stage.stop.look)
                stage.now_ns += stage.stop.ns;
        return told_ns;
}

void stage_sleep_until(uint64_t deadline_ns)
{
        stage.now_ns = stage.now_ns > deadline_ns ? stage.now_ns : deadline_ns;
        if (!stage.given_away)
                return;
        stage.given_away->timeline = NULL;
        store_release(&stage.given_away->context, key_of(ANOTHER_CONTEXT));
        lane_drop(stage.given_away);
        stage.given_away = NULL;
}

/* Nobody else waits. */
static void play_wake(const _Atomic uint32_t *word, uint32_t count)
{
        (void)word;
        (void)count;
}

static const struct time_authority played_time = {
        .version = TIME_AUTHORITY_VERSION,
        .bytes = sizeof(played_time),
        .now_ns = play_now,
        .sleep_until = stage_sleep_until,
        .wake = play_wake,
};

/* -- The driver ------------------------------------------------------------------------------- */

struct CUevent_st {
        bool is_recorded;
        uint64_t at_ns;
        unsigned life; /* of its context */
        LIST_ENTRY(CUevent_st) entry;
};

/* Also those that went with their context, which nobody destroys: they are freed with the story. */
static LIST_HEAD(, CUevent_st) events = LIST_HEAD_INITIALIZER(events);

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
        (*ret)->life = stage.life;
        LIST_INSERT_HEAD(&events, *ret, entry);
        stage.live_events++;
        return CUDA_SUCCESS;
}

static CUresult play_event_end(CUevent event)
{
        LIST_REMOVE(event, entry);
        free(event);
        stage.live_events--;
        return CUDA_SUCCESS;
}

static CUresult play_record(CUevent event, CUstream stream)
{
        assert_int_equal(event->life, stage.life);
        if (stage.unrecorded)
                return stage.unrecorded;
        event->is_recorded = true;
        event->at_ns =
                stream == STREAM && stage.free_ns > stage.now_ns ? stage.free_ns : stage.now_ns;
        return CUDA_SUCCESS;
}

static CUresult play_query(CUevent event)
{
        assert_int_equal(event->life, stage.life);
        return event->is_recorded && event->at_ns + stage.late_ns > stage.now_ns
                       ? CUDA_ERROR_NOT_READY
                       : CUDA_SUCCESS;
}

static CUresult play_elapsed(float *ret, CUevent from, CUevent to)
{
        void (*meanwhile)(void) = stage.meanwhile;
        unsigned reading = ++stage.readings;

        assert_int_equal(from->life, stage.life);
        assert_int_equal(to->life, stage.life);
        stage.meanwhile = NULL;
        if (meanwhile)
                meanwhile();
        if (reading >= stage.refused_from && reading < stage.refused_to)
                return stage.refused;
        if (from->at_ns > stage.now_ns || to->at_ns > stage.now_ns)
                return CUDA_ERROR_NOT_READY;
        *ret = (float)((double)(int64_t)(to->at_ns - from->at_ns) / 1e6);
        if (reading >= stage.wrong_from && reading < stage.wrong_to)
                *ret = stage.wrong_ms;
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

static CUresult play_exchange(CUstreamCaptureMode *mode)
{
        (void)mode;
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
        .cuThreadExchangeStreamCaptureMode = play_exchange,
};

/* -- A story ---------------------------------------------------------------------------------- */

int stage_begin(void **state)
{
        uint64_t now_ns = stage.now_ns ? stage.now_ns + 100 * SECOND : START;

        if (!slots)
                slots = calloc(1, sizeof(*slots));
        if (!slots)
                return -1;
        limits.device[0].cap_ppm = PAGE_WHOLE_PPM / 2;
        stage = (struct lane_stage){ .now_ns = now_ns };
        clock_follow(&played_time);
        stage.work = work_of(0);
        return 0;
}

int stage_end(void **state)
{
        stage.stop.look = 0;
        lanes_forget(CONTEXT);
        assert_int_equal(stage.live_events, 0);
        for (CUevent event; (event = LIST_FIRST(&events));) {
                LIST_REMOVE(event, entry);
                free(event);
        }
        return 0;
}

void stage_work(struct lane *lane, const struct marker *end, uint64_t takes_ns)
{
        assert_true(lane_try(lane));
        assert_true(lane_mark(lane, NULL));
        stage.free_ns = stage.now_ns + takes_ns;
        assert_true(lane_mark(lane, end));
        lane_drop(lane);
}

struct page_meter *stage_meter(void)
{
        return &slots->meter[0];
}

uint64_t stage_billed_ns(void)
{
        return slots->meter[0].busy_ns;
}
