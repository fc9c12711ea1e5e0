/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes a stream wait for somebody (shim/time/time.h, stream_park_begin()).
 */
#ifndef ALIQUOT_SHIM_CUDA_STREAM_WAIT_H
#define ALIQUOT_SHIM_CUDA_STREAM_WAIT_H

#include "abi/cuda.h"

struct time_stream;

/* Around the call that puts it there, in a stream with the default one spelt out. NULL: nothing is
 * metered. */
struct time_stream *wait_begin(CUstream stream);

/* Returns the call's `rc`. */
CUresult wait_end(struct time_stream *stream, CUresult rc);

#endif
