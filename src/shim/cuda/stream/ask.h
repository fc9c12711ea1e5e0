/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking the driver about a stream, on the way of a call of the program's.
 *
 * All without leaving a trace in a capture that some thread is at: what would be refused then, or
 * end it, is asked with the thread relaxed. The program's own call sees the thread's own mode.
 */
#ifndef ALIQUOT_SHIM_CUDA_STREAM_ASK_H
#define ALIQUOT_SHIM_CUDA_STREAM_ASK_H

#include <stdbool.h>

#include "abi/cuda.h"

struct relaxed {
        bool is_relaxed;
        CUstreamCaptureMode mode; /* the thread's own */
};

struct relaxed relax(void);
void unrelax(struct relaxed was);

/* Relaxed to the end of the block:
 *
 *      scoped_relaxed struct relaxed was = relax();
 */
#define scoped_relaxed __attribute__((unused, cleanup(relaxed_end)))

static inline void relaxed_end(const struct relaxed *was)
{
        unrelax(*was);
}

/* True also where the driver does not say. */
bool may_be_capturing(CUstream stream);

/* The stream's own, else the thread's; NULL: there is none. */
CUcontext context_of_stream(CUstream stream);

#endif
