/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays of every shape, and mipmapped arrays: opaque memory, charged by what the driver says of
 * it. cuda.api makes the hooks that create them of the functions here.
 *
 * Before there is an array nobody can tell, so the stated formula (measure.h) is reserved; then
 * cuArrayGetMemoryRequirements is asked, and its word replaces the formula where it has one
 * (drivers answer it for some arrays only). Should it be more, the difference is granted, or the
 * array goes back. Arrays without memory of their own (sparse, or mapped later) hold the blocks
 * that are mapped into them.
 */
#ifndef ALIQUOT_SHIM_CUDA_MEMORY_ARRAY_H
#define ALIQUOT_SHIM_CUDA_MEMORY_ARRAY_H

#include "shim/cuda/charge/charged_call.h"
#include "shim/cuda/measure/measure.h" // IWYU pragma: export

/* `bytes`: what the formula says. */
struct charged_call array_begin(struct out ret, uint64_t bytes);
CUresult array_end(struct charged_call *call);

static inline struct charged_call mipmap_begin(struct out ret, uint64_t bytes)
{
        return array_begin(ret, bytes);
}
CUresult mipmap_end(struct charged_call *call);

/* Of both. */
struct array_destroy {
        struct charge taken;
        uint64_t key;
};

struct array_destroy array_destroy_begin(const void *array);
CUresult array_destroy_end(struct array_destroy *destroy, CUresult rc);

#endif
