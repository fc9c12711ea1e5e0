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

        if (load_relaxed(&credit->calls) > 1)
                return;
        do {
                credit_leave(credit);
                front_start();
                if (threads_join() && may_be_held())
                        tend_soon();
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

#define PREFETCH(symbol, way)                                                                   \
        ACCESSES(symbol, way, (CUdeviceptr at, size_t bytes, CUdevice device, CUstream stream), \
                 (at, bytes, device, stream))
#define PREFETCH_V2(symbol, way)                                                      \
        ACCESSES(symbol, way,                                                         \
                 (CUdeviceptr at, size_t bytes, CUmemLocation to, unsigned int flags, \
                  CUstream stream),                                                   \
                 (at, bytes, to, flags, stream))
#define PREFETCHES(symbol, way)                                                              \
        ACCESSES(symbol, way,                                                                \
                 (CUdeviceptr * at, size_t * bytes, size_t count, CUmemLocation * to,        \
                  size_t * first, size_t places, unsigned long long flags, CUstream stream), \
                 (at, bytes, count, to, first, places, flags, stream))
#define DISCARDS(symbol, way)                                                               \
        ACCESSES(symbol, way,                                                               \
                 (CUdeviceptr * at, size_t * bytes, size_t count, unsigned long long flags, \
                  CUstream stream),                                                         \
                 (at, bytes, count, flags, stream))
#define DECOMPRESS(symbol, way)                                                   \
        ACCESSES(symbol, way,                                                     \
                 (CUmemDecompressParams * list, size_t count, unsigned int flags, \
                  size_t *ret_failed, CUstream stream),                           \
                 (list, count, flags, ret_failed, stream))
#define FABRIC(symbol, way)                                                                 \
        ACCESSES(symbol, way,                                                               \
                 (size_t count, CUDA_FABRIC_COPY_BATCH_OP * list, unsigned long long flags, \
                  CUstream stream),                                                         \
                 (count, list, flags, stream))

PREFETCH(cuMemPrefetchAsync, way_of(stream))
PREFETCH(cuMemPrefetchAsync_ptsz, way_of_per_thread(stream))
PREFETCH_V2(cuMemPrefetchAsync_v2, way_of(stream))
PREFETCH_V2(cuMemPrefetchAsync_v2_ptsz, way_of_per_thread(stream))
PREFETCHES(cuMemPrefetchBatchAsync, way_of(stream))
PREFETCHES(cuMemPrefetchBatchAsync_ptsz, way_of_per_thread(stream))
PREFETCHES(cuMemDiscardAndPrefetchBatchAsync, way_of(stream))
PREFETCHES(cuMemDiscardAndPrefetchBatchAsync_ptsz, way_of_per_thread(stream))
DISCARDS(cuMemDiscardBatchAsync, way_of(stream))
DISCARDS(cuMemDiscardBatchAsync_ptsz, way_of_per_thread(stream))
DECOMPRESS(cuMemBatchDecompressAsync, way_of(stream))
DECOMPRESS(cuMemBatchDecompressAsync_ptsz, way_of_per_thread(stream))
FABRIC(cuFabricCpyBatchAsync, way_of(stream))
FABRIC(cuFabricCpyBatchAsync_ptsz, way_of_per_thread(stream))

/* -- Words ------------------------------------------------------------------------------------ */

#define WRITE(symbol, way, word)                                                                 \
        ACCESSES(symbol, way, (CUstream stream, CUdeviceptr at, word value, unsigned int flags), \
                 (stream, at, value, flags))

WRITE(cuStreamWriteValue32, way_of(stream), cuuint32_t)
WRITE(cuStreamWriteValue32_ptsz, way_of_per_thread(stream), cuuint32_t)
WRITE(cuStreamWriteValue32_v2, way_of(stream), cuuint32_t)
WRITE(cuStreamWriteValue32_v2_ptsz, way_of_per_thread(stream), cuuint32_t)
WRITE(cuStreamWriteValue64, way_of(stream), cuuint64_t)
WRITE(cuStreamWriteValue64_ptsz, way_of_per_thread(stream), cuuint64_t)
WRITE(cuStreamWriteValue64_v2, way_of(stream), cuuint64_t)
WRITE(cuStreamWriteValue64_v2_ptsz, way_of_per_thread(stream), cuuint64_t)
