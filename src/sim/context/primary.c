/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Primary contexts: one for each device. The first retain begins it, and the last release ends it.
 *
 * A reset ends it whatever the number of retains is. Until the next retain, calls with its handle
 * return CONTEXT_IS_DESTROYED. Then the context begins again, without any of its former objects.
 */
#include <stddef.h>

#include "common/atomic.h"
#include "sim/context/context_internal.h"
#include "sim/context/device.h"
#include "sim/entries.h"

static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_ended = PTHREAD_COND_INITIALIZER;

static struct {
        CUcontext context; /* NULL before the first retain */
        bool is_active;
        /* it is being ended without the lock held; until that is done, it cannot begin */
        bool is_ending;
        unsigned retains;
        unsigned flags;
} primaries[SIM_DEVICES]; /* by ordinal; guarded by primary_lock */

/* Begins the primary context if needed. The caller holds primary_lock. */
static CUresult primary_make(CUdevice device)
{
        CUresult result;

        while (primaries[device].is_ending)
                pthread_cond_wait(&has_ended, &primary_lock);
        if (primaries[device].is_active)
                return CUDA_SUCCESS;
        if (!primaries[device].context)
                primaries[device].context = context_alloc(device, true);
        if (!primaries[device].context)
                return CUDA_ERROR_OUT_OF_MEMORY;
        result = context_begin(primaries[device].context, primaries[device].flags);
        primaries[device].is_active = result == CUDA_SUCCESS;
        return result;
}

/* Ends the primary context. The caller holds primary_lock, which is released meanwhile. */
static void primary_end(CUdevice device)
{
        if (!primaries[device].is_active)
                return;
        primaries[device].is_active = false;
        primaries[device].is_ending = true;
        primaries[device].retains = 0;
        pthread_mutex_unlock(&primary_lock);
        context_end(primaries[device].context);
        pthread_mutex_lock(&primary_lock);
        primaries[device].is_ending = false;
        pthread_cond_broadcast(&has_ended);
}

CUcontext context_primary(CUdevice device)
{
        pthread_mutex_lock(&primary_lock);
        CUresult result = primary_make(device);
        CUcontext context = primaries[device].context;
        pthread_mutex_unlock(&primary_lock);
        return result == CUDA_SUCCESS ? context : NULL;
}

CUresult sim_cuDevicePrimaryCtxRetain(CUcontext *ret, CUdevice device)
{
        pthread_mutex_lock(&primary_lock);
        CUresult result = primary_make(device);
        if (result == CUDA_SUCCESS) {
                primaries[device].retains++;
                *ret = primaries[device].context;
        }
        pthread_mutex_unlock(&primary_lock);
        return result;
}

CUresult sim_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
        CUresult result = CUDA_SUCCESS;

        pthread_mutex_lock(&primary_lock);
        if (primaries[device].retains == 0)
                result = CUDA_ERROR_INVALID_CONTEXT;
        else if (--primaries[device].retains == 0)
                primary_end(device);
        pthread_mutex_unlock(&primary_lock);
        return result;
}

CUresult sim_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
        pthread_mutex_lock(&primary_lock);
        primary_end(device);
        pthread_mutex_unlock(&primary_lock);
        return CUDA_SUCCESS;
}

static CUresult flags_set(CUdevice device, unsigned flags, bool is_refused_when_active)
{
        CUresult result = CUDA_SUCCESS;

        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        if ((flags & ~(unsigned)CU_CTX_FLAGS_MASK) || (flags & CU_CTX_SCHED_MASK) == 3)
                return CUDA_ERROR_INVALID_VALUE;
        pthread_mutex_lock(&primary_lock);
        if (primaries[device].is_active && is_refused_when_active) {
                result = CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE;
        } else {
                primaries[device].flags = flags;
                if (primaries[device].is_active)
                        store_relaxed(&primaries[device].context->flags, flags);
        }
        pthread_mutex_unlock(&primary_lock);
        return result;
}

CUresult sim_cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags)
{
        return flags_set(device, flags, true);
}

CUresult sim_cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags)
{
        return flags_set(device, flags, false);
}

CUresult sim_cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *ret_flags,
                                        int *ret_is_active)
{
        pthread_mutex_lock(&primary_lock);
        *ret_flags = primaries[device].flags;
        *ret_is_active = primaries[device].is_active;
        pthread_mutex_unlock(&primary_lock);
        return CUDA_SUCCESS;
}
