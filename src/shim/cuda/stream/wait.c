/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes a stream wait for somebody: words in memory, semaphores of other APIs, functions on
 * the host. What stands behind it is not in flight until that is over.
 */
#include "shim/cuda/stream/wait.h"

#include "shim/cuda/stream/submit.h"
#include "shim/time/time.h"

struct time_stream *wait_begin(CUstream stream)
{
        struct time_stream *of = credit_is_free(&credit_here) ? NULL : submission_stream(stream);

        if (of)
                stream_park_begin(of);
        return of;
}

CUresult wait_end(struct time_stream *stream, CUresult rc)
{
        if (stream)
                stream_park_end(stream, rc == CUDA_SUCCESS);
        return rc;
}
