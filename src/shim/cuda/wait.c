/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes a stream wait for somebody: events, words in memory, semaphores of other APIs,
 * functions on the host. No work of the device, and the time for which it stands in a stream is
 * nobody's.
 */
#include "shim/credit.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/real.h"

#define WAIT(symbol, parameters, arguments)   \
        CUresult hook_##symbol parameters     \
        {                                     \
                credit_break(&credit_here);   \
                return real.symbol arguments; \
        }
#define WAIT_VALUE(symbol, word)                                                        \
        WAIT(symbol, (CUstream stream, CUdeviceptr at, word value, unsigned int flags), \
             (stream, at, value, flags))
#define BATCH(symbol)                                                              \
        WAIT(symbol,                                                               \
             (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *list, \
              unsigned int flags),                                                 \
             (stream, count, list, flags))
#define SEMAPHORES(symbol)                                                               \
        WAIT(symbol,                                                                     \
             (const CUexternalSemaphore *list,                                           \
              const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *parameters, unsigned int count, \
              CUstream stream),                                                          \
             (list, parameters, count, stream))

WAIT(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags),
     (stream, event, flags))
WAIT(cuStreamWaitEvent_ptsz, (CUstream stream, CUevent event, unsigned int flags),
     (stream, event, flags))
WAIT_VALUE(cuStreamWaitValue32, cuuint32_t)
WAIT_VALUE(cuStreamWaitValue32_ptsz, cuuint32_t)
WAIT_VALUE(cuStreamWaitValue32_v2, cuuint32_t)
WAIT_VALUE(cuStreamWaitValue32_v2_ptsz, cuuint32_t)
WAIT_VALUE(cuStreamWaitValue64, cuuint64_t)
WAIT_VALUE(cuStreamWaitValue64_ptsz, cuuint64_t)
WAIT_VALUE(cuStreamWaitValue64_v2, cuuint64_t)
WAIT_VALUE(cuStreamWaitValue64_v2_ptsz, cuuint64_t)
BATCH(cuStreamBatchMemOp)
BATCH(cuStreamBatchMemOp_ptsz)
BATCH(cuStreamBatchMemOp_v2)
BATCH(cuStreamBatchMemOp_v2_ptsz)
SEMAPHORES(cuWaitExternalSemaphoresAsync)
SEMAPHORES(cuWaitExternalSemaphoresAsync_ptsz)
WAIT(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void *data), (stream, function, data))
WAIT(cuLaunchHostFunc_ptsz, (CUstream stream, CUhostFn function, void *data),
     (stream, function, data))
WAIT(cuLaunchHostFunc_v2, (CUstream stream, CUhostFn function, void *data, unsigned int mode),
     (stream, function, data, mode))
WAIT(cuLaunchHostFunc_v2_ptsz, (CUstream stream, CUhostFn function, void *data, unsigned int mode),
     (stream, function, data, mode))
WAIT(cuStreamAddCallback,
     (CUstream stream, CUstreamCallback function, void *data, unsigned int flags),
     (stream, function, data, flags))
WAIT(cuStreamAddCallback_ptsz,
     (CUstream stream, CUstreamCallback function, void *data, unsigned int flags),
     (stream, function, data, flags))
