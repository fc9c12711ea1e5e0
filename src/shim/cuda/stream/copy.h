/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wraps copies. A copy within a device, by whatever call, is work for the device's processors, as a
 * launch is. If a call does not show on which device its ends are, the driver is asked, unless the
 * work of this thread is not metered anyway.
 *
 * Copies to and from the host and between devices are not such work: they only wait while the
 * session is held. gen-api makes the hooks from the rows of cuda.api. `is_work` is the result of
 * copy_is_work(), or of copy_may_be_work() and then one of the functions of copy_ends.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STREAM_COPY_H
#define ALIQUOT_SHIM_CUDA_STREAM_COPY_H

#include "shim/cuda/place/copy_ends.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/stream/access.h"
#include "shim/cuda/stream/submit.h"
#include "shim/cuda/stream/told.h"

/* Whether it matters on which device the ends of a copy are. False: nothing is metered, so the
 * driver need not be asked. */
static inline bool copy_may_be_work(void)
{
        return !credit_is_free_still(&credit_here) && front_is_on();
}

static inline bool copy_is_work(struct copy_end to, struct copy_end from)
{
        return copy_may_be_work() && copy_is_within(to, from);
}

/* Begins a copy of `count` bytes. Copies of about the same size take about the same time, so the
 * size is the submission's hint. The hint is computed only for copies within a device, because most
 * copies are not. */
static inline bool copying_begin(bool is_work, struct submission submission, uint64_t count)
{
        if (is_work)
                submission_begin(submission_alike(submission, 0, count));
        else
                touch_begin(submission.stream);
        return is_work;
}

static inline CUresult copying_end(bool is_work, CUresult rc)
{
        return is_work ? submission_end(rc) : touch_end(rc);
}

/* As copying_begin(), for copies of boxes and for several copies in one call, whose size is
 * unknown. A batch is one submission, however many copies it has. */
static inline bool copying_parts_begin(bool is_work, struct submission submission)
{
        if (is_work)
                submission_begin(submission);
        else
                touch_begin(submission.stream);
        return is_work;
}

static inline CUresult copying_parts_end(bool is_work, CUresult rc)
{
        return copying_end(is_work, rc);
}

/* A copy to the host that returns when it is done; then all earlier work in its stream is done
 * too. */
struct copy_out {
        bool is_work;
        CUstream stream; /* NULL: there was nothing to copy, so the call did not wait */
        struct told told;
};

static inline struct copy_out copy_out_begin(bool is_work, struct submission submission,
                                             size_t count)
{
        struct copy_out out = { .is_work = copying_begin(is_work, submission, count) };

        if (!is_work) {
                out.stream = count ? submission.stream : NULL;
                out.told = told_begin();
        }
        return out;
}

static inline CUresult copy_out_end(const struct copy_out *out, CUresult rc)
{
        copying_end(out->is_work, rc);
        if (!out->is_work)
                told_end(&out->told, out->stream, rc);
        return rc;
}

#endif
