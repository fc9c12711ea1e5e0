/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/memory/memory.h"

#include "common/sums.h"
#include "shim/cuda/charge/import.h"
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/measure/measure.h"
#include "shim/cuda/memory/pool.h"
#include "shim/cuda/memory/spill.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/stream/access.h"
#include "shim/cuda/stream/ask.h"
#include "shim/cuda/swap/block.h"

struct charged_call address_begin(struct out ret, uint64_t bytes)
{
        access_begin();
        return charged_call_begin(place_here(), ret, ret.at ? bytes : 0);
}

CUresult address_end(struct charged_call *call)
{
        return access_end(charged_call_settle(call, SPACE_POINTER));
}

struct charged_call managed_begin(struct out ret, uint64_t bytes)
{
        struct charged_call call = address_begin(ret, bytes);

        charge_mark_unseen(&call.charge);
        return call;
}

static CUresult alloc(CUdeviceptr *ret, struct place place, size_t bytes)
{
        struct charged_call call = { .place = place, .ret = out_of(ret) };

        call.rc = spill_reserve(&call.charge, place, ret ? bytes : 0);
        while (charged_call_goes_on(&call))
                call.rc = real.cuMemAlloc_v2(ret, bytes);
        return charged_call_settle(&call, SPACE_POINTER);
}

CUresult hook_cuMemAlloc_v2(CUdeviceptr *ret, size_t bytes)
{
        scoped_access const struct credit *access = access_scope();
        struct place place = place_here();
        CUresult rc = CUDA_ERROR_NOT_SUPPORTED;

        if (ret && swap_takes(place, bytes))
                rc = swap_alloc(ret, place, bytes);
        return rc != CUDA_ERROR_NOT_SUPPORTED ? rc
                                              : spill(alloc(ret, place, bytes), ret, place, bytes);
}

/* Settles pitched memory with the pitch that the driver chose. If that is smaller than expected,
 * the difference is released. If it is larger, the size must be granted anew, or the block is freed
 * and the program gets out-of-memory. */
static CUresult settle_pitch(struct charged_call *call, uint64_t pitch, uint64_t height)
{
        CUdeviceptr address = charged_call_key(call);

        if (address && !charged_call_correct(call, product_of(pitch, height))) {
                scoped_relaxed struct relaxed was = relax();

                real.cuMemFree_v2(address);
        }
        return charged_call_settle(call, SPACE_POINTER);
}

CUresult hook_cuMemAllocPitch(CUdeviceptr_v1 *ret, unsigned int *ret_pitch, unsigned int width,
                              unsigned int height, unsigned int element)
{
        scoped_access const struct credit *access = access_scope();
        uint64_t expected = ret && ret_pitch ? measure_pitch(width, height) : 0;
        struct charged_call call = charged_call_begin(place_here(), out_of(ret), expected);

        while (charged_call_goes_on(&call))
                call.rc = real.cuMemAllocPitch(ret, ret_pitch, width, height, element);
        return settle_pitch(&call, key_at(call.rc, ret_pitch), height);
}

CUresult hook_cuMemAllocPitch_v2(CUdeviceptr *ret, size_t *ret_pitch, size_t width, size_t height,
                                 unsigned int element)
{
        scoped_access const struct credit *access = access_scope();
        uint64_t expected = ret && ret_pitch ? measure_pitch(width, height) : 0;
        struct charged_call call = charged_call_begin(place_here(), out_of(ret), expected);

        while (charged_call_goes_on(&call))
                call.rc = real.cuMemAllocPitch_v2(ret, ret_pitch, width, height, element);
        return settle_pitch(&call, key_at(call.rc, ret_pitch), height);
}

/* Settles a free of a block without a charge of its own: it may be a stream-ordered block, whose
 * pool may shrink at once, or an import. */
static CUresult settle_unknown(struct memory_import *import, CUresult rc, CUdeviceptr address)
{
        struct charge none = { .device = CHARGE_NO_DEVICE };

        if (rc != CUDA_SUCCESS) {
                import_keep(import, SPACE_IMPORT, address);
                return rc;
        }
        import_end(import);
        import_unexport(SPACE_POOL, address, &none);
        pool_freed_at_once();
        return rc;
}

/* Frees an address without a charge. An address inside a swappable block is refused: only the
 * block's first address, which has a charge, is valid. */
static CUresult free_unknown(CUdeviceptr address)
{
        struct memory_import *import;

        if (swap_meets(address, 1))
                return CUDA_ERROR_INVALID_VALUE;
        import = import_take(SPACE_IMPORT, address);
        return settle_unknown(import, real.cuMemFree_v2(address), address);
}

static CUresult free_known(const struct charge *taken, CUdeviceptr address)
{
        if (swap_begins(address))
                return swap_free(address);
        return spill_is(taken) ? spill_free(address) : real.cuMemFree_v2(address);
}

static CUresult settle_known(struct charge *taken, CUresult rc, CUdeviceptr address)
{
        if (rc == CUDA_SUCCESS)
                import_unexport(SPACE_POINTER, address, taken);
        return settle_free(taken, rc, SPACE_POINTER, address);
}

CUresult hook_cuMemFree(CUdeviceptr_v1 address)
{
        scoped_access const struct credit *access = access_scope();
        struct charge taken;
        struct memory_import *import;

        if (charge_take(&taken, SPACE_POINTER, address))
                return settle_known(
                        &taken, swap_begins(address) ? swap_free(address) : real.cuMemFree(address),
                        address);
        import = import_take(SPACE_IMPORT, address);
        return settle_unknown(import, real.cuMemFree(address), address);
}

CUresult hook_cuMemFree_v2(CUdeviceptr address)
{
        scoped_access const struct credit *access = access_scope();
        struct charge taken;

        return charge_take(&taken, SPACE_POINTER, address)
                       ? settle_known(&taken, free_known(&taken, address), address)
                       : free_unknown(address);
}
