/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that park a stream (shim/time/time.h, stream_park_begin()): waits for words in memory,
 * semaphores of other APIs, functions on the host. Work behind such a wait is not in flight until
 * the wait is over.
 */
#ifndef ALIQUOT_SHIM_CUDA_STREAM_WAIT_H
#define ALIQUOT_SHIM_CUDA_STREAM_WAIT_H

#include "abi/cuda.h"
#include "shim/cuda/stream/submit.h"
#include "shim/time/time.h"

/* Around the call that puts it there, in a stream with the default one spelt out. NULL: nothing is
 * metered. */
static inline struct time_stream *wait_begin(CUstream stream)
{
        struct time_stream *of = credit_is_free(&credit_here) ? NULL : submission_stream(stream);

        if (of)
                stream_park_begin(of);
        return of;
}

/* Returns the call's `rc`. */
static inline CUresult wait_end(struct time_stream *stream, CUresult rc)
{
        if (stream)
                stream_park_end(stream, rc == CUDA_SUCCESS);
        return rc;
}

#endif
