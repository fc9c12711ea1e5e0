/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for the device: where pools shrink, where graphs are known to be over, and where the
 * program itself learns that streams are empty.
 *
 * The driver gives a pool's unused memory back when it has been waited for; that is read here, so
 * that other processes of the session find the room without waiting for this one's next allocation.
 * A program without pools and graph memory pays one or two loads.
 */
#include "common/clock.h"
#include "shim/cuda/front.h"
#include "shim/cuda/graph.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/pool.h"
#include "shim/cuda/real.h"
#include "shim/cuda/remainder.h"
#include "shim/cuda/time.h"
#include "shim/cuda/told.h"
#include "shim/time/credit.h"

uint64_t told_begin(void)
{
        return credit_is_free(&credit_here) ? 0 : clock_now_ns();
}

void told_end(CUstream stream, uint64_t began_ns)
{
        CUcontext context = NULL;
        struct time_stream *of;

        if (!began_ns || session_state() != SESSION_ACTIVE)
                return;
        if (stream == POOL_CONTEXT || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
                real.cuCtxGetCurrent(&context);
        if (stream == POOL_CONTEXT) {
                streams_told(key_of(context), began_ns);
                return;
        }
        of = stream_find(time_key(stream, context));
        if (of)
                stream_told(of, began_ns);
}

/* What was there before the wait. */
struct wait {
        struct idle idle;
        CUstream stream; /* waited for; POOL_CONTEXT: all of the context; NULL: unknown */
        uint64_t frees;
        uint64_t began_ns; /* 0: nothing of this thread is metered */
};

static struct wait wait_begin(CUstream stream)
{
        return (struct wait){ idle_begin(stream), stream, pool_frees(), told_begin() };
}

/* Which stream is waited for nobody knows. */
static struct wait wait_begin_somewhere(void)
{
        return (struct wait){ 0 };
}

static CUresult wait_end(const struct wait *wait, CUresult rc)
{
        idle_end(&wait->idle, rc);
        if (rc == CUDA_SUCCESS) {
                told_end(wait->stream, wait->began_ns);
                pool_synchronised(wait->stream, wait->frees);
                graphs_look();
                remainders_tend();
        }
        return rc;
}

CUresult hook_cuCtxSynchronize(void)
{
        struct wait wait = wait_begin(POOL_CONTEXT);

        return wait_end(&wait, real.cuCtxSynchronize());
}

/* Of a context that need not be current: of its pools nothing is known. */
CUresult hook_cuCtxSynchronize_v2(CUcontext context)
{
        struct wait wait = wait_begin_somewhere();
        uint64_t began_ns = told_begin();
        CUresult rc = real.cuCtxSynchronize_v2(context);

        if (rc == CUDA_SUCCESS && began_ns && session_state() == SESSION_ACTIVE)
                streams_told(key_of(context), began_ns);
        return wait_end(&wait, rc);
}

CUresult hook_cuStreamSynchronize(CUstream stream)
{
        struct wait wait = wait_begin(legacy(stream));

        return wait_end(&wait, real.cuStreamSynchronize(stream));
}

CUresult hook_cuStreamSynchronize_ptsz(CUstream stream)
{
        struct wait wait = wait_begin(per_thread(stream));

        return wait_end(&wait, real.cuStreamSynchronize_ptsz(stream));
}

CUresult hook_cuEventSynchronize(CUevent event)
{
        struct wait wait = wait_begin_somewhere();

        return wait_end(&wait, real.cuEventSynchronize(event));
}

static CUresult told_if_done(CUstream stream, CUresult rc)
{
        if (rc == CUDA_SUCCESS)
                told_end(stream, told_begin());
        return rc;
}

CUresult hook_cuStreamQuery(CUstream stream)
{
        return told_if_done(legacy(stream), real.cuStreamQuery(stream));
}

CUresult hook_cuStreamQuery_ptsz(CUstream stream)
{
        return told_if_done(per_thread(stream), real.cuStreamQuery_ptsz(stream));
}
