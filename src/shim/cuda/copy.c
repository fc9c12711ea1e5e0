/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies. Those within a device are work of its processors like a launch, whichever call they come
 * by: a call that may hide where its ends are has the driver asked, unless nothing of the thread is
 * counted anyway.
 *
 * Copies to and from the host and between devices are not: they wait while the session is held.
 */
#include "shim/cuda/access.h"
#include "shim/cuda/copy_ends.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/submit.h"
#include "shim/cuda/real.h"
#include "shim/cuda/told.h"

/* Copies of about the same size take about as long. */
#define OF_SIZE(submission, count) submission_alike(submission, 0, count)

/* -- Always ----------------------------------------------------------------------------------- */

/* Arrays have no calls with a stream for these. */
#define INTO_ARRAY(symbol, submission, address, size) \
        SUBMITS(symbol, OF_SIZE(submission, count),   \
                (CUarray to, size at, address from, size count), (to, at, from, count))
#define OUT_OF_ARRAY(symbol, submission, address, size) \
        SUBMITS(symbol, OF_SIZE(submission, count),     \
                (address to, CUarray from, size at, size count), (to, from, at, count))
#define BETWEEN_ARRAYS(symbol, submission, size)                             \
        SUBMITS(symbol, OF_SIZE(submission, count),                          \
                (CUarray to, size to_at, CUarray from, size at, size count), \
                (to, to_at, from, at, count))

INTO_ARRAY(cuMemcpyDtoA, submission_to(NULL), CUdeviceptr_v1, unsigned)
INTO_ARRAY(cuMemcpyDtoA_v2, submission_to(NULL), CUdeviceptr, size_t)
INTO_ARRAY(cuMemcpyDtoA_v2_ptds, submission_per_thread(NULL), CUdeviceptr, size_t)
OUT_OF_ARRAY(cuMemcpyAtoD, submission_to(NULL), CUdeviceptr_v1, unsigned)
OUT_OF_ARRAY(cuMemcpyAtoD_v2, submission_to(NULL), CUdeviceptr, size_t)
OUT_OF_ARRAY(cuMemcpyAtoD_v2_ptds, submission_per_thread(NULL), CUdeviceptr, size_t)
BETWEEN_ARRAYS(cuMemcpyAtoA, submission_to(NULL), unsigned)
BETWEEN_ARRAYS(cuMemcpyAtoA_v2, submission_to(NULL), size_t)
BETWEEN_ARRAYS(cuMemcpyAtoA_v2_ptds, submission_per_thread(NULL), size_t)

/* -- As it comes ------------------------------------------------------------------------------ */

/* Of one that is work of the processors, and of one that is not, which waits while the session is
 * held. `is_within` may ask the driver; `over_link` is what is left to do of the latter. */
#define COPY_BY(symbol, submission, is_within, parameters, arguments, over_link)           \
        CUresult hook_##symbol parameters                                                  \
        {                                                                                  \
                if (!credit_is_free_still(&credit_here) && front_is_on() && (is_within)) { \
                        submission_begin(submission);                                      \
                        return submission_end(real.symbol arguments);                      \
                }                                                                          \
                access_begin();                                                            \
                access_in((submission).stream);                                            \
                over_link                                                                  \
        }

#define COPY(symbol, submission, is_within, parameters, arguments)    \
        COPY_BY(symbol, submission, is_within, parameters, arguments, \
                return access_end(real.symbol arguments);)

/* One to the host that returns when it is done: so is all that was in its stream. */
#define COPY_AND_WAIT(symbol, submission, is_within, parameters, arguments) \
        COPY_BY(symbol, submission, is_within, parameters, arguments,       \
                struct told told = told_begin();                            \
                return told_by(&told, count ? (submission).stream : NULL,   \
                               access_end(real.symbol arguments));)

/* NULL: there was nothing to copy, and nothing was waited for. */
static CUresult told_by(const struct told *told, CUstream stream, CUresult rc)
{
        told_end(told, stream, rc);
        return rc;
}

#define UNIFIED(to, from) copy_is_within(copy_unified(to), copy_unified(from))

#define COPY_ANY(symbol, submission)                                \
        COPY(symbol, OF_SIZE(submission, count), UNIFIED(to, from), \
             (CUdeviceptr to, CUdeviceptr from, size_t count), (to, from, count))
#define COPY_ANY_ASYNC(symbol, submission)                                      \
        COPY(symbol, OF_SIZE(submission, count), UNIFIED(to, from),             \
             (CUdeviceptr to, CUdeviceptr from, size_t count, CUstream stream), \
             (to, from, count, stream))
#define COPY_TOLD(symbol, submission)                                                   \
        COPY(symbol, OF_SIZE(submission, count), UNIFIED(to, from),                     \
             (CUdeviceptr to, CUdeviceptr from, size_t count, CUmemcpyAttributes * how, \
              CUstream stream),                                                         \
             (to, from, count, how, stream))

COPY_ANY(cuMemcpy, submission_to(NULL))
COPY_ANY(cuMemcpy_ptds, submission_per_thread(NULL))
COPY_ANY_ASYNC(cuMemcpyAsync, submission_to(stream))
COPY_ANY_ASYNC(cuMemcpyAsync_ptsz, submission_per_thread(stream))
COPY_TOLD(cuMemcpyWithAttributesAsync, submission_to(stream))
COPY_TOLD(cuMemcpyWithAttributesAsync_ptsz, submission_per_thread(stream))

/* A device's to a device's, which may be two. */
#define DEVICES(to, from) copy_is_within(copy_on_device(to), copy_on_device(from))

#define WITHIN(symbol, submission, address, size)                   \
        COPY(symbol, OF_SIZE(submission, count), DEVICES(to, from), \
             (address to, address from, size count), (to, from, count))
#define WITHIN_ASYNC(symbol, submission, address, size)             \
        COPY(symbol, OF_SIZE(submission, count), DEVICES(to, from), \
             (address to, address from, size count, CUstream stream), (to, from, count, stream))

WITHIN(cuMemcpyDtoD, submission_to(NULL), CUdeviceptr_v1, unsigned)
WITHIN(cuMemcpyDtoD_v2, submission_to(NULL), CUdeviceptr, size_t)
WITHIN(cuMemcpyDtoD_v2_ptds, submission_per_thread(NULL), CUdeviceptr, size_t)
WITHIN_ASYNC(cuMemcpyDtoDAsync, submission_to(stream), CUdeviceptr_v1, unsigned)
WITHIN_ASYNC(cuMemcpyDtoDAsync_v2, submission_to(stream), CUdeviceptr, size_t)
WITHIN_ASYNC(cuMemcpyDtoDAsync_v2_ptsz, submission_per_thread(stream), CUdeviceptr, size_t)

#define BOX(copy) ((copy) && copy_is_within(copy_end_of(copy, dst), copy_end_of(copy, src)))

#define COPY_BOX(symbol, submission, box) \
        COPY(symbol, submission, BOX(copy), (const box *copy), (copy))
#define COPY_BOX_ASYNC(symbol, submission, box) \
        COPY(symbol, submission, BOX(copy), (const box *copy, CUstream stream), (copy, stream))

COPY_BOX(cuMemcpy2D, submission_to(NULL), CUDA_MEMCPY2D_v1)
COPY_BOX(cuMemcpy2D_v2, submission_to(NULL), CUDA_MEMCPY2D)
COPY_BOX(cuMemcpy2D_v2_ptds, submission_per_thread(NULL), CUDA_MEMCPY2D)
COPY_BOX(cuMemcpy2DUnaligned, submission_to(NULL), CUDA_MEMCPY2D_v1)
COPY_BOX(cuMemcpy2DUnaligned_v2, submission_to(NULL), CUDA_MEMCPY2D)
COPY_BOX(cuMemcpy2DUnaligned_v2_ptds, submission_per_thread(NULL), CUDA_MEMCPY2D)
COPY_BOX(cuMemcpy3D, submission_to(NULL), CUDA_MEMCPY3D_v1)
COPY_BOX(cuMemcpy3D_v2, submission_to(NULL), CUDA_MEMCPY3D)
COPY_BOX(cuMemcpy3D_v2_ptds, submission_per_thread(NULL), CUDA_MEMCPY3D)
COPY_BOX_ASYNC(cuMemcpy2DAsync, submission_to(stream), CUDA_MEMCPY2D_v1)
COPY_BOX_ASYNC(cuMemcpy2DAsync_v2, submission_to(stream), CUDA_MEMCPY2D)
COPY_BOX_ASYNC(cuMemcpy2DAsync_v2_ptsz, submission_per_thread(stream), CUDA_MEMCPY2D)
COPY_BOX_ASYNC(cuMemcpy3DAsync, submission_to(stream), CUDA_MEMCPY3D_v1)
COPY_BOX_ASYNC(cuMemcpy3DAsync_v2, submission_to(stream), CUDA_MEMCPY3D)
COPY_BOX_ASYNC(cuMemcpy3DAsync_v2_ptsz, submission_per_thread(stream), CUDA_MEMCPY3D)

/* Of the host's memory, as they say. */
#define INTO(end, from) copy_is_within(end, copy_on_host(from))
#define OUT_OF(end, to) copy_is_within(copy_on_host(to), end)

#define HOST_TO_DEVICE(symbol, submission, address, size)                        \
        COPY(symbol, OF_SIZE(submission, count), INTO(copy_on_device(to), from), \
             (address to, const void *from, size count), (to, from, count))
#define HOST_TO_DEVICE_ASYNC(symbol, submission, address, size)                  \
        COPY(symbol, OF_SIZE(submission, count), INTO(copy_on_device(to), from), \
             (address to, const void *from, size count, CUstream stream),        \
             (to, from, count, stream))
#define DEVICE_TO_HOST(symbol, submission, address, size)                                   \
        COPY_AND_WAIT(symbol, OF_SIZE(submission, count), OUT_OF(copy_on_device(from), to), \
                      (void *to, address from, size count), (to, from, count))
#define DEVICE_TO_HOST_ASYNC(symbol, submission, address, size)                    \
        COPY(symbol, OF_SIZE(submission, count), OUT_OF(copy_on_device(from), to), \
             (void *to, address from, size count, CUstream stream), (to, from, count, stream))
#define HOST_TO_ARRAY(symbol, submission, size)                               \
        COPY(symbol, OF_SIZE(submission, count), INTO(copy_in_array(), from), \
             (CUarray to, size at, const void *from, size count), (to, at, from, count))
#define HOST_TO_ARRAY_ASYNC(symbol, submission, size)                              \
        COPY(symbol, OF_SIZE(submission, count), INTO(copy_in_array(), from),      \
             (CUarray to, size at, const void *from, size count, CUstream stream), \
             (to, at, from, count, stream))
#define ARRAY_TO_HOST(symbol, submission, size)                                        \
        COPY_AND_WAIT(symbol, OF_SIZE(submission, count), OUT_OF(copy_in_array(), to), \
                      (void *to, CUarray from, size at, size count), (to, from, at, count))
#define ARRAY_TO_HOST_ASYNC(symbol, submission, size)                         \
        COPY(symbol, OF_SIZE(submission, count), OUT_OF(copy_in_array(), to), \
             (void *to, CUarray from, size at, size count, CUstream stream),  \
             (to, from, at, count, stream))

HOST_TO_DEVICE(cuMemcpyHtoD, submission_to(NULL), CUdeviceptr_v1, unsigned)
HOST_TO_DEVICE(cuMemcpyHtoD_v2, submission_to(NULL), CUdeviceptr, size_t)
HOST_TO_DEVICE(cuMemcpyHtoD_v2_ptds, submission_per_thread(NULL), CUdeviceptr, size_t)
HOST_TO_DEVICE_ASYNC(cuMemcpyHtoDAsync, submission_to(stream), CUdeviceptr_v1, unsigned)
HOST_TO_DEVICE_ASYNC(cuMemcpyHtoDAsync_v2, submission_to(stream), CUdeviceptr, size_t)
HOST_TO_DEVICE_ASYNC(cuMemcpyHtoDAsync_v2_ptsz, submission_per_thread(stream), CUdeviceptr, size_t)
DEVICE_TO_HOST(cuMemcpyDtoH, submission_to(NULL), CUdeviceptr_v1, unsigned)
DEVICE_TO_HOST(cuMemcpyDtoH_v2, submission_to(NULL), CUdeviceptr, size_t)
DEVICE_TO_HOST(cuMemcpyDtoH_v2_ptds, submission_per_thread(NULL), CUdeviceptr, size_t)
DEVICE_TO_HOST_ASYNC(cuMemcpyDtoHAsync, submission_to(stream), CUdeviceptr_v1, unsigned)
DEVICE_TO_HOST_ASYNC(cuMemcpyDtoHAsync_v2, submission_to(stream), CUdeviceptr, size_t)
DEVICE_TO_HOST_ASYNC(cuMemcpyDtoHAsync_v2_ptsz, submission_per_thread(stream), CUdeviceptr, size_t)
HOST_TO_ARRAY(cuMemcpyHtoA, submission_to(NULL), unsigned)
HOST_TO_ARRAY(cuMemcpyHtoA_v2, submission_to(NULL), size_t)
HOST_TO_ARRAY(cuMemcpyHtoA_v2_ptds, submission_per_thread(NULL), size_t)
HOST_TO_ARRAY_ASYNC(cuMemcpyHtoAAsync, submission_to(stream), unsigned)
HOST_TO_ARRAY_ASYNC(cuMemcpyHtoAAsync_v2, submission_to(stream), size_t)
HOST_TO_ARRAY_ASYNC(cuMemcpyHtoAAsync_v2_ptsz, submission_per_thread(stream), size_t)
ARRAY_TO_HOST(cuMemcpyAtoH, submission_to(NULL), unsigned)
ARRAY_TO_HOST(cuMemcpyAtoH_v2, submission_to(NULL), size_t)
ARRAY_TO_HOST(cuMemcpyAtoH_v2_ptds, submission_per_thread(NULL), size_t)
ARRAY_TO_HOST_ASYNC(cuMemcpyAtoHAsync, submission_to(stream), unsigned)
ARRAY_TO_HOST_ASYNC(cuMemcpyAtoHAsync_v2, submission_to(stream), size_t)
ARRAY_TO_HOST_ASYNC(cuMemcpyAtoHAsync_v2_ptsz, submission_per_thread(stream), size_t)

/* Between two contexts, which may be of one device. */
#define COPY_PEER(symbol, submission)                                                             \
        COPY(symbol, OF_SIZE(submission, count), copy_is_of_one_device(to_context, from_context), \
             (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,     \
              size_t count),                                                                      \
             (to, to_context, from, from_context, count))
#define COPY_PEER_ASYNC(symbol, submission)                                                       \
        COPY(symbol, OF_SIZE(submission, count), copy_is_of_one_device(to_context, from_context), \
             (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,     \
              size_t count, CUstream stream),                                                     \
             (to, to_context, from, from_context, count, stream))
#define COPY_PEER_BOX(symbol, submission)                                                     \
        COPY(symbol, submission, copy_peer_is_within(copy), (const CUDA_MEMCPY3D_PEER *copy), \
             (copy))
#define COPY_PEER_BOX_ASYNC(symbol, submission)             \
        COPY(symbol, submission, copy_peer_is_within(copy), \
             (const CUDA_MEMCPY3D_PEER *copy, CUstream stream), (copy, stream))

COPY_PEER(cuMemcpyPeer, submission_to(NULL))
COPY_PEER(cuMemcpyPeer_ptds, submission_per_thread(NULL))
COPY_PEER_ASYNC(cuMemcpyPeerAsync, submission_to(stream))
COPY_PEER_ASYNC(cuMemcpyPeerAsync_ptsz, submission_per_thread(stream))
COPY_PEER_BOX(cuMemcpy3DPeer, submission_to(NULL))
COPY_PEER_BOX(cuMemcpy3DPeer_ptds, submission_per_thread(NULL))
COPY_PEER_BOX_ASYNC(cuMemcpy3DPeerAsync, submission_to(stream))
COPY_PEER_BOX_ASYNC(cuMemcpy3DPeerAsync_ptsz, submission_per_thread(stream))

/* A batch is one submission, however long. */
#define COPY_BATCH(symbol, submission)                                                    \
        COPY(symbol, submission, copy_any_is_within(to, from, count),                     \
             (CUdeviceptr * to, CUdeviceptr * from, size_t * sizes, size_t count,         \
              CUmemcpyAttributes * how, size_t * first, size_t hows, size_t * ret_failed, \
              CUstream stream),                                                           \
             (to, from, sizes, count, how, first, hows, ret_failed, stream))
#define COPY_BATCH_V2(symbol, submission)                                              \
        COPY(symbol, submission, copy_any_is_within(to, from, count),                  \
             (CUdeviceptr * to, CUdeviceptr * from, size_t * sizes, size_t count,      \
              CUmemcpyAttributes * how, size_t * first, size_t hows, CUstream stream), \
             (to, from, sizes, count, how, first, hows, stream))
#define COPY_BOXES(symbol, submission)                                          \
        COPY(symbol, submission, copy_any_box_is_within(list, count),           \
             (size_t count, CUDA_MEMCPY3D_BATCH_OP * list, size_t * ret_failed, \
              unsigned long long flags, CUstream stream),                       \
             (count, list, ret_failed, flags, stream))
#define COPY_BOXES_V2(symbol, submission)                                            \
        COPY(symbol, submission, copy_any_box_is_within(list, count),                \
             (size_t count, CUDA_MEMCPY3D_BATCH_OP * list, unsigned long long flags, \
              CUstream stream),                                                      \
             (count, list, flags, stream))
#define COPY_BOX_TOLD(symbol, submission)                                                \
        COPY(symbol, submission, copy_any_box_is_within(copy, 1),                        \
             (CUDA_MEMCPY3D_BATCH_OP * copy, unsigned long long flags, CUstream stream), \
             (copy, flags, stream))

COPY_BATCH(cuMemcpyBatchAsync, submission_to(stream))
COPY_BATCH(cuMemcpyBatchAsync_ptsz, submission_per_thread(stream))
COPY_BATCH_V2(cuMemcpyBatchAsync_v2, submission_to(stream))
COPY_BATCH_V2(cuMemcpyBatchAsync_v2_ptsz, submission_per_thread(stream))
COPY_BOXES(cuMemcpy3DBatchAsync, submission_to(stream))
COPY_BOXES(cuMemcpy3DBatchAsync_ptsz, submission_per_thread(stream))
COPY_BOXES_V2(cuMemcpy3DBatchAsync_v2, submission_to(stream))
COPY_BOXES_V2(cuMemcpy3DBatchAsync_v2_ptsz, submission_per_thread(stream))
COPY_BOX_TOLD(cuMemcpy3DWithAttributesAsync, submission_to(stream))
COPY_BOX_TOLD(cuMemcpy3DWithAttributesAsync_ptsz, submission_per_thread(stream))
