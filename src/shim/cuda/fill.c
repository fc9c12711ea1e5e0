/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills: they are work of the device's processors like a launch.
 */
#include "shim/cuda/hooks.h"
#include "shim/cuda/submit.h"
#include "shim/cuda/real.h"

#define FILL(symbol, submission, address, value, size)                      \
        SUBMITS(symbol, submission_alike(submission, sizeof(value), count), \
                (address at, value what, size count), (at, what, count))
#define FILL_ASYNC(symbol, submission, value)                                \
        SUBMITS(symbol, submission_alike(submission, sizeof(value), count),  \
                (CUdeviceptr at, value what, size_t count, CUstream stream), \
                (at, what, count, stream))
#define FILL_ROWS(symbol, submission, address, value, size)                                   \
        SUBMITS(symbol, submission_alike(submission, sizeof(value), (uint64_t)width *height), \
                (address at, size pitch, value what, size width, size height),                \
                (at, pitch, what, width, height))
#define FILL_ROWS_ASYNC(symbol, submission, value)                                            \
        SUBMITS(symbol, submission_alike(submission, sizeof(value), (uint64_t)width *height), \
                (CUdeviceptr at, size_t pitch, value what, size_t width, size_t height,       \
                 CUstream stream),                                                            \
                (at, pitch, what, width, height, stream))

/* All entry points of one width. */
#define FILLS(bits, value)                                                                       \
        FILL(cuMemsetD##bits, submission_to(NULL), CUdeviceptr_v1, value, unsigned)              \
        FILL(cuMemsetD##bits##_v2, submission_to(NULL), CUdeviceptr, value, size_t)              \
        FILL(cuMemsetD##bits##_v2_ptds, submission_per_thread(NULL), CUdeviceptr, value, size_t) \
        FILL_ASYNC(cuMemsetD##bits##Async, submission_to(stream), value)                         \
        FILL_ASYNC(cuMemsetD##bits##Async_ptsz, submission_per_thread(stream), value)            \
        FILL_ROWS(cuMemsetD2D##bits, submission_to(NULL), CUdeviceptr_v1, value, unsigned)       \
        FILL_ROWS(cuMemsetD2D##bits##_v2, submission_to(NULL), CUdeviceptr, value, size_t)       \
        FILL_ROWS(cuMemsetD2D##bits##_v2_ptds, submission_per_thread(NULL), CUdeviceptr, value,  \
                  size_t)                                                                        \
        FILL_ROWS_ASYNC(cuMemsetD2D##bits##Async, submission_to(stream), value)                  \
        FILL_ROWS_ASYNC(cuMemsetD2D##bits##Async_ptsz, submission_per_thread(stream), value)

FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned)
