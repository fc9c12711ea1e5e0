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

struct told told_begin(void)
{
        struct told told = { 0 };

        if (credit_is_free(&credit_here))
                return told;
        told.began_ns = clock_now_ns();
        told.device = wait_blocks(told.began_ns);
        return told;
}

/* What was waited for is over, and somebody is billed for it. */
static bool is_told(const struct told *told, CUresult rc)
{
        return rc == CUDA_SUCCESS && told->began_ns && session_state() == SESSION_ACTIVE;
}

void told_end(const struct told *told, CUstream stream, CUresult rc)
{
        CUcontext context = NULL;
        struct time_stream *of;

        wait_over(told->device);
        if (!stream || !is_told(told, rc))
                return;
        if (stream == POOL_CONTEXT || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
                real.cuCtxGetCurrent(&context);
        if (stream == POOL_CONTEXT) {
                streams_told(key_of(context), told->began_ns);
                return;
        }
        of = stream_find(time_key(stream, context));
        if (of)
                stream_told(of, told->began_ns);
}

/* What was there before the wait. */
struct wait {
        CUstream stream; /* waited for; POOL_CONTEXT: all of the context; NULL: unknown */
        uint64_t frees;
        struct told told;
};

static struct wait wait_begin(CUstream stream)
{
        return (struct wait){ stream, pool_frees(), told_begin() };
}

/* Which stream is waited for nobody knows. */
static struct wait wait_begin_somewhere(void)
{
        return (struct wait){ .told = told_begin() };
}

static CUresult wait_end(const struct wait *wait, CUresult rc)
{
        told_end(&wait->told, wait->stream, rc);
        if (rc == CUDA_SUCCESS) {
                pool_synchronised(wait->stream, wait->frees);
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
        CUresult rc = real.cuCtxSynchronize_v2(context);

        if (is_told(&wait.told, rc))
                streams_told(key_of(context), wait.told.began_ns);
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
        CUresult rc = real.cuEventSynchronize(event);

        if (is_told(&wait.told, rc))
                stream_told_event(wait.told.began_ns);
        return wait_end(&wait, rc);
}

static CUresult told_if_done(CUstream stream, CUresult rc)
{
        struct told told = { .began_ns = credit_is_free(&credit_here) ? 0 : clock_now_ns() };

        told_end(&told, stream, rc);
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
