/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures; capture.h has the contract.
 *
 * While there are captures, looks at streams are made so that they do not disturb them: a capture
 * begins only when every look that began before it is over.
 */
#include "shim/cuda/stream/capture.h"

#include "common/clock.h"
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/state/captures.h"
#include "shim/cuda/stream/time.h"
#include "shim/cuda/stream/wait.h"
#include "shim/time/credit.h"

bool captures_are_open(void)
{
        return load_acquire(&capture_state.captures) || load_relaxed(&capture_state.recorded_count);
}

/* -- Which are open --------------------------------------------------------------------------- */

/* Under captures_lock; with 0, a free one. */
static struct begun *find_begun(uint64_t key)
{
        for (unsigned i = 0; i < STATE_CAPTURES; i++) {
                if (capture_state.begun[i].key == key)
                        return &capture_state.begun[i];
        }
        return NULL;
}

/* Under captures_lock. */
static void end_begun(struct begun *begun)
{
        *begun = (struct begun){ 0 };
        add_acq_rel(&capture_state.captures, -1u);
}

/* A capture of the same stream has ended unseen. */
static void list_capture(uint64_t key, CUcontext context)
{
        struct begun *place;

        lock_take(&capture_state.captures_lock);
        place = find_begun(key);
        if (place)
                end_begun(place);
        place = find_begun(0);
        if (place)
                *place = (struct begun){ key, key_of(context) };
        lock_drop(&capture_state.captures_lock);
}

/* `is_seen`: the driver reported that there was one. One for which there was no entry is over,
 * too. */
static void unlist_capture(uint64_t key, bool is_seen)
{
        struct begun *begun;

        lock_take(&capture_state.captures_lock);
        begun = find_begun(key);
        if (begun)
                end_begun(begun);
        else if (is_seen && !find_begun(0) && load_relaxed(&capture_state.captures))
                add_acq_rel(&capture_state.captures, -1u);
        lock_drop(&capture_state.captures_lock);
}

void capture_stream_gone(CUstream stream)
{
        if (load_relaxed(&capture_state.captures) && stream)
                unlist_capture(key_of(stream), false);
}

void captures_context_gone(CUcontext context)
{
        lock_take(&capture_state.captures_lock);
        for (unsigned i = 0; i < STATE_CAPTURES; i++) {
                if (capture_state.begun[i].key && capture_state.begun[i].context == key_of(context))
                        end_begun(&capture_state.begun[i]);
        }
        lock_drop(&capture_state.captures_lock);
}

/* -- Holding ---------------------------------------------------------------------------------- */

/* The driver gives no number for an invalid capture: it refuses work in such a stream. */
#define CAPTURE_INVALID UINT64_MAX

#define HOLD_SLEEP_NS 20000
#define HOLD_TRIES 100000u /* 2 s and more */

/* The capture's number (which may be 0) plus 1; 0: none, or the driver does not say. */
static uint64_t capture_of(CUstream stream)
{
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        cuuint64_t id = 0;

        if (real.cuStreamGetCaptureInfo(stream, &status, &id) != CUDA_SUCCESS ||
            status == CU_STREAM_CAPTURE_STATUS_NONE)
                return 0;
        return status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? id + 1 : CAPTURE_INVALID;
}

static void drop_hold(void)
{
        add_acq_rel(&capture_state.capture_holds, -1u);
}

/* False: it takes long to end one, as a context with work does. */
static bool take_hold(void)
{
        for (unsigned i = 0; i < HOLD_TRIES; i++) {
                add_acq_rel(&capture_state.capture_holds, 1u);
                fence_seq_cst();
                if (!load_acquire(&capture_state.capture_ends))
                        return true;
                drop_hold();
                clock_sleep_ns(HOLD_SLEEP_NS);
        }
        return false;
}

uint64_t capture_hold(CUstream stream)
{
        uint64_t capture;

        if (!capture_of(stream) || !take_hold())
                return 0;
        capture = capture_of(stream);
        if (!capture)
                drop_hold();
        return capture;
}

void capture_ends_begin(void)
{
        add_acq_rel(&capture_state.capture_ends, 1u);
        fence_seq_cst();
        while (load_acquire(&capture_state.capture_holds))
                clock_sleep_ns(HOLD_SLEEP_NS);
}

CUresult capture_ends_end(CUresult rc)
{
        add_acq_rel(&capture_state.capture_ends, -1u);
        return rc;
}

/* It may have become invalid meanwhile, and is the same then. */
bool capture_let_go(CUstream stream, uint64_t capture)
{
        uint64_t now = capture_of(stream);

        drop_hold();
        return now == capture || now == CAPTURE_INVALID;
}

/* -- Begin and end ---------------------------------------------------------------------------- */

/* Credits were given on the assumption that every thread can ask about the legacy default
 * stream. */
static void wait_for_looks(void)
{
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                struct time_device *device = device_at(i);

                add_acq_rel(&device->epoch, 1);
                device_stop_looks(device);
                device_resume_looks(device);
        }
}

/* No thread can ask about legacy default streams during captures: this marker shows when their work
 * is complete. */
static void mark_default(struct time_stream *stream, void *unused)
{
        (void)unused;
        if (time_handle(stream) == CU_STREAM_LEGACY && !stream_is_ending(stream) &&
            load_acquire(&stream->work) != STREAM_EMPTY)
                stream_mark_end(stream);
}

/* One thread at a time, so that there is no capture yet which the first one's markers would end. */
static void open_one(void)
{
        bool is_first;

        lock_take(&capture_state.captures_lock);
        is_first = !captures_are_open();
        add_acq_rel(&capture_state.captures, 1);
        wait_for_looks();
        if (is_first)
                streams_each(mark_default, NULL);
        lock_drop(&capture_state.captures_lock);
}

static struct capture_stream lock_stream(CUstream handle)
{
        struct capture_stream capture = { .handle = handle };

        if (handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
                real.cuCtxGetCurrent(&capture.context);
        capture.key = time_key(handle, capture.context);
        capture.stream = stream_find(capture.key);
        if (capture.stream)
                lock_take(&capture.stream->lock);
        return capture;
}

/* Ends all credit for the stream. */
static void unlock_stream(const struct capture_stream *capture, bool is_captured)
{
        struct time_stream *stream = capture->stream;

        if (!stream)
                return;
        store_release(&stream->is_captured, is_captured);
        add_acq_rel(&stream->device->epoch, 1);
        lock_drop(&stream->lock);
}

struct capture_stream capture_begin(CUstream handle)
{
        CUcontext context = context_of_stream(handle);
        struct capture_stream capture;

        gate_return_credit();
        open_one();
        capture = lock_stream(handle);
        capture.context = context;
        return capture;
}

CUresult capture_end(const struct capture_stream *capture, CUresult rc)
{
        bool was_captured = capture->stream && load_relaxed(&capture->stream->is_captured);

        unlock_stream(capture, was_captured || rc == CUDA_SUCCESS);
        if (rc == CUDA_SUCCESS)
                list_capture(capture->key, capture->context);
        else
                add_acq_rel(&capture_state.captures, -1u);
        return rc;
}

static void ask_again(struct time_stream *stream, void *unused)
{
        (void)unused;
        if (!load_relaxed(&stream->is_captured) || cuda_time.is_unseen(stream))
                return;
        lock_take(&stream->lock);
        if (load_relaxed(&stream->is_captured) && !load_relaxed(&stream->is_gone))
                store_release(&stream->is_captured, may_be_capturing(time_handle(stream)));
        lock_drop(&stream->lock);
}

/* Of another thread's own that one asks itself when it submits to it. */
void capture_ask_again(struct time_stream *stream)
{
        ask_again(stream, NULL);
}

static struct capture_stream capture_ending(CUstream handle)
{
        struct capture_stream capture = lock_stream(handle);

        capture.is_there = may_be_capturing(handle);
        capture_ends_begin();
        return capture;
}

/* A capture that failed has ended, too. Others may have joined it. */
static CUresult capture_ended(const struct capture_stream *capture, CUresult rc)
{
        bool is_there;

        capture_ends_end(rc);
        is_there = may_be_capturing(capture->handle);
        unlock_stream(capture, is_there);
        if (capture->is_there && !is_there)
                unlist_capture(capture->key, true);
        streams_each(ask_again, NULL);
        return rc;
}

CUresult hook_cuStreamEndCapture(CUstream stream, CUgraph *ret)
{
        struct capture_stream capture = capture_ending(legacy(stream));

        return capture_ended(&capture, real.cuStreamEndCapture(stream, ret));
}

CUresult hook_cuStreamEndCapture_ptsz(CUstream stream, CUgraph *ret)
{
        struct capture_stream capture = capture_ending(per_thread(stream));

        return capture_ended(&capture, real.cuStreamEndCapture_ptsz(stream, ret));
}

/* -- Joining ---------------------------------------------------------------------------------- */

/* A stream that waits for an event of a capture joins it. An event of a parked stream parks this
 * one too. */
struct joining {
        struct time_stream *waits;
        struct capture_stream capture;
        bool is_open;
};

static struct joining join_begin(CUstream stream)
{
        struct joining joining = { .waits = streams_wait() ? wait_begin(stream) : NULL,
                                   .is_open = captures_are_open() };

        if (joining.is_open)
                joining.capture = lock_stream(stream);
        return joining;
}

static CUresult join_end(const struct joining *joining, CUresult rc)
{
        if (joining->is_open)
                unlock_stream(&joining->capture, may_be_capturing(joining->capture.handle));
        return wait_end(joining->waits, rc);
}

CUresult hook_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
        struct joining joining = join_begin(legacy(stream));

        return join_end(&joining, real.cuStreamWaitEvent(stream, event, flags));
}

CUresult hook_cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned int flags)
{
        struct joining joining = join_begin(per_thread(stream));

        return join_end(&joining, real.cuStreamWaitEvent_ptsz(stream, event, flags));
}
