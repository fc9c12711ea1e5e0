/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of CUDA that shim/time needs, and the keys of streams.
 */
#ifndef ALIQUOT_SHIM_CUDA_STREAM_TIME_H
#define ALIQUOT_SHIM_CUDA_STREAM_TIME_H

#include <stdint.h>

#include "abi/cuda.h"
#include "shim/time/time.h"

extern const struct time_driver cuda_time;

/* Returns the key of a stream. `stream` is CU_STREAM_LEGACY or CU_STREAM_PER_THREAD for a default
 * stream. There is one default stream for each context, or for each context and thread, so
 * `context` is part of the key of a default stream; for other streams it is ignored. */
uint64_t time_key(CUstream stream, CUcontext context);

/* Returns the handle of a stream's record. */
CUstream time_handle(const struct time_stream *stream);

/* Notes that the stream is about to be destroyed. */
void time_forget_stream(CUstream stream);

/* Notes that the context (NULL: some context, not known which) may be about to be destroyed: until
 * time_context_ended(), no thread queries the context's streams or adds to them. Returns the
 * present time. */
uint64_t time_context_ends(CUcontext context);
/* Notes that the context was destroyed. `began_ns` is the result of time_context_ends(). */
void time_context_gone(CUcontext context, uint64_t began_ns);

/* Ends what time_context_ends() began. `gone` is the context if it was destroyed, else NULL. */
void time_context_ended(CUcontext gone);

#endif
