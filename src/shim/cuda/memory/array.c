/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays of every shape, and mipmapped arrays: opaque memory, charged by what the driver says of
 * it.
 *
 * Before there is an array nobody can tell, so the stated formula (measure.h) is reserved; then
 * cuArrayGetMemoryRequirements is asked, and its word replaces the formula where it has one
 * (drivers answer it for some arrays only). Should it be more, the difference is granted, or the
 * array goes back. Arrays without memory of their own (sparse, or mapped later) hold the blocks
 * that are mapped into them.
 */
#include "shim/cuda/charge/reserve.h"
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/measure/measure.h"
#include "shim/cuda/memory/vmm.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/stream/access.h"
#include "shim/cuda/stream/ask.h"

static CUDA_ARRAY3D_DESCRIPTOR flat(const CUDA_ARRAY_DESCRIPTOR *shape)
{
        return (CUDA_ARRAY3D_DESCRIPTOR){ .Width = shape->Width,
                                          .Height = shape->Height,
                                          .Format = shape->Format,
                                          .NumChannels = shape->NumChannels };
}

static uint64_t bytes_flat(const CUDA_ARRAY_DESCRIPTOR *shape)
{
        CUDA_ARRAY3D_DESCRIPTOR full = flat(shape);

        return measure_array(&full);
}

/* The first interface's descriptors have 32-bit sizes. */
static uint64_t bytes_flat_v1(const CUDA_ARRAY_DESCRIPTOR_v1 *shape)
{
        CUDA_ARRAY3D_DESCRIPTOR full = { .Width = shape->Width,
                                         .Height = shape->Height,
                                         .Format = shape->Format,
                                         .NumChannels = shape->NumChannels };

        return measure_array(&full);
}

static uint64_t bytes_deep_v1(const CUDA_ARRAY3D_DESCRIPTOR_v1 *shape)
{
        CUDA_ARRAY3D_DESCRIPTOR full = { .Width = shape->Width,
                                         .Height = shape->Height,
                                         .Depth = shape->Depth,
                                         .Format = shape->Format,
                                         .NumChannels = shape->NumChannels,
                                         .Flags = shape->Flags };

        return measure_array(&full);
}

/* The driver's word becomes the charge. */
static CUresult correct(struct charge *charge, CUresult asked,
                        const CUDA_ARRAY_MEMORY_REQUIREMENTS *needs)
{
        struct place place = { .row = charge->device, .owner = charge->owner };

        if (asked != CUDA_SUCCESS || !charge->bytes)
                return CUDA_SUCCESS;
        if (needs->size <= charge->bytes) {
                charge_trim(charge, needs->size);
                return CUDA_SUCCESS;
        }
        charge_drop(charge);
        return reserve_at(charge, place, needs->size);
}

static CUresult settle_array(struct charge *charge, CUresult rc, const CUarray *ret,
                             CUdevice device)
{
        CUarray array = rc == CUDA_SUCCESS && ret ? *ret : NULL;
        CUDA_ARRAY_MEMORY_REQUIREMENTS needs;

        if (rc != CUDA_SUCCESS)
                return settle(charge, rc, SPACE_ARRAY, 0);
        rc = correct(charge, real.cuArrayGetMemoryRequirements(&needs, array, device), &needs);
        if (rc != CUDA_SUCCESS) {
                struct relaxed was = relax();

                real.cuArrayDestroy(array);
                unrelax(was);
        }
        return settle(charge, rc, SPACE_ARRAY, key_of(array));
}

CUresult hook_cuArrayCreate(CUarray *ret, const CUDA_ARRAY_DESCRIPTOR_v1 *shape)
{
        scoped_access const struct credit *access = access_scope();
        struct place place = place_here();
        struct charge charge;
        unsigned attempt = 0;
        CUresult rc = reserve_at(&charge, place, ret && shape ? bytes_flat_v1(shape) : 0);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuArrayCreate(ret, shape);
        while (is_draining(&charge, rc, &attempt));
        return settle_array(&charge, rc, ret, place.device);
}

CUresult hook_cuArrayCreate_v2(CUarray *ret, const CUDA_ARRAY_DESCRIPTOR *shape)
{
        scoped_access const struct credit *access = access_scope();
        struct place place = place_here();
        struct charge charge;
        unsigned attempt = 0;
        CUresult rc = reserve_at(&charge, place, ret && shape ? bytes_flat(shape) : 0);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuArrayCreate_v2(ret, shape);
        while (is_draining(&charge, rc, &attempt));
        return settle_array(&charge, rc, ret, place.device);
}

CUresult hook_cuArray3DCreate(CUarray *ret, const CUDA_ARRAY3D_DESCRIPTOR_v1 *shape)
{
        scoped_access const struct credit *access = access_scope();
        struct place place = place_here();
        struct charge charge;
        unsigned attempt = 0;
        CUresult rc = reserve_at(&charge, place, ret && shape ? bytes_deep_v1(shape) : 0);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuArray3DCreate(ret, shape);
        while (is_draining(&charge, rc, &attempt));
        return settle_array(&charge, rc, ret, place.device);
}

CUresult hook_cuArray3DCreate_v2(CUarray *ret, const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
        scoped_access const struct credit *access = access_scope();
        struct place place = place_here();
        struct charge charge;
        unsigned attempt = 0;
        CUresult rc = reserve_at(&charge, place, ret && shape ? measure_array(shape) : 0);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuArray3DCreate_v2(ret, shape);
        while (is_draining(&charge, rc, &attempt));
        return settle_array(&charge, rc, ret, place.device);
}

CUresult hook_cuMipmappedArrayCreate(CUmipmappedArray *ret, const CUDA_ARRAY3D_DESCRIPTOR *shape,
                                     unsigned int levels)
{
        scoped_access const struct credit *access = access_scope();
        struct place place = place_here();
        CUDA_ARRAY_MEMORY_REQUIREMENTS needs;
        struct charge charge;
        unsigned attempt = 0;
        CUresult rc = reserve_at(&charge, place, ret && shape ? measure_mipmap(shape, levels) : 0);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuMipmappedArrayCreate(ret, shape, levels);
        while (is_draining(&charge, rc, &attempt));
        if (rc != CUDA_SUCCESS || !ret)
                return settle(&charge, rc, SPACE_ARRAY, 0);
        rc = correct(&charge,
                     real.cuMipmappedArrayGetMemoryRequirements(&needs, *ret, place.device),
                     &needs);
        if (rc != CUDA_SUCCESS) {
                struct relaxed was = relax();

                real.cuMipmappedArrayDestroy(*ret);
                unrelax(was);
        }
        return settle(&charge, rc, SPACE_ARRAY, key_of(*ret));
}

static CUresult settle_destroy(struct charge *taken, CUresult rc, uint64_t key)
{
        if (rc == CUDA_SUCCESS)
                vmm_array_gone(key);
        return settle_free(taken, rc, SPACE_ARRAY, key);
}

CUresult hook_cuArrayDestroy(CUarray array)
{
        scoped_access const struct credit *access = access_scope();
        struct charge taken;

        charge_take(&taken, SPACE_ARRAY, key_of(array));
        return settle_destroy(&taken, real.cuArrayDestroy(array), key_of(array));
}

CUresult hook_cuMipmappedArrayDestroy(CUmipmappedArray array)
{
        scoped_access const struct credit *access = access_scope();
        struct charge taken;

        charge_take(&taken, SPACE_ARRAY, key_of(array));
        return settle_destroy(&taken, real.cuMipmappedArrayDestroy(array), key_of(array));
}
