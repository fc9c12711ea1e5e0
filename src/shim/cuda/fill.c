/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills, and copies within a device: they are work of its processors like a launch.
 *
 * Copies to and from the host and between devices are not: they wait while the session is held,
 * and time in which a stream only copies is not counted, see copy_note().
 */
#include "interpose/gate.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/launch.h"
#include "shim/cuda/real.h"

#define FILL(symbol, way, address, value, size) \
        LAUNCH_HOOK(symbol, way, (address at, value what, size count), (at, what, count))
#define FILL_ASYNC(symbol, way, value)                                                        \
        LAUNCH_HOOK(symbol, way, (CUdeviceptr at, value what, size_t count, CUstream stream), \
                    (at, what, count, stream))
#define FILL_ROWS(symbol, way, address, value, size)                                            \
        LAUNCH_HOOK(symbol, way, (address at, size pitch, value what, size width, size height), \
                    (at, pitch, what, width, height))
#define FILL_ROWS_ASYNC(symbol, way, value)                                                 \
        LAUNCH_HOOK(symbol, way,                                                            \
                    (CUdeviceptr at, size_t pitch, value what, size_t width, size_t height, \
                     CUstream stream),                                                      \
                    (at, pitch, what, width, height, stream))

/* All entry points of one width. */
#define FILLS(bits, value)                                                                         \
        FILL(cuMemsetD##bits, way_of(NULL, NULL), CUdeviceptr_v1, value, unsigned)                 \
        FILL(cuMemsetD##bits##_v2, way_of(NULL, NULL), CUdeviceptr, value, size_t)                 \
        FILL(cuMemsetD##bits##_v2_ptds, way_of_per_thread(NULL, NULL), CUdeviceptr, value, size_t) \
        FILL_ASYNC(cuMemsetD##bits##Async, way_of(stream, NULL), value)                            \
        FILL_ASYNC(cuMemsetD##bits##Async_ptsz, way_of_per_thread(stream, NULL), value)            \
        FILL_ROWS(cuMemsetD2D##bits, way_of(NULL, NULL), CUdeviceptr_v1, value, unsigned)          \
        FILL_ROWS(cuMemsetD2D##bits##_v2, way_of(NULL, NULL), CUdeviceptr, value, size_t)          \
        FILL_ROWS(cuMemsetD2D##bits##_v2_ptds, way_of_per_thread(NULL, NULL), CUdeviceptr, value,  \
                  size_t)                                                                          \
        FILL_ROWS_ASYNC(cuMemsetD2D##bits##Async, way_of(stream, NULL), value)                     \
        FILL_ROWS_ASYNC(cuMemsetD2D##bits##Async_ptsz, way_of_per_thread(stream, NULL), value)

FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned)

#define WITHIN(symbol, way, address, size) \
        LAUNCH_HOOK(symbol, way, (address to, address from, size count), (to, from, count))
#define WITHIN_ASYNC(symbol, way, address, size)                                          \
        LAUNCH_HOOK(symbol, way, (address to, address from, size count, CUstream stream), \
                    (to, from, count, stream))

WITHIN(cuMemcpyDtoD, way_of(NULL, NULL), CUdeviceptr_v1, unsigned)
WITHIN(cuMemcpyDtoD_v2, way_of(NULL, NULL), CUdeviceptr, size_t)
WITHIN(cuMemcpyDtoD_v2_ptds, way_of_per_thread(NULL, NULL), CUdeviceptr, size_t)
WITHIN_ASYNC(cuMemcpyDtoDAsync, way_of(stream, NULL), CUdeviceptr_v1, unsigned)
WITHIN_ASYNC(cuMemcpyDtoDAsync_v2, way_of(stream, NULL), CUdeviceptr, size_t)
WITHIN_ASYNC(cuMemcpyDtoDAsync_v2_ptsz, way_of_per_thread(stream, NULL), CUdeviceptr, size_t)

/* What stands between two launches is not theirs: the next one begins anew. A copy in another
 * stream than that of the thread's last launch costs a marker, no more. */
static void copy_note(void)
{
        gate_pass();
        if (!credit_here.is_any) {
                credit_stop(&credit_here);
                credit_here.is_broken = true;
        }
}

#define COPY(symbol, parameters, arguments)   \
        CUresult hook_##symbol parameters     \
        {                                     \
                copy_note();                  \
                return real.symbol arguments; \
        }
#define COPY_TO(symbol, address, size)                                            \
        COPY(symbol, (address to, const void *from, size count, CUstream stream), \
             (to, from, count, stream))
#define COPY_FROM(symbol, address, size)                                    \
        COPY(symbol, (void *to, address from, size count, CUstream stream), \
             (to, from, count, stream))
#define COPY_ANY(symbol)                                                                \
        COPY(symbol, (CUdeviceptr to, CUdeviceptr from, size_t count, CUstream stream), \
             (to, from, count, stream))
#define COPY_TOLD(symbol)                                                               \
        COPY(symbol,                                                                    \
             (CUdeviceptr to, CUdeviceptr from, size_t count, CUmemcpyAttributes * how, \
              CUstream stream),                                                         \
             (to, from, count, how, stream))
#define COPY_BOX_TOLD(symbol)                                                                    \
        COPY(symbol, (CUDA_MEMCPY3D_BATCH_OP * copy, unsigned long long flags, CUstream stream), \
             (copy, flags, stream))
#define COPY_BOX(symbol, box) COPY(symbol, (const box *copy, CUstream stream), (copy, stream))

COPY_TO(cuMemcpyHtoDAsync, CUdeviceptr_v1, unsigned)
COPY_TO(cuMemcpyHtoDAsync_v2, CUdeviceptr, size_t)
COPY_TO(cuMemcpyHtoDAsync_v2_ptsz, CUdeviceptr, size_t)
COPY_FROM(cuMemcpyDtoHAsync, CUdeviceptr_v1, unsigned)
COPY_FROM(cuMemcpyDtoHAsync_v2, CUdeviceptr, size_t)
COPY_FROM(cuMemcpyDtoHAsync_v2_ptsz, CUdeviceptr, size_t)
COPY_ANY(cuMemcpyAsync)
COPY_ANY(cuMemcpyAsync_ptsz)
COPY_BOX(cuMemcpy2DAsync, CUDA_MEMCPY2D_v1)
COPY_BOX(cuMemcpy2DAsync_v2, CUDA_MEMCPY2D)
COPY_BOX(cuMemcpy2DAsync_v2_ptsz, CUDA_MEMCPY2D)
COPY_BOX(cuMemcpy3DAsync, CUDA_MEMCPY3D_v1)
COPY_BOX(cuMemcpy3DAsync_v2, CUDA_MEMCPY3D)
COPY_BOX(cuMemcpy3DAsync_v2_ptsz, CUDA_MEMCPY3D)
COPY_TOLD(cuMemcpyWithAttributesAsync)
COPY_TOLD(cuMemcpyWithAttributesAsync_ptsz)
COPY_BOX_TOLD(cuMemcpy3DWithAttributesAsync)
COPY_BOX_TOLD(cuMemcpy3DWithAttributesAsync_ptsz)
