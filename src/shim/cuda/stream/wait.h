/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wraps calls that *park* a stream, that is, make it wait for the host, a word in memory or a
 * semaphore of another API (stream_park_begin() in shim/time/time.h). Work behind such a wait is
 * not in flight until the wait is over.
 */
#ifndef ALIQUOT_SHIM_CUDA_STREAM_WAIT_H
#define ALIQUOT_SHIM_CUDA_STREAM_WAIT_H

#include "abi/cuda.h"
#include "shim/cuda/stream/submit.h"
#include "shim/time/time.h"

/* Call before and after the driver call that adds the wait to a stream. `stream` is
 * CU_STREAM_LEGACY or CU_STREAM_PER_THREAD for a default stream. Returns the stream's record; NULL:
 * not metered. */
static inline struct time_stream *wait_begin(CUstream stream)
{
        struct time_stream *of = credit_is_free(&credit_here) ? NULL : submission_stream(stream);

        if (of)
                stream_park_begin(of);
        return of;
}

/* Ends what wait_begin() began. Returns `rc`. */
static inline CUresult wait_end(struct time_stream *stream, CUresult rc)
{
        if (stream)
                stream_park_end(stream, rc == CUDA_SUCCESS);
        return rc;
}

#endif
