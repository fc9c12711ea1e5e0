/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charges the heap from which kernels allocate, because it is device memory too.
 *
 * cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE) reserves that much memory on the card for malloc() in
 * kernels. The driver's default is included in a context's size; the part beyond the default is
 * charged until the context ends. The driver allocates the heap with the first module that needs
 * it, and then refuses changes. The other limits (stack, printf) take little memory, or depend on
 * the kernels that run. They are overhead (docs/memory.md).
 */
#include "shim/cuda/charge/remainder.h"
#include "shim/cuda/charge/reserve.h"
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/stream/access.h"

#define DEFAULT_HEAP_BYTES (UINT64_C(8) << 20)

/* Returns the key of the heap's charge. It differs from every context's key, because handles are
 * aligned. */
static uint64_t heap_key(CUcontext context)
{
        return key_of(context) + 1;
}

/* Sets the heap size and its charge. The charge grows before the heap does, and shrinks after the
 * heap. */
static CUresult set_heap(CUcontext context, uint64_t bytes)
{
        uint64_t extra = bytes > DEFAULT_HEAP_BYTES ? bytes - DEFAULT_HEAP_BYTES : 0;
        uint64_t held = charge_held(SPACE_CONTEXT, heap_key(context));
        struct place place = place_here();
        struct charge more, kept;
        unsigned attempt = 0;
        CUresult rc = reserve_at(&more, place, extra > held ? extra - held : 0);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, bytes);
        while (is_draining(&more, rc, &attempt));
        if (rc != CUDA_SUCCESS) {
                charge_drop(&more);
                return rc;
        }
        charge_take(&kept, SPACE_CONTEXT, heap_key(context));
        charge_join(&kept, &more);
        charge_trim(&kept, extra);
        kept.owner = place.owner;
        charge_mark_unseen(&kept);
        settle(&kept, rc, SPACE_CONTEXT, heap_key(context));
        remainder_heap_set(place.row, heap_key(context));
        remainder_changed(place.row);
        return rc;
}

/* Sets another limit. The driver takes memory for a larger stack at once, for all threads that the
 * device can run. */
static CUresult set_other(CUlimit limit, size_t value)
{
        CUresult rc = real.cuCtxSetLimit(limit, value);

        if (rc == CUDA_SUCCESS)
                remainder_changed(place_here().row);
        return rc;
}

CUresult hook_cuCtxSetLimit(CUlimit limit, size_t value)
{
        scoped_access const struct credit *access = access_scope();
        CUcontext context = NULL;
        CUresult rc;

        if (!front_is_on())
                return real.cuCtxSetLimit(limit, value);
        if (limit != CU_LIMIT_MALLOC_HEAP_SIZE)
                return set_other(limit, value);
        rc = real.cuCtxGetCurrent(&context);
        if (rc == CUDA_SUCCESS && !context)
                rc = CUDA_ERROR_INVALID_CONTEXT;
        return rc == CUDA_SUCCESS ? set_heap(context, value) : rc;
}
