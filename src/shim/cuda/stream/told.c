/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learns from the program's waits that streams are empty. A successful query of a stream counts as
 * a wait, because the stream is empty then.
 */
#include "shim/cuda/stream/told.h"

#include "common/clock.h"
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/stream/time.h"
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

bool told_is_over(const struct told *told, CUresult rc)
{
        return rc == CUDA_SUCCESS && told->began_ns && session_state() == SESSION_ACTIVE;
}

void told_end(const struct told *told, CUstream stream, CUresult rc)
{
        CUcontext context = NULL;
        struct time_stream *of;

        wait_over(told->device);
        if (!stream || !told_is_over(told, rc))
                return;
        if (stream == TOLD_CONTEXT || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
                real.cuCtxGetCurrent(&context);
        if (stream == TOLD_CONTEXT) {
                streams_told(key_of(context), told->began_ns);
                return;
        }
        of = stream_find(time_key(stream, context));
        if (of)
                stream_told(of, told->began_ns);
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
