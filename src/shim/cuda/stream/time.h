/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What shim/time needs of CUDA.
 */
#ifndef ALIQUOT_SHIM_CUDA_STREAM_TIME_H
#define ALIQUOT_SHIM_CUDA_STREAM_TIME_H

#include <stdint.h>

#include "abi/cuda.h"
#include "shim/time/time.h"

extern const struct time_driver cuda_time;

/* The key of a stream, with the default one spelt out: default streams are one for each context, or
 * for each context and thread. `context` is asked for with those alone. */
uint64_t time_key(CUstream stream, CUcontext context);

CUstream time_handle(const struct time_stream *stream);

/* The stream is about to be destroyed. */
void time_forget_stream(CUstream stream);

/* The context (NULL: any) may be about to be destroyed: until time_context_ended() no thread asks
 * about its streams or adds to them. Returns the present time. */
uint64_t time_context_ends(CUcontext context);
/* The context was destroyed. `began_ns` is the result of time_context_ends(). */
void time_context_gone(CUcontext context, uint64_t began_ns);

/* The call is over; the context if it was destroyed, else NULL. */
void time_context_ended(CUcontext gone);

#endif
