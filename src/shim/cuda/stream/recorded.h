/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that record into a command list of a graphics interface (cuStreamBeginCaptureToCig).
 *
 * Work in such a stream runs only when the graphics interface runs its command list. So, as in a
 * capture, Aliquot must not wait for the work, measure it, or put a marker into the stream. But it
 * is not documented that cuStreamIsCapturing reports such a stream. A stream is identified by its
 * id, which is never reused.
 */
#ifndef ALIQUOT_SHIM_CUDA_STREAM_RECORDED_H
#define ALIQUOT_SHIM_CUDA_STREAM_RECORDED_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

/* Parts of hooks that gen-api makes from cuda.api. In all of them, `stream` is CU_STREAM_LEGACY or
 * CU_STREAM_PER_THREAD for a default stream. stream_record() begins a recording with the driver's
 * function `driver`; `given` is the stream as the program gave it. */
CUresult stream_record(__typeof__(&cuStreamBeginCaptureToCig) driver, CUstream given,
                       CUstreamCigCaptureParams *params, CUstream stream);
/* Call before and after the driver call that ends a recording. */

uint64_t stream_recorded_begin(CUstream stream);
CUresult stream_recorded_end(uint64_t id, CUresult rc);

struct stream_destroy {
        CUstream stream;
        uint64_t id; /* id of the stream; 0: no stream is recorded */
};

/* Call before and after the driver call that destroys a stream, which may still be recorded. */
struct stream_destroy stream_destroy_begin(CUstream stream);
CUresult stream_destroy_end(const struct stream_destroy *destroy, CUresult rc);

/* Whether the stream is recorded. Costs one load while no stream is. */
bool stream_is_recorded(CUstream stream);

/* Forgets the recorded streams of the destroyed context with this number. */
void recorded_owner_gone(uint32_t owner);

#endif
