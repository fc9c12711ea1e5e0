/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits of the program that show that a stream is empty, so that the driver need not be asked.
 *
 *      struct told told = told_begin();
 *      rc = ... the call, which returns when all earlier work of the stream has completed ...
 *      told_end(&told, stream, rc);
 */
#ifndef ALIQUOT_SHIM_CUDA_STREAM_TOLD_H
#define ALIQUOT_SHIM_CUDA_STREAM_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

struct time_device;

struct told {
        uint64_t began_ns; /* 0: nothing of this thread is metered */
        struct time_device *device;
};

struct told told_begin(void);

/* Means every stream of the current context. */
#define TOLD_CONTEXT ((CUstream)-1)

/* Whether the wait succeeded and a session is billed for the work. */
bool told_is_over(const struct told *told, CUresult rc);

/* With CUDA_SUCCESS, the stream (default stream resolved), or the context (TOLD_CONTEXT), has
 * completed all its work. NULL: unknown what the call waited for. */
void told_end(const struct told *told, CUstream stream, CUresult rc);

#endif
