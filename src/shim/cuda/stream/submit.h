/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wraps submissions: the calls that give a device's processors work (shim/time/time.h).
 *
 *      submission_begin(submission);                  // waits here while the gate is shut
 *      return submission_end(real.cuLaunchKernel(...));
 *
 * For a stream that is being captured, Aliquot makes no queries, does not wait, and records no
 * event. The program gets the driver's results; failures of Aliquot's own calls are not reported.
 */
#ifndef ALIQUOT_SHIM_CUDA_STREAM_SUBMIT_H
#define ALIQUOT_SHIM_CUDA_STREAM_SUBMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "shim/cuda/place/front.h"
#include "shim/time/credit.h"
#include "shim/time/window.h"

/* Where a submission puts its work, and what kind of work it is. */
struct submission {
        CUstream stream; /* CU_STREAM_LEGACY or CU_STREAM_PER_THREAD for a default stream */
        uint64_t key;    /* the key that credits use (credit.h) */
        uint32_t hint;   /* submissions with equal hints take about the same time (window.h) */
};

/* Return a submission to a stream. Handle 0 is the legacy default stream in submission_to(), and
 * the thread's own default stream in submission_per_thread(). */
static inline struct submission submission_to(CUstream stream)
{
        return (struct submission){ legacy(stream), key_of(stream), 0 };
}

static inline struct submission submission_per_thread(CUstream stream)
{
        CUstream spelt = per_thread(stream);

        return (struct submission){ spelt, key_of(spelt), 0 };
}

/* Adds a hint to a submission: submissions with the same `what` and about the same size share one
 * weight. */
static inline struct submission submission_alike(struct submission submission, uint64_t what,
                                                 uint64_t size)
{
        submission.hint = window_hint(what, size);
        return submission;
}

/* Waits until the thread may submit. True: try to spend credit again. False: the thread may submit
 * now without credit, because nothing is metered or the stream is captured. */
bool submission_wait(const struct submission *submission);

/* Returns the record of a metered stream. `stream` is CU_STREAM_LEGACY or CU_STREAM_PER_THREAD for
 * a default stream. NULL: not metered, or captured. */
struct time_stream *submission_stream(CUstream stream);

static inline void submission_begin(struct submission submission)
{
        credit_enter(&credit_here);
        while (__builtin_expect(!credit_spend(&credit_here, submission.key, submission.hint), 0)) {
                if (!submission_wait(&submission))
                        break;
        }
}

/* Places a marker behind a submission, for which the thread has credit, to its own default
 * stream. */
void submission_mark(void);

/* Ends a submission. `rc` is the driver's result; returns it. */
static inline CUresult submission_end(CUresult rc)
{
        if (__builtin_expect(credit_here.is_marked, 0))
                submission_mark();
        credit_leave(&credit_here);
        return rc;
}

#endif
