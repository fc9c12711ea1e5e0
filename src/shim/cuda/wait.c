/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes a stream wait for somebody: events, words in memory, semaphores of other APIs,
 * functions on the host. No work of the device, and the time for which it stands in a stream is
 * nobody's.
 */
#include "shim/cuda/hooks.h"
#include "shim/cuda/pause.h"
#include "shim/cuda/real.h"

#define LEGACY (stream ? stream : CU_STREAM_LEGACY)
#define PER_THREAD (stream ? stream : CU_STREAM_PER_THREAD)

#define WAIT(symbol, in, parameters, arguments)                  \
        CUresult hook_##symbol parameters                        \
        {                                                        \
                struct pause pause;                              \
                                                                 \
                pause_begin(&pause, (in), LANE_WAITS);           \
                return pause_end(&pause, real.symbol arguments); \
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

WAIT(cuStreamWaitEvent, LEGACY, (CUstream stream, CUevent event, unsigned int flags),
     (stream, event, flags))
WAIT(cuStreamWaitEvent_ptsz, PER_THREAD, (CUstream stream, CUevent event, unsigned int flags),
     (stream, event, flags))
WAIT_VALUE(cuStreamWaitValue32, LEGACY, cuuint32_t)
WAIT_VALUE(cuStreamWaitValue32_ptsz, PER_THREAD, cuuint32_t)
WAIT_VALUE(cuStreamWaitValue32_v2, LEGACY, cuuint32_t)
WAIT_VALUE(cuStreamWaitValue32_v2_ptsz, PER_THREAD, cuuint32_t)
WAIT_VALUE(cuStreamWaitValue64, LEGACY, cuuint64_t)
WAIT_VALUE(cuStreamWaitValue64_ptsz, PER_THREAD, cuuint64_t)
WAIT_VALUE(cuStreamWaitValue64_v2, LEGACY, cuuint64_t)
WAIT_VALUE(cuStreamWaitValue64_v2_ptsz, PER_THREAD, cuuint64_t)
BATCH(cuStreamBatchMemOp, LEGACY)
BATCH(cuStreamBatchMemOp_ptsz, PER_THREAD)
BATCH(cuStreamBatchMemOp_v2, LEGACY)
BATCH(cuStreamBatchMemOp_v2_ptsz, PER_THREAD)
SEMAPHORES(cuWaitExternalSemaphoresAsync, LEGACY)
SEMAPHORES(cuWaitExternalSemaphoresAsync_ptsz, PER_THREAD)
WAIT(cuLaunchHostFunc, LEGACY, (CUstream stream, CUhostFn function, void *data),
     (stream, function, data))
WAIT(cuLaunchHostFunc_ptsz, PER_THREAD, (CUstream stream, CUhostFn function, void *data),
     (stream, function, data))
WAIT(cuLaunchHostFunc_v2, LEGACY,
     (CUstream stream, CUhostFn function, void *data, unsigned int mode),
     (stream, function, data, mode))
WAIT(cuLaunchHostFunc_v2_ptsz, PER_THREAD,
     (CUstream stream, CUhostFn function, void *data, unsigned int mode),
     (stream, function, data, mode))
WAIT(cuStreamAddCallback, LEGACY,
     (CUstream stream, CUstreamCallback function, void *data, unsigned int flags),
     (stream, function, data, flags))
WAIT(cuStreamAddCallback_ptsz, PER_THREAD,
     (CUstream stream, CUstreamCallback function, void *data, unsigned int flags),
     (stream, function, data, flags))
