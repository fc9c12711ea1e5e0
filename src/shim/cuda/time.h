/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What shim/time needs of CUDA.
 */
#ifndef ALIQUOT_SHIM_CUDA_TIME_H
#define ALIQUOT_SHIM_CUDA_TIME_H

#include <stdint.h>

#include "abi/cuda.h"
#include "shim/time/time.h"

extern const struct time_driver cuda_time;

/* The key of a stream, with the default one spelt out: default streams are one for each context, or
 * for each context and thread. `context` is asked for with those alone. */
uint64_t time_key(CUstream stream, CUcontext context);

/* The stream is about to be destroyed. */
void time_forget_stream(CUstream stream);

/* The context is about to be destroyed, or may be: no event of ours is left in it. */
void time_forget_context(CUcontext context);

#endif
