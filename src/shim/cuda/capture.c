/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See capture.h.
 *
 * Who looks at streams does so without disturbing captures while there are any: a capture begins
 * when every look that began before it is over.
 */
#include "shim/cuda/capture.h"

#include "shim/cuda/front.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/real.h"
#include "shim/cuda/state.h"
#include "shim/cuda/time.h"
#include "shim/cuda/wait.h"
#include "shim/time/credit.h"

#define LEGACY (stream ? stream : CU_STREAM_LEGACY)
#define PER_THREAD (stream ? stream : CU_STREAM_PER_THREAD)

bool captures_are_open(void)
{
        return load_acquire(&state.captures) || load_relaxed(&state.recorded_count);
}

/* Credits were given as if everybody could be asked about the old default stream. */
static void wait_for_looks(void)
{
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                add_acq_rel(&device_at(i)->epoch, 1);
                lock_take(&device_at(i)->looking);
                lock_drop(&device_at(i)->looking);
        }
}

/* Of the stream, if work of it was ever metered, its lock held. */
static struct time_stream *lock_stream(CUstream stream)
{
        CUcontext context = NULL;
        struct time_stream *found;

        if (stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
                real.cuCtxGetCurrent(&context);
        found = stream_find(time_key(stream, context));
        if (found)
                lock_take(&found->lock);
        return found;
}

/* Whatever credit there is for it ends. */
static void unlock_stream(struct time_stream *stream, bool is_captured)
{
        if (!stream)
                return;
        store_release(&stream->is_captured, is_captured);
        add_acq_rel(&stream->device->epoch, 1);
        lock_drop(&stream->lock);
}

static struct time_stream *capture_begin(CUstream stream)
{
        gate_return_credit();
        add_acq_rel(&state.captures, 1);
        wait_for_looks();
        return lock_stream(stream);
}

static CUresult capture_began(struct time_stream *stream, CUresult rc)
{
        bool was_captured = stream && load_relaxed(&stream->is_captured);

        if (rc != CUDA_SUCCESS)
                add_acq_rel(&state.captures, -1u);
        unlock_stream(stream, was_captured || rc == CUDA_SUCCESS);
        return rc;
}

static void ask_again(struct time_stream *stream, void *unused)
{
        (void)unused;
        if (!load_relaxed(&stream->is_captured))
                return;
        lock_take(&stream->lock);
        if (load_relaxed(&stream->is_captured))
                store_release(&stream->is_captured, stream->device->driver->is_capturing(stream));
        lock_drop(&stream->lock);
}

struct capture {
        CUstream handle;
        struct time_stream *stream; /* as it is metered, locked; NULL: it is not */
        bool is_there;
};

static struct capture capture_ending(CUstream handle)
{
        return (struct capture){ handle, lock_stream(handle), may_be_capturing(handle) };
}

/* A capture that failed has ended, too. Others may have joined it. */
static CUresult capture_ended(const struct capture *capture, CUresult rc)
{
        bool is_there = may_be_capturing(capture->handle);

        if (capture->is_there && !is_there)
                add_acq_rel(&state.captures, -1u);
        unlock_stream(capture->stream, is_there);
        streams_each(UINT64_MAX, ask_again, NULL);
        return rc;
}

#define BEGINS(symbol, in, parameters, arguments)                \
        CUresult hook_##symbol parameters                        \
        {                                                        \
                struct time_stream *of = capture_begin(in);      \
                                                                 \
                return capture_began(of, real.symbol arguments); \
        }

BEGINS(cuStreamBeginCapture, LEGACY, (CUstream stream), (stream))
BEGINS(cuStreamBeginCapture_ptsz, PER_THREAD, (CUstream stream), (stream))
BEGINS(cuStreamBeginCapture_v2, LEGACY, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
BEGINS(cuStreamBeginCapture_v2_ptsz, PER_THREAD, (CUstream stream, CUstreamCaptureMode mode),
       (stream, mode))
BEGINS(cuStreamBeginCaptureToGraph, LEGACY,
       (CUstream stream, CUgraph graph, const CUgraphNode *dependencies,
        const CUgraphEdgeData *data, size_t count, CUstreamCaptureMode mode),
       (stream, graph, dependencies, data, count, mode))
BEGINS(cuStreamBeginCaptureToGraph_ptsz, PER_THREAD,
       (CUstream stream, CUgraph graph, const CUgraphNode *dependencies,
        const CUgraphEdgeData *data, size_t count, CUstreamCaptureMode mode),
       (stream, graph, dependencies, data, count, mode))
BEGINS(cuStreamBeginRecaptureToGraph, LEGACY,
       (CUstream stream, CUstreamCaptureMode mode, CUgraph graph, CUgraphRecaptureCallback differs,
        void *data),
       (stream, mode, graph, differs, data))
BEGINS(cuStreamBeginRecaptureToGraph_ptsz, PER_THREAD,
       (CUstream stream, CUstreamCaptureMode mode, CUgraph graph, CUgraphRecaptureCallback differs,
        void *data),
       (stream, mode, graph, differs, data))

CUresult hook_cuStreamEndCapture(CUstream stream, CUgraph *ret)
{
        struct capture capture = capture_ending(LEGACY);

        return capture_ended(&capture, real.cuStreamEndCapture(stream, ret));
}

CUresult hook_cuStreamEndCapture_ptsz(CUstream stream, CUgraph *ret)
{
        struct capture capture = capture_ending(PER_THREAD);

        return capture_ended(&capture, real.cuStreamEndCapture_ptsz(stream, ret));
}

/* -- Joining ---------------------------------------------------------------------------------- */

/* A stream that waits for an event of a capture becomes a part of it. */
static CUresult joined(struct time_stream *stream, CUstream handle, CUresult rc)
{
        if (stream)
                unlock_stream(stream, may_be_capturing(handle));
        return rc;
}

/* An event of a stream that waits for somebody makes this one wait, too. */
static struct time_stream *begin(CUstream stream)
{
        return streams_wait() ? wait_begin(stream) : NULL;
}

CUresult hook_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
        struct time_stream *waits = begin(LEGACY);
        struct time_stream *of = captures_are_open() ? lock_stream(LEGACY) : NULL;

        return wait_end(waits, joined(of, LEGACY, real.cuStreamWaitEvent(stream, event, flags)));
}

CUresult hook_cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned int flags)
{
        struct time_stream *waits = begin(PER_THREAD);
        struct time_stream *of = captures_are_open() ? lock_stream(PER_THREAD) : NULL;

        return wait_end(waits,
                        joined(of, PER_THREAD, real.cuStreamWaitEvent_ptsz(stream, event, flags)));
}
