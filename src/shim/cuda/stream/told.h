/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learns from the program's own waits that a stream is empty, so that the driver need not be asked.
 *
 *      struct told told = told_begin();
 *      rc = ... a call that returns when all earlier work of the stream has completed ...
 *      told_end(&told, stream, rc);
 */
#ifndef ALIQUOT_SHIM_CUDA_STREAM_TOLD_H
#define ALIQUOT_SHIM_CUDA_STREAM_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

struct time_device;

struct told {
        uint64_t began_ns; /* when the wait began; 0: no work of this thread is metered */
        /* The device for whose work the thread waits (wait_blocks()); NULL: none. */
        struct time_device *device;
};

struct told told_begin(void);

/* Stands for all streams of the current context. */
#define TOLD_CONTEXT ((CUstream)-1)

/* Whether the wait succeeded and work of this thread is metered. */
bool told_is_over(const struct told *told, CUresult rc);

/* Notes the end of the wait. If `rc` is CUDA_SUCCESS, all work of the stream has completed, or for
 * TOLD_CONTEXT all work of the current context. `stream` is CU_STREAM_LEGACY or
 * CU_STREAM_PER_THREAD for a default stream; NULL: it is unknown what the call waited for. */
void told_end(const struct told *told, CUstream stream, CUresult rc);

#endif
