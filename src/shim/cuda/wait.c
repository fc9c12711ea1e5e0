/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes a stream wait for somebody: words in memory, semaphores of other APIs, functions on
 * the host. What stands behind it is not in flight until that is over.
 */
#include "shim/cuda/wait.h"

#include "shim/cuda/hooks.h"
#include "shim/cuda/real.h"
#include "shim/cuda/submit.h"
#include "shim/time/time.h"

struct time_stream *wait_begin(CUstream stream)
{
        struct time_stream *of = credit_is_free(&credit_here) ? NULL : submission_stream(stream);

        if (of)
                stream_park_begin(of);
        return of;
}

CUresult wait_end(struct time_stream *stream, CUresult rc)
{
        if (stream)
                stream_park_end(stream, rc == CUDA_SUCCESS);
        return rc;
}

#define WAIT(symbol, in, parameters, arguments)             \
        CUresult hook_##symbol parameters                   \
        {                                                   \
                struct time_stream *of = wait_begin(in);    \
                                                            \
                return wait_end(of, real.symbol arguments); \
        }
#define WAIT_VALUE(symbol, in, word)                                                        \
        WAIT(symbol, in, (CUstream stream, CUdeviceptr at, word value, unsigned int flags), \
             (stream, at, value, flags))
#define BATCH(symbol, in)                                                          \
        WAIT(symbol, in,                                                           \
             (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *list, \
              unsigned int flags),                                                 \
             (stream, count, list, flags))
#define SEMAPHORES(symbol, in)                                                           \
        WAIT(symbol, in,                                                                 \
             (const CUexternalSemaphore *list,                                           \
              const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *parameters, unsigned int count, \
              CUstream stream),                                                          \
             (list, parameters, count, stream))

WAIT_VALUE(cuStreamWaitValue32, legacy(stream), cuuint32_t)
WAIT_VALUE(cuStreamWaitValue32_ptsz, per_thread(stream), cuuint32_t)
WAIT_VALUE(cuStreamWaitValue32_v2, legacy(stream), cuuint32_t)
WAIT_VALUE(cuStreamWaitValue32_v2_ptsz, per_thread(stream), cuuint32_t)
WAIT_VALUE(cuStreamWaitValue64, legacy(stream), cuuint64_t)
WAIT_VALUE(cuStreamWaitValue64_ptsz, per_thread(stream), cuuint64_t)
WAIT_VALUE(cuStreamWaitValue64_v2, legacy(stream), cuuint64_t)
WAIT_VALUE(cuStreamWaitValue64_v2_ptsz, per_thread(stream), cuuint64_t)
BATCH(cuStreamBatchMemOp, legacy(stream))
BATCH(cuStreamBatchMemOp_ptsz, per_thread(stream))
BATCH(cuStreamBatchMemOp_v2, legacy(stream))
BATCH(cuStreamBatchMemOp_v2_ptsz, per_thread(stream))
SEMAPHORES(cuWaitExternalSemaphoresAsync, legacy(stream))
SEMAPHORES(cuWaitExternalSemaphoresAsync_ptsz, per_thread(stream))
WAIT(cuLaunchHostFunc, legacy(stream), (CUstream stream, CUhostFn function, void *data),
     (stream, function, data))
WAIT(cuLaunchHostFunc_ptsz, per_thread(stream), (CUstream stream, CUhostFn function, void *data),
     (stream, function, data))
WAIT(cuLaunchHostFunc_v2, legacy(stream),
     (CUstream stream, CUhostFn function, void *data, unsigned int mode),
     (stream, function, data, mode))
WAIT(cuLaunchHostFunc_v2_ptsz, per_thread(stream),
     (CUstream stream, CUhostFn function, void *data, unsigned int mode),
     (stream, function, data, mode))
WAIT(cuStreamAddCallback, legacy(stream),
     (CUstream stream, CUstreamCallback function, void *data, unsigned int flags),
     (stream, function, data, flags))
WAIT(cuStreamAddCallback_ptsz, per_thread(stream),
     (CUstream stream, CUstreamCallback function, void *data, unsigned int flags),
     (stream, function, data, flags))
