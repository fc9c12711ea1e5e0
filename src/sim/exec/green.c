/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Green contexts, modelled for memory only: a subset of the multiprocessors, and the device's
 * primary context, which each green context retains (manual of cuGreenCtxCreate).
 *
 * The CUcontext of a green context is the primary context itself, so memory and streams created in
 * it belong to the primary context. On hardware it is another handle. Work is not confined to the
 * subset of multiprocessors.
 */
#include "common/atomic.h"
#include "sim/context/context.h"
#include "sim/context/device.h"
#include "sim/entries.h"
#include "sim/exec/stream.h"
#include "sim/node/config.h"

#include <stdlib.h>

#define GREEN_MAGIC 0x4772656eu

struct CUdevResourceDesc_st {
        struct CUdevResourceDesc_st *next; /* next in `descs` */
        CUdevResource sm;
};

struct CUgreenCtx_st {
        struct CUgreenCtx_st *next; /* next in `greens` */
        /* GREEN_MAGIC, or 0 when destroyed. The memory is kept then, because a program may still
         * use the handle. */
        uint32_t magic;
        CUdevice device;
        CUcontext primary;
        CUdevResource sm;
};

/* Lists of all that were created. No call destroys a descriptor, and a destroyed context is
 * kept. */
static struct CUdevResourceDesc_st *_Atomic descs;
static struct CUgreenCtx_st *_Atomic greens;

static CUresult green_check(CUgreenCtx green)
{
        return green && green->magic == GREEN_MAGIC ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Describes all multiprocessors of the device. They are allotted in groups: multiples of 8 from
 * compute capability 9.0 on, multiples of 2 before, with a minimum of 4 in 8.x (programming guide,
 * green contexts). */
static void whole_device(CUdevResource *ret)
{
        const struct model_spec *spec = model_spec((enum sim_model)node_get()->model);
        unsigned group = spec->capability_major >= 9 ? 8 : 2;

        *ret = (CUdevResource){ .type = CU_DEV_RESOURCE_TYPE_SM };
        ret->sm.smCount = (unsigned)model_multiprocessors(spec);
        ret->sm.minSmPartitionSize = spec->capability_major == 8 ? 4 : group;
        ret->sm.smCoscheduledAlignment = group;
}

static CUresult resource_get(CUdevResource *ret, CUdevResourceType type, const CUdevResource *sm)
{
        if (!ret)
                return CUDA_ERROR_INVALID_VALUE;
        if (type != CU_DEV_RESOURCE_TYPE_SM)
                return CUDA_ERROR_INVALID_RESOURCE_TYPE;
        *ret = *sm;
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetDevResource(CUdevice device, CUdevResource *ret, CUdevResourceType type)
{
        CUdevResource whole;

        whole_device(&whole);
        return resource_get(ret, type, &whole);
}

CUresult sim_cuGreenCtxGetDevResource(CUgreenCtx green, CUdevResource *ret, CUdevResourceType type)
{
        CUresult rc = green_check(green);

        return rc == CUDA_SUCCESS ? resource_get(ret, type, &green->sm) : rc;
}

CUresult sim_cuDevSmResourceSplitByCount(CUdevResource *ret_groups, unsigned int *count,
                                         const CUdevResource *input, CUdevResource *ret_rest,
                                         unsigned int flags, unsigned int least)
{
        if (!count || !input || input->type != CU_DEV_RESOURCE_TYPE_SM || (flags & ~3u))
                return CUDA_ERROR_INVALID_VALUE;
        unsigned step = input->sm.smCoscheduledAlignment;
        unsigned size = least > input->sm.minSmPartitionSize ? least : input->sm.minSmPartitionSize;
        size = (size + step - 1) / step * step;
        unsigned found = input->sm.smCount / size;
        if (ret_groups && found > *count)
                found = *count;
        for (unsigned i = 0; ret_groups && i < found; i++) {
                ret_groups[i] = *input;
                ret_groups[i].sm.smCount = size;
        }
        if (ret_rest) {
                *ret_rest = *input;
                ret_rest->sm.smCount = input->sm.smCount - found * size;
        }
        *count = found;
        return CUDA_SUCCESS;
}

CUresult sim_cuDevResourceGenerateDesc(CUdevResourceDesc *ret, CUdevResource *resources,
                                       unsigned int count)
{
        if (!ret || !resources || count == 0)
                return CUDA_ERROR_INVALID_VALUE;
        for (unsigned i = 0; i < count; i++) {
                if (resources[i].type != CU_DEV_RESOURCE_TYPE_SM)
                        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
        }
        CUdevResourceDesc made = calloc(1, sizeof(*made));
        if (!made)
                return CUDA_ERROR_OUT_OF_MEMORY;
        made->sm = resources[0];
        for (unsigned i = 1; i < count; i++)
                made->sm.sm.smCount += resources[i].sm.smCount;
        made->next = load_relaxed(&descs);
        while (!cas_acq_rel(&descs, &made->next, made))
                ;
        *ret = made;
        return CUDA_SUCCESS;
}

static CUresult green_make(CUgreenCtx *ret, CUdevice device, const CUdevResource *sm)
{
        CUgreenCtx made = calloc(1, sizeof(*made));
        CUresult rc =
                made ? cuDevicePrimaryCtxRetain(&made->primary, device) : CUDA_ERROR_OUT_OF_MEMORY;

        if (rc == CUDA_SUCCESS && node_grant(device_unit(device), FAMILY_CONTEXT,
                                             config_get()->grants.green_bytes) != GRANT_OK) {
                cuDevicePrimaryCtxRelease_v2(device);
                rc = CUDA_ERROR_OUT_OF_MEMORY;
        }
        if (rc != CUDA_SUCCESS) {
                free(made);
                return rc;
        }
        made->device = device;
        made->sm = *sm;
        made->magic = GREEN_MAGIC;
        made->next = load_relaxed(&greens);
        while (!cas_acq_rel(&greens, &made->next, made))
                ;
        *ret = made;
        return CUDA_SUCCESS;
}

CUresult sim_cuGreenCtxCreate(CUgreenCtx *ret, CUdevResourceDesc resources, CUdevice device,
                              unsigned int flags)
{
        if (!ret || !resources || flags != CU_GREEN_CTX_DEFAULT_STREAM)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        return green_make(ret, device, &resources->sm);
}

CUresult sim_cuGreenCtxDestroy(CUgreenCtx green)
{
        CUresult rc = green_check(green);

        if (rc != CUDA_SUCCESS)
                return rc;
        green->magic = 0;
        node_release(device_unit(green->device), FAMILY_CONTEXT, config_get()->grants.green_bytes);
        return cuDevicePrimaryCtxRelease_v2(green->device);
}

CUresult sim_cuCtxFromGreenCtx(CUcontext *ret, CUgreenCtx green)
{
        CUresult rc = green_check(green);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret)
                return CUDA_ERROR_INVALID_VALUE;
        *ret = green->primary;
        return CUDA_SUCCESS;
}

CUresult sim_cuGreenCtxStreamCreate(CUstream *ret, CUgreenCtx green, unsigned int flags,
                                    int priority)
{
        CUresult rc = green_check(green);

        if (rc == CUDA_SUCCESS)
                rc = context_check(green->primary);
        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret || flags != CU_STREAM_NON_BLOCKING)
                return CUDA_ERROR_INVALID_VALUE;
        rc = stream_create(green->primary->exec, STREAM_CREATED, flags, ret);
        if (rc == CUDA_SUCCESS)
                (*ret)->priority = priority;
        return rc;
}
