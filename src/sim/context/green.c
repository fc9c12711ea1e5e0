/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Green contexts, as far as lifetimes go: each holds its device's primary context, which ends with
 * the last of its holders. Parts of a card are not modelled: a resource is the whole card, and what
 * is made in a green context is made in the primary one.
 */
#include <stdlib.h>

#include "sim/context/context_internal.h"
#include "sim/context/device.h"
#include "sim/node/fault.h"
#include "sim/node/node.h"

#define GREEN_MAGIC 0x47726e43u

/* Never freed: a handle may still be about. */
struct CUgreenCtx_st {
        uint32_t magic;
        CUdevice device;
        struct CUgreenCtx_st *next; /* of all, so that the memory is known */
};

static struct CUgreenCtx_st *_Atomic all;

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *ret, CUdevResourceType type)
{
        API_ENTER(cuDeviceGetDevResource);
        if (!ret)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        if (type != CU_DEV_RESOURCE_TYPE_SM)
                return CUDA_ERROR_INVALID_RESOURCE_TYPE;
        *ret = (CUdevResource){ .type = type };
        ret->sm.smCount =
                (unsigned)model_multiprocessors(model_spec((enum sim_model)node_get()->model));
        return CUDA_SUCCESS;
}

/* All of them describe the whole card. */
CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *ret, CUdevResource *resources,
                                   unsigned int count)
{
        static char whole;

        API_ENTER(cuDevResourceGenerateDesc);
        if (!ret || !resources || count == 0)
                return CUDA_ERROR_INVALID_VALUE;
        *ret = (CUdevResourceDesc)&whole;
        return CUDA_SUCCESS;
}

static CUgreenCtx green_make(CUdevice device)
{
        struct CUgreenCtx_st *green = calloc(1, sizeof(*green));

        if (!green)
                return NULL;
        *green = (struct CUgreenCtx_st){ GREEN_MAGIC, device, load_acquire(&all) };
        while (!cas_acq_rel(&all, &green->next, green))
                ;
        return green;
}

CUresult cuGreenCtxCreate(CUgreenCtx *ret, CUdevResourceDesc resources, CUdevice device,
                          unsigned int flags)
{
        API_ENTER(cuGreenCtxCreate);
        CUcontext primary;
        CUgreenCtx green;
        CUresult rc;

        if (!ret || !resources || !(flags & CU_GREEN_CTX_DEFAULT_STREAM))
                return CUDA_ERROR_INVALID_VALUE;
        rc = primary_retain(&primary, device);
        if (rc != CUDA_SUCCESS)
                return rc;
        green = green_make(device);
        if (!green) {
                primary_release(device);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        *ret = green;
        return CUDA_SUCCESS;
}

CUresult cuGreenCtxDestroy(CUgreenCtx green)
{
        API_ENTER(cuGreenCtxDestroy);
        if (!green || green->magic != GREEN_MAGIC)
                return CUDA_ERROR_INVALID_CONTEXT;
        green->magic = 0;
        return primary_release(green->device);
}
