/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of CUDA that shim/time needs: events, queries and contexts.
 *
 * Events are created without time stamps, and kept for the next marker in their context. On a
 * thread of the program, the stream's context is made current for a call, and the old one is
 * restored. The helper leaves the stream's context current, because it has no context of its own.
 */
#include "shim/cuda/stream/time.h"

#include <stddef.h>

#include "common/clock.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/state/markers.h"
#include "shim/cuda/stream/capture.h"
#include "shim/helper.h"

/* -- Keys ------------------------------------------------------------------------------------- */

/* Handles are addresses whose lowest bits are 0, so the keys of default streams, with bit 0 set,
 * differ from them. */
uint64_t time_key(CUstream stream, CUcontext context)
{
        if (stream == CU_STREAM_LEGACY)
                return key_of(context) | 1;
        if (stream == CU_STREAM_PER_THREAD)
                return (key_of(context) * UINT64_C(0x9e3779b97f4a7c15) ^ stream_key(stream)) | 3;
        return key_of(stream);
}

CUstream time_handle(const struct time_stream *stream)
{
        return (CUstream)(uintptr_t)load_relaxed(&stream->handle);
}

/* Whether the stream was destroyed: a driver crashes when it is asked about such a stream. The
 * stream cannot be destroyed while its record's lock is held, because stream_forget(), which takes
 * the lock, is called before the driver. */
static bool has_ended(const struct time_stream *stream)
{
        return load_acquire(&stream->is_gone);
}

/* -- Contexts --------------------------------------------------------------------------------- */

/* The calling thread's current context, if known. Known for good in the helper, and in any other
 * thread until relax_thread(false). */
static _Thread_local uint64_t current;
static _Thread_local bool is_current_known;
static _Thread_local uint32_t deaths_seen;

/* Number of contexts that were destroyed. A destroyed context is current in no thread, and its
 * address may be reused, so `current` is read again when the number changes. */
static _Atomic uint32_t deaths;

/* Returns the calling thread's current context. */
static uint64_t current_here(void)
{
        uint32_t deaths_now = load_acquire(&deaths);
        CUcontext context = NULL;

        if (!is_current_known || deaths_seen != deaths_now) {
                deaths_seen = deaths_now;
                real.cuCtxGetCurrent(&context);
                current = key_of(context);
                is_current_known = true;
        }
        return current;
}

/* Makes the stream's context current. True: leave_context() must restore the old one. */
static bool enter_context(const struct time_stream *stream)
{
        CUcontext context = (CUcontext)(uintptr_t)stream->context;

        if (!context || current_here() == stream->context)
                return false;
        if (helper_is_this()) {
                if (real.cuCtxSetCurrent(context) == CUDA_SUCCESS)
                        current = stream->context;
                return false;
        }
        return real.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
}

static void leave_context(bool is_entered)
{
        CUcontext popped;

        if (is_entered)
                real.cuCtxPopCurrent_v2(&popped);
}

/* Puts the thread into relaxed capture mode, or back. The helper stays relaxed for good, and knows
 * its current context. Any other thread knows its context until it returns to the program. */
static void relax_thread(bool is_relaxed)
{
        static _Thread_local struct relaxed was;
        static _Thread_local bool is_for_good;
        static _Thread_local unsigned depth;

        if (helper_is_this()) {
                if (!is_for_good)
                        relax();
                is_for_good = true;
                return;
        }
        if (is_relaxed && !depth++)
                is_current_known = false;
        if (is_relaxed && !was.is_relaxed && captures_are_open())
                was = relax();
        if (!is_relaxed && !--depth) {
                unrelax(was);
                was.is_relaxed = false;
        }
}

/* -- Events ----------------------------------------------------------------------------------- */

/* Returns an event of the context that is ready for reuse; with 0, a free entry. NULL: none. The
 * caller holds events_lock. */
static struct resting *find_resting(uint64_t context)
{
        for (unsigned i = 0; i < STATE_EVENTS; i++) {
                if (marker_state.events[i].context == context)
                        return &marker_state.events[i];
        }
        return NULL;
}

static CUevent take_event(uint64_t context)
{
        struct resting *resting;
        CUevent event = NULL;

        lock_take(&marker_state.events_lock);
        resting = find_resting(context);
        if (resting) {
                event = resting->event;
                *resting = (struct resting){ 0 };
        }
        lock_drop(&marker_state.events_lock);
        return event;
}

static void *record(struct time_stream *stream)
{
        CUevent event;
        bool is_entered;

        if (has_ended(stream))
                return NULL;
        event = take_event(stream->context);
        if (event && real.cuEventRecord(event, time_handle(stream)) == CUDA_SUCCESS)
                return event;
        if (event)
                real.cuEventDestroy_v2(event);

        scoped_relaxed struct relaxed was = relax();
        is_current_known = false;
        is_entered = enter_context(stream);
        if (real.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
                event = NULL;
        if (event && real.cuEventRecord(event, time_handle(stream)) != CUDA_SUCCESS) {
                real.cuEventDestroy_v2(event);
                event = NULL;
        }
        leave_context(is_entered);
        return event;
}

static void drop_marker(struct time_stream *stream, void *marker)
{
        struct resting *place;

        lock_take(&marker_state.events_lock);
        place = find_resting(0);
        if (place)
                *place = (struct resting){ stream->context, marker };
        lock_drop(&marker_state.events_lock);
        if (!place)
                real.cuEventDestroy_v2(marker);
}

void time_forget_stream(CUstream stream)
{
        struct time_stream *of = stream ? stream_find(key_of(stream)) : NULL;

        if (of)
                stream_forget(of);
}

uint64_t time_context_ends(CUcontext context)
{
        context_hold(key_of(context));
        return clock_now_ns();
}

/* The driver has destroyed the events with the context, so they are only forgotten. */
void time_context_gone(CUcontext context, uint64_t began_ns)
{
        streams_end(key_of(context), began_ns);
        add_acq_rel(&deaths, 1);
        while (take_event(key_of(context)))
                ;
}

void time_context_ended(CUcontext gone)
{
        context_resume();
        if (gone)
                captures_context_gone(gone);
}

/* -- Queries ---------------------------------------------------------------------------------- */

/* Whether this thread cannot query the stream: it is the default stream of another thread, which
 * only that thread can name, or a legacy default stream while captures are open, of which it counts
 * as a part. */
static bool is_unseen(const struct time_stream *stream)
{
        if (time_handle(stream) == CU_STREAM_LEGACY)
                return captures_are_open();
        return time_handle(stream) == CU_STREAM_PER_THREAD &&
               load_relaxed(&stream->key) !=
                       time_key(CU_STREAM_PER_THREAD, (CUcontext)(uintptr_t)stream->context);
}

static bool is_empty(struct time_stream *stream)
{
        bool is_entered;
        CUresult rc;

        if (has_ended(stream))
                return true;
        if (captures_are_open() && may_be_capturing(time_handle(stream)))
                return false;
        is_entered = enter_context(stream);
        rc = real.cuStreamQuery(time_handle(stream));
        leave_context(is_entered);
        return rc != CUDA_ERROR_NOT_READY;
}

/* Whether the stream is empty. False also if another thread holds the stream's lock, because that
 * thread may be destroying the stream. */
static bool is_surely_empty(struct time_stream *stream)
{
        bool is_so;

        if (!lock_try(&stream->lock))
                return false;
        is_so = is_empty(stream);
        lock_drop(&stream->lock);
        return is_so;
}

/* Whether the marker has passed. If the event cannot be queried, the stream is queried instead. A
 * thread of the program needs no current context, because drivers execute cuEventQuery without one
 * (docs/simulator-costs.md). */
static bool is_passed(struct time_stream *stream, void *marker)
{
        CUresult rc;

        if (helper_is_this())
                enter_context(stream);
        rc = real.cuEventQuery(marker);
        if (rc == CUDA_SUCCESS || rc == CUDA_ERROR_NOT_READY)
                return rc == CUDA_SUCCESS;
        return is_unseen(stream) || is_surely_empty(stream);
}

const struct time_driver cuda_time = {
        .record = record,
        .is_passed = is_passed,
        .is_unseen = is_unseen,
        .is_empty = is_empty,
        .drop = drop_marker,
        .relax = relax_thread,
};
