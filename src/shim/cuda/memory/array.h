/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charges arrays of every shape and mipmapped arrays, by the size that the driver reports for them.
 * gen-api makes the hooks that create them from the functions here, as cuda.api says.
 *
 * Before an array exists, the driver cannot report its size, so a formula (measure.h) gives the
 * size to reserve. Then cuArrayGetMemoryRequirements is asked, and its answer replaces the
 * formula's result if there is one (drivers answer only for some arrays). If the answer is larger,
 * the whole size is reserved anew; if the limit refuses that, the array is destroyed again. Arrays
 * without memory of their own (sparse, or mapped later) keep alive the memory that is mapped into
 * them.
 */
#ifndef ALIQUOT_SHIM_CUDA_MEMORY_ARRAY_H
#define ALIQUOT_SHIM_CUDA_MEMORY_ARRAY_H

#include "shim/cuda/charge/charged_call.h"
#include "shim/cuda/measure/measure.h" // IWYU pragma: export

/* `bytes` is the size by the formula. */
struct charged_call array_begin(struct out ret, uint64_t bytes);
CUresult array_end(struct charged_call *call);

static inline struct charged_call mipmap_begin(struct out ret, uint64_t bytes)
{
        return array_begin(ret, bytes);
}
CUresult mipmap_end(struct charged_call *call);

/* The destruction of an array or mipmapped array. */
struct array_destroy {
        struct charge taken;
        uint64_t key;
};

struct array_destroy array_destroy_begin(const void *array);
CUresult array_destroy_end(struct array_destroy *destroy, CUresult rc);

#endif
