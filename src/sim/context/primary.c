/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Primary contexts: one a device, counted by retains, made by the first and ended by the last.
 *
 * A reset ends it whatever the count; the next retain makes a new one, so handles to the old one
 * answer CONTEXT_IS_DESTROYED.
 */
#include <stddef.h>

#include "common/atomic.h"
#include "sim/context/context_internal.h"
#include "sim/context/device.h"
#include "sim/node/fault.h"

static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
        CUcontext context; /* NULL: inactive */
        unsigned retains;
        unsigned flags;
} primaries[SIM_DEVICES]; /* by ordinal; primary_lock */

/* primary_lock is held. */
static CUresult primary_make(CUdevice device)
{
        if (primaries[device].context)
                return CUDA_SUCCESS;
        return context_make(device, primaries[device].flags, true, &primaries[device].context);
}

CUcontext context_primary(CUdevice device)
{
        pthread_mutex_lock(&primary_lock);
        primary_make(device);
        CUcontext context = primaries[device].context;
        pthread_mutex_unlock(&primary_lock);
        return context;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *ret, CUdevice device)
{
        API_ENTER(cuDevicePrimaryCtxRetain);
        if (!ret)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        pthread_mutex_lock(&primary_lock);
        CUresult result = primary_make(device);
        if (result == CUDA_SUCCESS) {
                primaries[device].retains++;
                *ret = primaries[device].context;
        }
        pthread_mutex_unlock(&primary_lock);
        return result;
}

static CUresult release(CUdevice device)
{
        CUcontext ended = NULL;
        CUresult result = CUDA_SUCCESS;

        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        pthread_mutex_lock(&primary_lock);
        if (primaries[device].retains == 0) {
                result = CUDA_ERROR_INVALID_CONTEXT;
        } else if (--primaries[device].retains == 0) {
                ended = primaries[device].context;
                primaries[device].context = NULL;
        }
        pthread_mutex_unlock(&primary_lock);
        if (ended)
                context_end(ended);
        return result;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
        API_ENTER(cuDevicePrimaryCtxRelease);
        return release(device);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
        API_ENTER(cuDevicePrimaryCtxRelease_v2);
        return release(device);
}

static CUresult reset(CUdevice device)
{
        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        pthread_mutex_lock(&primary_lock);
        CUcontext ended = primaries[device].context;
        primaries[device].context = NULL;
        primaries[device].retains = 0;
        pthread_mutex_unlock(&primary_lock);
        if (ended)
                context_end(ended);
        return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
        API_ENTER(cuDevicePrimaryCtxReset);
        return reset(device);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
        API_ENTER(cuDevicePrimaryCtxReset_v2);
        return reset(device);
}

static CUresult flags_set(CUdevice device, unsigned flags, bool is_refused_when_active)
{
        CUresult result = CUDA_SUCCESS;

        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        if ((flags & ~(unsigned)CU_CTX_FLAGS_MASK) || (flags & CU_CTX_SCHED_MASK) == 3)
                return CUDA_ERROR_INVALID_VALUE;
        pthread_mutex_lock(&primary_lock);
        if (primaries[device].context && is_refused_when_active) {
                result = CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE;
        } else {
                primaries[device].flags = flags;
                if (primaries[device].context)
                        store_relaxed(&primaries[device].context->flags, flags);
        }
        pthread_mutex_unlock(&primary_lock);
        return result;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags)
{
        API_ENTER(cuDevicePrimaryCtxSetFlags);
        return flags_set(device, flags, true);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags)
{
        API_ENTER(cuDevicePrimaryCtxSetFlags_v2);
        return flags_set(device, flags, false);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *ret_flags, int *ret_is_active)
{
        API_ENTER(cuDevicePrimaryCtxGetState);
        if (!ret_flags || !ret_is_active)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        pthread_mutex_lock(&primary_lock);
        *ret_flags = primaries[device].flags;
        *ret_is_active = primaries[device].context != NULL;
        pthread_mutex_unlock(&primary_lock);
        return CUDA_SUCCESS;
}
