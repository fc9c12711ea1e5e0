/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for the device: where pools shrink, and where graphs are known to be over.
 *
 * The driver gives a pool's unused memory back when it has been waited for; that is read here, so
 * that other processes of the session find the room without waiting for this one's next allocation.
 * A program without pools and graph memory pays one or two loads.
 */
#include "shim/cuda/front.h"
#include "shim/cuda/graph.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/pool.h"
#include "shim/cuda/real.h"

static CUresult waited(const struct idle *idle, CUresult rc)
{
        idle_end(idle, rc);
        if (rc == CUDA_SUCCESS)
                pool_synchronised();
        return rc;
}

CUresult hook_cuCtxSynchronize(void)
{
        struct idle idle = idle_begin(IDLE_CONTEXT);

        return waited(&idle, real.cuCtxSynchronize());
}

/* Of a context that need not be current: only pools are looked at. */
CUresult hook_cuCtxSynchronize_v2(CUcontext context)
{
        struct idle idle = { NULL, 0 };

        return waited(&idle, real.cuCtxSynchronize_v2(context));
}

CUresult hook_cuStreamSynchronize(CUstream stream)
{
        struct idle idle = idle_begin(stream ? stream : CU_STREAM_LEGACY);

        return waited(&idle, real.cuStreamSynchronize(stream));
}

CUresult hook_cuStreamSynchronize_ptsz(CUstream stream)
{
        struct idle idle = idle_begin(stream ? stream : CU_STREAM_PER_THREAD);

        return waited(&idle, real.cuStreamSynchronize_ptsz(stream));
}

CUresult hook_cuEventSynchronize(CUevent event)
{
        struct idle idle = { NULL, 0 };

        return waited(&idle, real.cuEventSynchronize(event));
}
