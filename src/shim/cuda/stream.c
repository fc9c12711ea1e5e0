/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for the device: where pools shrink, where graphs are known to be over, and where what was
 * launched until now ends (burst.h).
 *
 * The driver gives a pool's unused memory back when it has been waited for; that is read here, so
 * that other processes of the session find the room without waiting for this one's next allocation.
 * A program without pools and graph memory pays one or two loads.
 */
#include "shim/cuda/burst.h"
#include "shim/cuda/front.h"
#include "shim/cuda/graph.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/pool.h"
#include "shim/cuda/real.h"

/* What was there before the wait. */
struct wait {
        struct idle idle;
        CUstream stream; /* waited for; POOL_CONTEXT: all of the context; NULL: unknown */
        uint64_t frees;
};

static struct wait wait_begin(CUstream stream)
{
        burst_end();
        return (struct wait){ idle_begin(stream), stream, pool_frees() };
}

/* Which stream is waited for nobody knows. */
static struct wait wait_begin_somewhere(void)
{
        burst_end();
        return (struct wait){ 0 };
}

static CUresult wait_end(const struct wait *wait, CUresult rc)
{
        idle_end(&wait->idle, rc);
        if (rc == CUDA_SUCCESS) {
                pool_synchronised(wait->stream, wait->frees);
                graphs_look();
        }
        return rc;
}

CUresult hook_cuCtxSynchronize(void)
{
        struct wait wait = wait_begin(POOL_CONTEXT);

        return wait_end(&wait, real.cuCtxSynchronize());
}

/* Of a context that need not be current: pools are read again, nothing else is known. */
CUresult hook_cuCtxSynchronize_v2(CUcontext context)
{
        struct wait wait = wait_begin_somewhere();

        return wait_end(&wait, real.cuCtxSynchronize_v2(context));
}

CUresult hook_cuStreamSynchronize(CUstream stream)
{
        struct wait wait = wait_begin(stream ? stream : CU_STREAM_LEGACY);

        return wait_end(&wait, real.cuStreamSynchronize(stream));
}

CUresult hook_cuStreamSynchronize_ptsz(CUstream stream)
{
        struct wait wait = wait_begin(stream ? stream : CU_STREAM_PER_THREAD);

        return wait_end(&wait, real.cuStreamSynchronize_ptsz(stream));
}

CUresult hook_cuEventSynchronize(CUevent event)
{
        struct wait wait = wait_begin_somewhere();

        return wait_end(&wait, real.cuEventSynchronize(event));
}

/* Who asks may be waiting, and this look be its last. */
CUresult hook_cuEventQuery(CUevent event)
{
        burst_end();
        return real.cuEventQuery(event);
}

CUresult hook_cuStreamQuery(CUstream stream)
{
        burst_end();
        return real.cuStreamQuery(stream);
}

CUresult hook_cuStreamQuery_ptsz(CUstream stream)
{
        burst_end();
        return real.cuStreamQuery_ptsz(stream);
}
