/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/memory/array.h"

#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/memory/vmm.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/stream/access.h"
#include "shim/cuda/stream/ask.h"

struct charged_call array_begin(struct out ret, uint64_t bytes)
{
        access_begin();
        return charged_call_begin(place_here(), ret, ret.at ? bytes : 0);
}

CUresult array_end(struct charged_call *call)
{
        CUarray array = (CUarray)(uintptr_t)charged_call_key(call);
        CUDA_ARRAY_MEMORY_REQUIREMENTS needs;

        if (array &&
            real.cuArrayGetMemoryRequirements(&needs, array, call->place.device) == CUDA_SUCCESS &&
            !charged_call_correct(call, needs.size)) {
                scoped_relaxed struct relaxed was = relax();

                real.cuArrayDestroy(array);
        }
        return access_end(charged_call_settle(call, SPACE_ARRAY));
}

CUresult mipmap_end(struct charged_call *call)
{
        CUmipmappedArray array = (CUmipmappedArray)(uintptr_t)charged_call_key(call);
        CUDA_ARRAY_MEMORY_REQUIREMENTS needs;

        if (array &&
            real.cuMipmappedArrayGetMemoryRequirements(&needs, array, call->place.device) ==
                    CUDA_SUCCESS &&
            !charged_call_correct(call, needs.size)) {
                scoped_relaxed struct relaxed was = relax();

                real.cuMipmappedArrayDestroy(array);
        }
        return access_end(charged_call_settle(call, SPACE_ARRAY));
}

struct array_destroy array_destroy_begin(const void *array)
{
        struct array_destroy destroy = { .key = key_of(array) };

        access_begin();
        charge_take(&destroy.taken, SPACE_ARRAY, destroy.key);
        return destroy;
}

CUresult array_destroy_end(struct array_destroy *destroy, CUresult rc)
{
        if (rc == CUDA_SUCCESS)
                vmm_array_gone(destroy->key);
        return access_end(settle_free(&destroy->taken, rc, SPACE_ARRAY, destroy->key));
}
