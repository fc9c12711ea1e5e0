/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submissions: the calls that give a device's processors work (shim/time/time.h).
 *
 *      submission_begin(submission);                  // waits here while the gate is shut
 *      return submission_end(real.cuLaunchKernel(...));
 *
 * In a stream that is being captured, nothing is asked, waited for or recorded. The program gets
 * the driver's results; a failure of Aliquot's own calls is not reported.
 */
#ifndef ALIQUOT_SHIM_CUDA_STREAM_SUBMIT_H
#define ALIQUOT_SHIM_CUDA_STREAM_SUBMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "shim/cuda/place/front.h"
#include "shim/time/credit.h"
#include "shim/time/window.h"

/* A call that gives a device work: where the work goes. */
struct submission {
        CUstream stream; /* with the default stream spelt out */
        uint64_t key;    /* as credits have it */
        uint32_t hint;   /* what takes about as long (window.h) */
};

/* The entry points' two families: what stream 0 is. */
static inline struct submission submission_to(CUstream stream)
{
        return (struct submission){ legacy(stream), key_of(stream), 0 };
}

static inline struct submission submission_per_thread(CUstream stream)
{
        CUstream spelt = per_thread(stream);

        return (struct submission){ spelt, key_of(spelt), 0 };
}

/* A submission with a hint: those with the same `what` and about this size have a common weight. */
static inline struct submission submission_alike(struct submission submission, uint64_t what,
                                                 uint64_t size)
{
        submission.hint = window_hint(what, size);
        return submission;
}

/* Waits until the thread may submit. False: it may, and nothing is metered. */
bool submission_wait(const struct submission *submission);

/* The metered stream (default streams resolved); NULL: not metered, or captured. */
struct time_stream *submission_stream(CUstream stream);

static inline void submission_begin(struct submission submission)
{
        credit_enter(&credit_here);
        while (__builtin_expect(!credit_spend(&credit_here, submission.key, submission.hint), 0)) {
                if (!submission_wait(&submission))
                        break;
        }
}

/* Places a marker behind a submission to the thread's own default stream. */
void submission_mark(void);

/* `rc` is the driver's answer, and the result. */
static inline CUresult submission_end(CUresult rc)
{
        if (__builtin_expect(credit_here.is_marked, 0))
                submission_mark();
        credit_leave(&credit_here);
        return rc;
}

#endif
