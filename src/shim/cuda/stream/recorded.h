/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that record into a command list of a graphics interface (cuStreamBeginCaptureToCig).
 *
 * Work in such a stream runs when the graphics interface runs its list. So, as in a capture, there
 * is nothing to wait for, to measure, or to put a marker into; but it is not documented that
 * cuStreamIsCapturing reports it. A stream is identified by its id, which is never reused.
 */
#ifndef ALIQUOT_SHIM_CUDA_STREAM_RECORDED_H
#define ALIQUOT_SHIM_CUDA_STREAM_RECORDED_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

/* Hooks that cuda.api makes; `stream` with the default stream spelt out, `given` as the program
 * said it. The first begins a recording, by the driver's function; the second pair stands around
 * the call that ends one, the third around the call that destroys a stream, which may record still.
 */
CUresult stream_record(__typeof__(&cuStreamBeginCaptureToCig) driver, CUstream given,
                       CUstreamCigCaptureParams *params, CUstream stream);

uint64_t stream_recorded_begin(CUstream stream);
CUresult stream_recorded_end(uint64_t id, CUresult rc);

struct stream_destroy {
        CUstream stream;
        uint64_t id; /* 0: no stream records */
};

struct stream_destroy stream_destroy_begin(CUstream stream);
CUresult stream_destroy_end(const struct stream_destroy *destroy, CUresult rc);

/* One load while there are none. */
bool stream_is_recorded(CUstream stream);

/* The context with this number was destroyed, and its streams with it. */
void recorded_owner_gone(uint32_t owner);

#endif
