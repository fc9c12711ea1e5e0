/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies. Those within a device are work of its processors like a launch, whichever call they come
 * by: a call that may hide where its ends are has the driver asked, unless nothing of the thread is
 * counted anyway.
 *
 * Copies to and from the host and between devices are not: they wait while the session is held,
 * and time in which a stream only copies is not counted (pause.h).
 */
#include "interpose/gate.h"
#include "shim/cuda/burst.h"
#include "shim/cuda/copy_ends.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/launch.h"
#include "shim/cuda/pause.h"
#include "shim/cuda/real.h"

/* -- Always ----------------------------------------------------------------------------------- */

/* Arrays have no calls with a stream for these. */
#define INTO_ARRAY(symbol, way, address, size)                                    \
        LAUNCH_HOOK(symbol, way, (CUarray to, size at, address from, size count), \
                    (to, at, from, count))
#define OUT_OF_ARRAY(symbol, way, address, size)                                  \
        LAUNCH_HOOK(symbol, way, (address to, CUarray from, size at, size count), \
                    (to, from, at, count))
#define BETWEEN_ARRAYS(symbol, way, size)                                                     \
        LAUNCH_HOOK(symbol, way, (CUarray to, size to_at, CUarray from, size at, size count), \
                    (to, to_at, from, at, count))

INTO_ARRAY(cuMemcpyDtoA, way_of(NULL, NULL), CUdeviceptr_v1, unsigned)
INTO_ARRAY(cuMemcpyDtoA_v2, way_of(NULL, NULL), CUdeviceptr, size_t)
INTO_ARRAY(cuMemcpyDtoA_v2_ptds, way_of_per_thread(NULL, NULL), CUdeviceptr, size_t)
OUT_OF_ARRAY(cuMemcpyAtoD, way_of(NULL, NULL), CUdeviceptr_v1, unsigned)
OUT_OF_ARRAY(cuMemcpyAtoD_v2, way_of(NULL, NULL), CUdeviceptr, size_t)
OUT_OF_ARRAY(cuMemcpyAtoD_v2_ptds, way_of_per_thread(NULL, NULL), CUdeviceptr, size_t)
BETWEEN_ARRAYS(cuMemcpyAtoA, way_of(NULL, NULL), unsigned)
BETWEEN_ARRAYS(cuMemcpyAtoA_v2, way_of(NULL, NULL), size_t)
BETWEEN_ARRAYS(cuMemcpyAtoA_v2_ptds, way_of_per_thread(NULL, NULL), size_t)

/* -- As it comes ------------------------------------------------------------------------------ */

/* Nothing of this thread is counted, and it may go on. */
static inline bool is_free(void)
{
        return credit_here.is_any && credit_spend(&credit_here, 0, 0);
}

/* Of one that is work of the processors, and of one that is not. */
struct copying {
        struct passage passage;
        struct pause pause;
};

static inline void copying_begin(struct copying *ret, const struct way *way, bool is_within,
                                 enum lane_break how)
{
        *ret = (struct copying){ 0 };
        if (!is_within) {
                if (how == LANE_WHOLE)
                        burst_end();
                gate_pass();
                if (how != LANE_WHOLE)
                        pause_begin(&ret->pause, way->stream, how);
        } else if (!credit_spend(&credit_here, way->key, 0)) {
                passage_begin(&ret->passage, way);
        }
}

static inline CUresult copying_end(struct copying *copying, CUresult rc)
{
        return passage_end(&copying->passage, pause_end(&copying->pause, rc));
}

/* `way_expression` and `is_within` as in LAUNCH_HOOK(), but that the latter may ask the driver;
 * `outside` is what one that is not does to its stream. */
#define COPY_OR(outside, symbol, way_expression, is_within, parameters, arguments)    \
        CUresult hook_##symbol parameters                                             \
        {                                                                             \
                struct way way = (way_expression);                                    \
                struct copying copying;                                               \
                                                                                      \
                if (is_free())                                                        \
                        return real.symbol arguments;                                 \
                copying_begin(&copying, &way, front_is_on() && (is_within), outside); \
                return copying_end(&copying, real.symbol arguments);                  \
        }
#define COPY(...) COPY_OR(LANE_BROKEN, __VA_ARGS__)

#define UNIFIED(to, from) copy_is_within(copy_unified(to), copy_unified(from))

#define COPY_ANY(symbol, way)                                                                  \
        COPY(symbol, way, UNIFIED(to, from), (CUdeviceptr to, CUdeviceptr from, size_t count), \
             (to, from, count))
#define COPY_ANY_ASYNC(symbol, way)                                             \
        COPY(symbol, way, UNIFIED(to, from),                                    \
             (CUdeviceptr to, CUdeviceptr from, size_t count, CUstream stream), \
             (to, from, count, stream))
#define COPY_TOLD(symbol, way)                                                          \
        COPY(symbol, way, UNIFIED(to, from),                                            \
             (CUdeviceptr to, CUdeviceptr from, size_t count, CUmemcpyAttributes * how, \
              CUstream stream),                                                         \
             (to, from, count, how, stream))

COPY_ANY(cuMemcpy, way_of(NULL, NULL))
COPY_ANY(cuMemcpy_ptds, way_of_per_thread(NULL, NULL))
COPY_ANY_ASYNC(cuMemcpyAsync, way_of(stream, NULL))
COPY_ANY_ASYNC(cuMemcpyAsync_ptsz, way_of_per_thread(stream, NULL))
COPY_TOLD(cuMemcpyWithAttributesAsync, way_of(stream, NULL))
COPY_TOLD(cuMemcpyWithAttributesAsync_ptsz, way_of_per_thread(stream, NULL))

/* A device's to a device's, which may be two. */
#define DEVICES(to, from) copy_is_within(copy_on_device(to), copy_on_device(from))

#define WITHIN(symbol, way, address, size)                                           \
        COPY(symbol, way, DEVICES(to, from), (address to, address from, size count), \
             (to, from, count))
#define WITHIN_ASYNC(symbol, way, address, size) \
        COPY(symbol, way, DEVICES(to, from),     \
             (address to, address from, size count, CUstream stream), (to, from, count, stream))

WITHIN(cuMemcpyDtoD, way_of(NULL, NULL), CUdeviceptr_v1, unsigned)
WITHIN(cuMemcpyDtoD_v2, way_of(NULL, NULL), CUdeviceptr, size_t)
WITHIN(cuMemcpyDtoD_v2_ptds, way_of_per_thread(NULL, NULL), CUdeviceptr, size_t)
WITHIN_ASYNC(cuMemcpyDtoDAsync, way_of(stream, NULL), CUdeviceptr_v1, unsigned)
WITHIN_ASYNC(cuMemcpyDtoDAsync_v2, way_of(stream, NULL), CUdeviceptr, size_t)
WITHIN_ASYNC(cuMemcpyDtoDAsync_v2_ptsz, way_of_per_thread(stream, NULL), CUdeviceptr, size_t)

#define BOX(copy) ((copy) && copy_is_within(copy_end_of(copy, dst), copy_end_of(copy, src)))

#define COPY_BOX(symbol, way, box) COPY(symbol, way, BOX(copy), (const box *copy), (copy))
#define COPY_BOX_ASYNC(symbol, way, box) \
        COPY(symbol, way, BOX(copy), (const box *copy, CUstream stream), (copy, stream))

COPY_BOX(cuMemcpy2D, way_of(NULL, NULL), CUDA_MEMCPY2D_v1)
COPY_BOX(cuMemcpy2D_v2, way_of(NULL, NULL), CUDA_MEMCPY2D)
COPY_BOX(cuMemcpy2D_v2_ptds, way_of_per_thread(NULL, NULL), CUDA_MEMCPY2D)
COPY_BOX(cuMemcpy2DUnaligned, way_of(NULL, NULL), CUDA_MEMCPY2D_v1)
COPY_BOX(cuMemcpy2DUnaligned_v2, way_of(NULL, NULL), CUDA_MEMCPY2D)
COPY_BOX(cuMemcpy2DUnaligned_v2_ptds, way_of_per_thread(NULL, NULL), CUDA_MEMCPY2D)
COPY_BOX(cuMemcpy3D, way_of(NULL, NULL), CUDA_MEMCPY3D_v1)
COPY_BOX(cuMemcpy3D_v2, way_of(NULL, NULL), CUDA_MEMCPY3D)
COPY_BOX(cuMemcpy3D_v2_ptds, way_of_per_thread(NULL, NULL), CUDA_MEMCPY3D)
COPY_BOX_ASYNC(cuMemcpy2DAsync, way_of(stream, NULL), CUDA_MEMCPY2D_v1)
COPY_BOX_ASYNC(cuMemcpy2DAsync_v2, way_of(stream, NULL), CUDA_MEMCPY2D)
COPY_BOX_ASYNC(cuMemcpy2DAsync_v2_ptsz, way_of_per_thread(stream, NULL), CUDA_MEMCPY2D)
COPY_BOX_ASYNC(cuMemcpy3DAsync, way_of(stream, NULL), CUDA_MEMCPY3D_v1)
COPY_BOX_ASYNC(cuMemcpy3DAsync_v2, way_of(stream, NULL), CUDA_MEMCPY3D)
COPY_BOX_ASYNC(cuMemcpy3DAsync_v2_ptsz, way_of_per_thread(stream, NULL), CUDA_MEMCPY3D)

/* Of the host's memory, as they say. Who waits for such a copy finds the stream idle anyway. */
#define COPY_WAITED(...) COPY_OR(LANE_WHOLE, __VA_ARGS__)

#define INTO(end, from) copy_is_within(end, copy_on_host(from))
#define OUT_OF(end, to) copy_is_within(copy_on_host(to), end)

#define HOST_TO_DEVICE(symbol, way, address, size)               \
        COPY_WAITED(symbol, way, INTO(copy_on_device(to), from), \
                    (address to, const void *from, size count), (to, from, count))
#define HOST_TO_DEVICE_ASYNC(symbol, way, address, size)                  \
        COPY(symbol, way, INTO(copy_on_device(to), from),                 \
             (address to, const void *from, size count, CUstream stream), \
             (to, from, count, stream))
#define DEVICE_TO_HOST(symbol, way, address, size)                 \
        COPY_WAITED(symbol, way, OUT_OF(copy_on_device(from), to), \
                    (void *to, address from, size count), (to, from, count))
#define DEVICE_TO_HOST_ASYNC(symbol, way, address, size)    \
        COPY(symbol, way, OUT_OF(copy_on_device(from), to), \
             (void *to, address from, size count, CUstream stream), (to, from, count, stream))
#define HOST_TO_ARRAY(symbol, way, size)                      \
        COPY_WAITED(symbol, way, INTO(copy_in_array(), from), \
                    (CUarray to, size at, const void *from, size count), (to, at, from, count))
#define HOST_TO_ARRAY_ASYNC(symbol, way, size)                                     \
        COPY(symbol, way, INTO(copy_in_array(), from),                             \
             (CUarray to, size at, const void *from, size count, CUstream stream), \
             (to, at, from, count, stream))
#define ARRAY_TO_HOST(symbol, way, size)                      \
        COPY_WAITED(symbol, way, OUT_OF(copy_in_array(), to), \
                    (void *to, CUarray from, size at, size count), (to, from, at, count))
#define ARRAY_TO_HOST_ASYNC(symbol, way, size)                               \
        COPY(symbol, way, OUT_OF(copy_in_array(), to),                       \
             (void *to, CUarray from, size at, size count, CUstream stream), \
             (to, from, at, count, stream))

HOST_TO_DEVICE(cuMemcpyHtoD, way_of(NULL, NULL), CUdeviceptr_v1, unsigned)
HOST_TO_DEVICE(cuMemcpyHtoD_v2, way_of(NULL, NULL), CUdeviceptr, size_t)
HOST_TO_DEVICE(cuMemcpyHtoD_v2_ptds, way_of_per_thread(NULL, NULL), CUdeviceptr, size_t)
HOST_TO_DEVICE_ASYNC(cuMemcpyHtoDAsync, way_of(stream, NULL), CUdeviceptr_v1, unsigned)
HOST_TO_DEVICE_ASYNC(cuMemcpyHtoDAsync_v2, way_of(stream, NULL), CUdeviceptr, size_t)
HOST_TO_DEVICE_ASYNC(cuMemcpyHtoDAsync_v2_ptsz, way_of_per_thread(stream, NULL), CUdeviceptr,
                     size_t)
DEVICE_TO_HOST(cuMemcpyDtoH, way_of(NULL, NULL), CUdeviceptr_v1, unsigned)
DEVICE_TO_HOST(cuMemcpyDtoH_v2, way_of(NULL, NULL), CUdeviceptr, size_t)
DEVICE_TO_HOST(cuMemcpyDtoH_v2_ptds, way_of_per_thread(NULL, NULL), CUdeviceptr, size_t)
DEVICE_TO_HOST_ASYNC(cuMemcpyDtoHAsync, way_of(stream, NULL), CUdeviceptr_v1, unsigned)
DEVICE_TO_HOST_ASYNC(cuMemcpyDtoHAsync_v2, way_of(stream, NULL), CUdeviceptr, size_t)
DEVICE_TO_HOST_ASYNC(cuMemcpyDtoHAsync_v2_ptsz, way_of_per_thread(stream, NULL), CUdeviceptr,
                     size_t)
HOST_TO_ARRAY(cuMemcpyHtoA, way_of(NULL, NULL), unsigned)
HOST_TO_ARRAY(cuMemcpyHtoA_v2, way_of(NULL, NULL), size_t)
HOST_TO_ARRAY(cuMemcpyHtoA_v2_ptds, way_of_per_thread(NULL, NULL), size_t)
HOST_TO_ARRAY_ASYNC(cuMemcpyHtoAAsync, way_of(stream, NULL), unsigned)
HOST_TO_ARRAY_ASYNC(cuMemcpyHtoAAsync_v2, way_of(stream, NULL), size_t)
HOST_TO_ARRAY_ASYNC(cuMemcpyHtoAAsync_v2_ptsz, way_of_per_thread(stream, NULL), size_t)
ARRAY_TO_HOST(cuMemcpyAtoH, way_of(NULL, NULL), unsigned)
ARRAY_TO_HOST(cuMemcpyAtoH_v2, way_of(NULL, NULL), size_t)
ARRAY_TO_HOST(cuMemcpyAtoH_v2_ptds, way_of_per_thread(NULL, NULL), size_t)
ARRAY_TO_HOST_ASYNC(cuMemcpyAtoHAsync, way_of(stream, NULL), unsigned)
ARRAY_TO_HOST_ASYNC(cuMemcpyAtoHAsync_v2, way_of(stream, NULL), size_t)
ARRAY_TO_HOST_ASYNC(cuMemcpyAtoHAsync_v2_ptsz, way_of_per_thread(stream, NULL), size_t)

/* Between two contexts, which may be of one device. */
#define COPY_PEER(symbol, way)                                                                \
        COPY(symbol, way, copy_is_of_one_device(to_context, from_context),                    \
             (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, \
              size_t count),                                                                  \
             (to, to_context, from, from_context, count))
#define COPY_PEER_ASYNC(symbol, way)                                                          \
        COPY(symbol, way, copy_is_of_one_device(to_context, from_context),                    \
             (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, \
              size_t count, CUstream stream),                                                 \
             (to, to_context, from, from_context, count, stream))
#define COPY_PEER_BOX(symbol, way) \
        COPY(symbol, way, copy_peer_is_within(copy), (const CUDA_MEMCPY3D_PEER *copy), (copy))
#define COPY_PEER_BOX_ASYNC(symbol, way)             \
        COPY(symbol, way, copy_peer_is_within(copy), \
             (const CUDA_MEMCPY3D_PEER *copy, CUstream stream), (copy, stream))

COPY_PEER(cuMemcpyPeer, way_of(NULL, NULL))
COPY_PEER(cuMemcpyPeer_ptds, way_of_per_thread(NULL, NULL))
COPY_PEER_ASYNC(cuMemcpyPeerAsync, way_of(stream, NULL))
COPY_PEER_ASYNC(cuMemcpyPeerAsync_ptsz, way_of_per_thread(stream, NULL))
COPY_PEER_BOX(cuMemcpy3DPeer, way_of(NULL, NULL))
COPY_PEER_BOX(cuMemcpy3DPeer_ptds, way_of_per_thread(NULL, NULL))
COPY_PEER_BOX_ASYNC(cuMemcpy3DPeerAsync, way_of(stream, NULL))
COPY_PEER_BOX_ASYNC(cuMemcpy3DPeerAsync_ptsz, way_of_per_thread(stream, NULL))

/* A batch is one piece of work, however long: none is let through ahead of its turn, and each is
 * measured alone, like a graph. Those of about as many copies have a cost together: their name is
 * no pointer. */
static inline struct way way_of_batch(struct way way, size_t copies)
{
        way.key = KEY_NEVER;
        way.what = 64 - (uint64_t)__builtin_clzll((unsigned long long)copies | 1);
        way.is_compound = true;
        return way;
}

#define BATCH way_of_batch(way_of(stream, NULL), count)
#define BATCH_PER_THREAD way_of_batch(way_of_per_thread(stream, NULL), count)

#define COPY_BATCH(symbol, way)                                                           \
        COPY(symbol, way, copy_any_is_within(to, from, count),                            \
             (CUdeviceptr * to, CUdeviceptr * from, size_t * sizes, size_t count,         \
              CUmemcpyAttributes * how, size_t * first, size_t hows, size_t * ret_failed, \
              CUstream stream),                                                           \
             (to, from, sizes, count, how, first, hows, ret_failed, stream))
#define COPY_BATCH_V2(symbol, way)                                                     \
        COPY(symbol, way, copy_any_is_within(to, from, count),                         \
             (CUdeviceptr * to, CUdeviceptr * from, size_t * sizes, size_t count,      \
              CUmemcpyAttributes * how, size_t * first, size_t hows, CUstream stream), \
             (to, from, sizes, count, how, first, hows, stream))
#define COPY_BOXES(symbol, way)                                                 \
        COPY(symbol, way, copy_any_box_is_within(list, count),                  \
             (size_t count, CUDA_MEMCPY3D_BATCH_OP * list, size_t * ret_failed, \
              unsigned long long flags, CUstream stream),                       \
             (count, list, ret_failed, flags, stream))
#define COPY_BOXES_V2(symbol, way)                                                   \
        COPY(symbol, way, copy_any_box_is_within(list, count),                       \
             (size_t count, CUDA_MEMCPY3D_BATCH_OP * list, unsigned long long flags, \
              CUstream stream),                                                      \
             (count, list, flags, stream))
#define COPY_BOX_TOLD(symbol, way)                                                       \
        COPY(symbol, way, copy_any_box_is_within(copy, 1),                               \
             (CUDA_MEMCPY3D_BATCH_OP * copy, unsigned long long flags, CUstream stream), \
             (copy, flags, stream))

COPY_BATCH(cuMemcpyBatchAsync, BATCH)
COPY_BATCH(cuMemcpyBatchAsync_ptsz, BATCH_PER_THREAD)
COPY_BATCH_V2(cuMemcpyBatchAsync_v2, BATCH)
COPY_BATCH_V2(cuMemcpyBatchAsync_v2_ptsz, BATCH_PER_THREAD)
COPY_BOXES(cuMemcpy3DBatchAsync, BATCH)
COPY_BOXES(cuMemcpy3DBatchAsync_ptsz, BATCH_PER_THREAD)
COPY_BOXES_V2(cuMemcpy3DBatchAsync_v2, BATCH)
COPY_BOXES_V2(cuMemcpy3DBatchAsync_v2_ptsz, BATCH_PER_THREAD)
COPY_BOX_TOLD(cuMemcpy3DWithAttributesAsync, way_of(stream, NULL))
COPY_BOX_TOLD(cuMemcpy3DWithAttributesAsync_ptsz, way_of_per_thread(stream, NULL))
