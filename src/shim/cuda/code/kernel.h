/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wraps kernel launches, which are submissions that may also load code.
 *
 * Under lazy loading, the first launch of a function may load its code. The memory that the driver
 * takes for the code is measured in the next call that allocates, frees, waits, or asks for free
 * memory. gen-api makes the hooks from the rows of cuda.api, around kernel_begin() and
 * kernel_end().
 */
#ifndef ALIQUOT_SHIM_CUDA_CODE_KERNEL_H
#define ALIQUOT_SHIM_CUDA_CODE_KERNEL_H

#include "shim/cuda/state/code.h"
#include "shim/cuda/stream/submit.h"

/* Returns the submission with a hint: a launch takes about as long as earlier launches of the same
 * function with a grid of that size. */
static inline struct submission kernel_submission(struct submission submission, CUfunction function,
                                                  uint64_t blocks)
{
        return submission_alike(submission, (uintptr_t)function, blocks);
}

static inline uint64_t kernel_blocks(const CUlaunchConfig *config)
{
        return config ? (uint64_t)config->gridDimX * config->gridDimY * config->gridDimZ : 0;
}

static inline CUstream kernel_stream(const CUlaunchConfig *config)
{
        return config ? config->hStream : NULL;
}

/* Notes the first launch of a function. `at` is the index that the function's hash gives in
 * code_state.launched, where another function or none was found. */
void kernel_note_launched(CUfunction function, uint32_t at);

/* Begins a launch. Returns `function`, for kernel_end(). */
static inline CUfunction kernel_begin(struct submission submission, CUfunction function,
                                      uint64_t blocks)
{
        submission_begin(kernel_submission(submission, function, blocks));
        return function;
}

static inline CUresult kernel_end(CUfunction function, CUresult rc)
{
        uint32_t at =
                (uint32_t)(key_of(function) * UINT64_C(0x9e3779b97f4a7c15) >> 32) % STATE_LAUNCHED;

        rc = submission_end(rc);
        if (__builtin_expect(rc == CUDA_SUCCESS &&
                                     load_relaxed(&code_state.launched[at]) != key_of(function),
                             0))
                kernel_note_launched(function, at);
        return rc;
}

#endif
