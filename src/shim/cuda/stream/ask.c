/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries of the driver that do not disturb captures.
 */
#include "shim/cuda/stream/ask.h"

#include <stddef.h>

#include "shim/cuda/driver/real.h"
#include "shim/cuda/stream/recorded.h"

struct relaxed relax(void)
{
        struct relaxed was = { .mode = CU_STREAM_CAPTURE_MODE_RELAXED };

        was.is_relaxed = real.cuThreadExchangeStreamCaptureMode(&was.mode) == CUDA_SUCCESS;
        return was;
}

void unrelax(struct relaxed was)
{
        if (was.is_relaxed)
                real.cuThreadExchangeStreamCaptureMode(&was.mode);
}

bool may_be_capturing(CUstream stream)
{
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

        return real.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
               status != CU_STREAM_CAPTURE_STATUS_NONE || stream_is_recorded(stream);
}

CUcontext context_of_stream(CUstream stream)
{
        CUcontext context = NULL;

        if (stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD &&
            real.cuStreamGetCtx(stream, &context) == CUDA_SUCCESS && context)
                return context;
        return real.cuCtxGetCurrent(&context) == CUDA_SUCCESS ? context : NULL;
}
