/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that record into a command list of a graphics interface (cuStreamBeginCaptureToCig).
 *
 * What is given to such a stream runs when the graphics interface runs its list, so it is nothing
 * to wait for, to measure or to put a marker into, as in a capture; but nothing says that
 * cuStreamIsCapturing tells of it. A stream is known by its id, which no other one ever has.
 */
#ifndef ALIQUOT_SHIM_CUDA_STREAM_RECORDED_H
#define ALIQUOT_SHIM_CUDA_STREAM_RECORDED_H

#include <stdbool.h>

#include "abi/cuda.h"

/* One load while there are none. */
bool stream_is_recorded(CUstream stream);

/* The context with this number was destroyed, and its streams with it. */
void recorded_owner_gone(uint32_t owner);

#endif
