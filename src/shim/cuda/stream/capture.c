/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks which captures are open, and holds them.
 *
 * A *look* is a query whether streams have work (shim/time/time.h). While captures are open, looks
 * are made in a way that does not invalidate them. A capture begins only when every look that began
 * before it is over.
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

/* -- Open captures ---------------------------------------------------------------------------- */

/* Returns the entry of the open capture of a stream; with key 0, a free entry. NULL: none. The
 * caller holds captures_lock. */
static struct begun *find_begun(uint64_t key)
{
        for (unsigned i = 0; i < STATE_CAPTURES; i++) {
                if (capture_state.begun[i].key == key)
                        return &capture_state.begun[i];
        }
        return NULL;
}

/* Frees the entry of a capture that has ended. The caller holds captures_lock. */
static void end_begun(struct begun *begun)
{
        *begun = (struct begun){ 0 };
        add_acq_rel(&capture_state.captures, -1u);
}

/* Adds an entry for a capture that has begun. If the stream still has an entry, its earlier capture
 * ended without our noticing. */
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

/* Removes the entry of a capture that has ended. `is_seen`: the driver reported that the stream was
 * capturing. Then the capture is subtracted even if there was no free entry for it when it
 * began. */
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

/* Stands for an invalidated capture: the driver gives no number for it, and refuses work in its
 * stream. */
#define CAPTURE_INVALID UINT64_MAX

#define HOLD_SLEEP_NS 20000
#define HOLD_TRIES 100000u /* together at least 2 s */

/* Returns the number of the stream's capture (which may be 0) plus 1; 0: no capture, or the driver
 * does not report it. */
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

/* Counts this thread as a holder of captures. False: a thread that ends captures takes too long,
 * for example because it destroys a context with work. */
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

/* A capture that was invalidated meanwhile is still the same one. */
bool capture_let_go(CUstream stream, uint64_t capture)
{
        uint64_t now = capture_of(stream);

        drop_hold();
        return now == capture || now == CAPTURE_INVALID;
}

/* -- Begin and end ---------------------------------------------------------------------------- */

/* Waits until all looks in progress are over, and ends every credit. Credits are given on the
 * assumption that every thread can query the legacy default stream, which is not so during a
 * capture. */
static void wait_for_looks(void)
{
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                struct time_device *device = device_at(i);

                add_acq_rel(&device->epoch, 1);
                device_stop_looks(device);
                device_resume_looks(device);
        }
}

/* Places a marker behind the work of a legacy default stream. During captures no thread can query
 * such a stream, so only the marker shows when its work is complete. */
static void mark_default(struct time_stream *stream, void *unused)
{
        (void)unused;
        if (time_handle(stream) == CU_STREAM_LEGACY && !stream_is_ending(stream) &&
            load_acquire(&stream->work) != STREAM_EMPTY)
                stream_mark_end(stream);
}

/* Counts a capture that is about to begin. One thread at a time, so that no capture is open yet
 * while the first thread places its markers, which would invalidate it. */
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

/* Finds the record of the stream and takes its lock. */
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

/* Stores whether the stream is captured, ends all credit for its device, and releases the lock. */
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

/* Does nothing for the default stream of another thread: that thread asks itself when it
 * submits. */
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

/* Ends what capture_ending() began. A capture whose end failed may have ended too. Other streams
 * may have joined the capture, so they are asked again as well. */
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

/* A call that makes a stream wait for an event. If the event belongs to a capture, the stream joins
 * the capture. If the event's stream is parked, this stream is parked too. */
struct joining {
        /* For wait_end(); NULL: no stream is parked, or nothing is metered. */
        struct time_stream *waits;
        struct capture_stream capture;
        /* Whether a capture was open before the call. */
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
