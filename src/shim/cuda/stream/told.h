/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits by which the program itself learns that a stream is empty: nobody need ask the driver.
 *
 *      struct told told = told_begin();
 *      rc = ... the call, which returns when all is done that was in the stream ...
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

/* Stands for every stream of the current context. */
#define TOLD_CONTEXT ((CUstream)-1)

/* What was waited for is over, and somebody is billed for it. */
bool told_is_over(const struct told *told, CUresult rc);

/* With CUDA_SUCCESS the stream, with the default one spelt out, or the context (TOLD_CONTEXT), has
 * done all that it was given. NULL: it is not known what was waited for. */
void told_end(const struct told *told, CUstream stream, CUresult rc);

#endif
