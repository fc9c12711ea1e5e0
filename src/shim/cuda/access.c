/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See access.h.
 */
#include "shim/cuda/access.h"

#include "shim/cuda/front.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/real.h"
#include "shim/time/fence.h"
#include "shim/time/time.h"

/* A hold is answered by the helper. Only a daemon holds sessions. */
static bool may_be_held(void)
{
        const struct limits_page *limits = session_limits();

        return limits && limits->owner == PAGE_OWNER_DAEMON;
}

/* A thread that waits here is not on its way, unless another call of its own is. */
void access_wait(void)
{
        struct credit *credit = &credit_here;

        if (credit->number && load_relaxed(&credit->caller->calls) > 1)
                return;
        do {
                credit_leave(credit);
                front_start();
                if (threads_join() && may_be_held())
                        tend_soon();
                streams_mark_in_hold();
                gate_wait();
                credit_enter(credit);
        } while (gate_is_shut());
}

void access_leave_to(CUstream stream)
{
        struct time_stream *of = submission_stream(stream);

        if (of)
                stream_touch(of);
}

/* -- Migrations ------------------------------------------------------------------------------- */

#define PREFETCH(symbol, submission)                                               \
        ACCESSES(symbol, submission,                                               \
                 (CUdeviceptr at, size_t bytes, CUdevice device, CUstream stream), \
                 (at, bytes, device, stream))
#define PREFETCH_V2(symbol, submission)                                               \
        ACCESSES(symbol, submission,                                                  \
                 (CUdeviceptr at, size_t bytes, CUmemLocation to, unsigned int flags, \
                  CUstream stream),                                                   \
                 (at, bytes, to, flags, stream))
#define PREFETCHES(symbol, submission)                                                       \
        ACCESSES(symbol, submission,                                                         \
                 (CUdeviceptr * at, size_t * bytes, size_t count, CUmemLocation * to,        \
                  size_t * first, size_t places, unsigned long long flags, CUstream stream), \
                 (at, bytes, count, to, first, places, flags, stream))
#define DISCARDS(symbol, submission)                                                        \
        ACCESSES(symbol, submission,                                                        \
                 (CUdeviceptr * at, size_t * bytes, size_t count, unsigned long long flags, \
                  CUstream stream),                                                         \
                 (at, bytes, count, flags, stream))
#define DECOMPRESS(symbol, submission)                                            \
        ACCESSES(symbol, submission,                                              \
                 (CUmemDecompressParams * list, size_t count, unsigned int flags, \
                  size_t *ret_failed, CUstream stream),                           \
                 (list, count, flags, ret_failed, stream))
#define FABRIC(symbol, submission)                                                          \
        ACCESSES(symbol, submission,                                                        \
                 (size_t count, CUDA_FABRIC_COPY_BATCH_OP * list, unsigned long long flags, \
                  CUstream stream),                                                         \
                 (count, list, flags, stream))

PREFETCH(cuMemPrefetchAsync, submission_to(stream))
PREFETCH(cuMemPrefetchAsync_ptsz, submission_per_thread(stream))
PREFETCH_V2(cuMemPrefetchAsync_v2, submission_to(stream))
PREFETCH_V2(cuMemPrefetchAsync_v2_ptsz, submission_per_thread(stream))
PREFETCHES(cuMemPrefetchBatchAsync, submission_to(stream))
PREFETCHES(cuMemPrefetchBatchAsync_ptsz, submission_per_thread(stream))
PREFETCHES(cuMemDiscardAndPrefetchBatchAsync, submission_to(stream))
PREFETCHES(cuMemDiscardAndPrefetchBatchAsync_ptsz, submission_per_thread(stream))
DISCARDS(cuMemDiscardBatchAsync, submission_to(stream))
DISCARDS(cuMemDiscardBatchAsync_ptsz, submission_per_thread(stream))
DECOMPRESS(cuMemBatchDecompressAsync, submission_to(stream))
DECOMPRESS(cuMemBatchDecompressAsync_ptsz, submission_per_thread(stream))
FABRIC(cuFabricCpyBatchAsync, submission_to(stream))
FABRIC(cuFabricCpyBatchAsync_ptsz, submission_per_thread(stream))

/* -- Words ------------------------------------------------------------------------------------ */

#define WRITE(symbol, submission, word)                                             \
        ACCESSES(symbol, submission,                                                \
                 (CUstream stream, CUdeviceptr at, word value, unsigned int flags), \
                 (stream, at, value, flags))

WRITE(cuStreamWriteValue32, submission_to(stream), cuuint32_t)
WRITE(cuStreamWriteValue32_ptsz, submission_per_thread(stream), cuuint32_t)
WRITE(cuStreamWriteValue32_v2, submission_to(stream), cuuint32_t)
WRITE(cuStreamWriteValue32_v2_ptsz, submission_per_thread(stream), cuuint32_t)
WRITE(cuStreamWriteValue64, submission_to(stream), cuuint64_t)
WRITE(cuStreamWriteValue64_ptsz, submission_per_thread(stream), cuuint64_t)
WRITE(cuStreamWriteValue64_v2, submission_to(stream), cuuint64_t)
WRITE(cuStreamWriteValue64_v2_ptsz, submission_per_thread(stream), cuuint64_t)
