/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks for functions that wait for the device. After a wait, pools may have shrunk, and streams
 * are known to be empty (told.h).
 *
 * After a wait the driver releases a pool's unused memory. The pool is read here, so that other
 * processes of the session find the room before this process's next allocation. A program without
 * pools and graph memory pays for one or two loads.
 */
#include "shim/cuda/charge/host_frees.h"
#include "shim/cuda/charge/remainder.h"
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/memory/pool.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/stream/time.h"
#include "shim/cuda/stream/told.h"

/* The state before the wait. */
struct wait {
        CUstream stream; /* the stream waited for; TOLD_CONTEXT: the whole context; NULL: unknown */
        /* Value of pool_frees() before the wait. */
        uint64_t frees;
        struct told told;
};

static struct wait wait_begin(CUstream stream)
{
        return (struct wait){ stream, pool_frees(), told_begin() };
}

/* Begins a wait whose stream is unknown. */
static struct wait wait_begin_somewhere(void)
{
        return (struct wait){ .told = told_begin() };
}

static CUresult wait_end(const struct wait *wait, CUresult rc)
{
        told_end(&wait->told, wait->stream, rc);
        if (rc == CUDA_SUCCESS) {
                if (wait->stream == TOLD_CONTEXT)
                        host_frees_sweep();
                pool_synchronised(wait->stream, wait->frees);
                remainders_tend();
        }
        return rc;
}

CUresult hook_cuCtxSynchronize(void)
{
        struct wait wait = wait_begin(TOLD_CONTEXT);

        return wait_end(&wait, real.cuCtxSynchronize());
}

/* The context need not be current, so pool_synchronised() cannot be told which streams are
 * empty. */
CUresult hook_cuCtxSynchronize_v2(CUcontext context)
{
        struct wait wait = wait_begin_somewhere();
        CUresult rc = real.cuCtxSynchronize_v2(context);

        if (told_is_over(&wait.told, rc))
                streams_told(key_of(context), wait.told.began_ns);
        if (rc == CUDA_SUCCESS)
                host_frees_sweep();
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

        if (told_is_over(&wait.told, rc))
                stream_told_event(wait.told.began_ns);
        return wait_end(&wait, rc);
}
