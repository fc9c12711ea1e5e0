/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries and settings of a context: device, flags, limits, caches. Also waits for its work.
 */
#include <stddef.h>

#include "common/atomic.h"
#include "sim/context/context.h"
#include "sim/context/device.h"
#include "sim/context/growth.h"
#include "sim/entries.h"
#include "sim/exec/exec.h"
#include "sim/memory/families.h"
#include "sim/node/config.h"

CUresult sim_cuCtxGetDevice(CUcontext context, CUdevice *ret)
{
        *ret = context->device;
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetDevice_v2(CUdevice *ret, CUcontext context)
{
        if (!context)
                context = context_current();
        CUresult result = context_check(context);
        if (result != CUDA_SUCCESS)
                return result;
        *ret = context->device;
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetFlags(CUcontext context, unsigned int *ret)
{
        *ret = load_relaxed(&context->flags);
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetFlags(unsigned int flags)
{
        if ((flags & ~(unsigned)CU_CTX_FLAGS_MASK) || (flags & CU_CTX_SCHED_MASK) == 3)
                return CUDA_ERROR_INVALID_VALUE;
        CUcontext context;
        CUresult result = context_require(&context);
        if (result != CUDA_SUCCESS)
                return result;
        store_relaxed(&context->flags, flags);
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetId(CUcontext context, unsigned long long *ret)
{
        if (!context)
                context = context_current();
        CUresult result = context_check(context);
        if (result != CUDA_SUCCESS)
                return result;
        *ret = load_relaxed(&context->id);
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetApiVersion(CUcontext context, unsigned int *ret)
{
        if (!context)
                context = context_current();
        CUresult result = context_check(context);
        if (result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
                result = CUDA_ERROR_INVALID_CONTEXT;
        if (result != CUDA_SUCCESS)
                return result;
        *ret = context->api_version;
        return CUDA_SUCCESS;
}

static CUresult synchronize(CUcontext context)
{
        CUresult result = exec_context_synchronize(context);

        memory_synchronized(context->device);
        return result;
}

CUresult sim_cuCtxSynchronize(CUcontext context)
{
        CUresult result = exec_capture_check_context(context);

        if (result != CUDA_SUCCESS)
                return result;
        return synchronize(context);
}

CUresult sim_cuCtxSynchronize_v2(CUcontext context)
{
        if (!context)
                context = context_current();
        CUresult result = context_check(context);
        if (result == CUDA_SUCCESS)
                result = exec_capture_check_context(context);
        return result == CUDA_SUCCESS ? synchronize(context) : result;
}

/* Sets the size of the heap for malloc() in kernels. The context takes the size beyond the default
 * at once. With the rule `lazy_heap`, it takes it with the first module that calls malloc(), after
 * which the size cannot change any more. */
static CUresult heap_set(CUcontext context, uint64_t value)
{
        uint64_t beyond = value > CONTEXT_HEAP_BYTES ? value - CONTEXT_HEAP_BYTES : 0;

        if (!config_get()->grants.is_heap_lazy)
                return growth_set(context, GROWTH_HEAP, beyond);
        return growth_held(context, GROWTH_HEAP) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult limit_apply(CUcontext context, CUlimit limit, size_t value)
{
        switch (limit) {
        case CU_LIMIT_STACK_SIZE:
                return growth_stack_set(context, value);
        case CU_LIMIT_MALLOC_HEAP_SIZE:
                return heap_set(context, value);
        case CU_LIMIT_PRINTF_FIFO_SIZE:
                return growth_held(context, GROWTH_PRINTF) ? CUDA_ERROR_INVALID_VALUE
                                                           : CUDA_SUCCESS;
        default:
                return CUDA_SUCCESS;
        }
}

CUresult sim_cuCtxSetLimit(CUlimit limit, size_t value)
{
        if ((unsigned)limit >= CU_LIMIT_MAX)
                return CUDA_ERROR_INVALID_VALUE;
        if (limit > CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
                return CUDA_ERROR_UNSUPPORTED_LIMIT;
        if (limit == CU_LIMIT_STACK_SIZE && value > 512 << 10)
                return CUDA_ERROR_INVALID_VALUE;
        CUcontext context;
        CUresult result = context_require(&context);
        if (result == CUDA_SUCCESS)
                result = limit_apply(context, limit, value);
        if (result != CUDA_SUCCESS)
                return result;
        pthread_mutex_lock(&process_lock);
        context->limits[limit] = value;
        pthread_mutex_unlock(&process_lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetLimit(size_t *ret, CUlimit limit)
{
        if (!ret || (unsigned)limit >= CU_LIMIT_MAX)
                return CUDA_ERROR_INVALID_VALUE;
        if (limit > CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
                return CUDA_ERROR_UNSUPPORTED_LIMIT;
        CUcontext context;
        CUresult result = context_require(&context);
        if (result != CUDA_SUCCESS)
                return result;
        pthread_mutex_lock(&process_lock);
        *ret = context->limits[limit];
        pthread_mutex_unlock(&process_lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetCacheConfig(CUcontext context, CUfunc_cache *ret)
{
        *ret = context->cache_config;
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetCacheConfig(CUcontext context, CUfunc_cache config)
{
        context->cache_config = config;
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetSharedMemConfig(CUcontext context, CUsharedconfig *ret)
{
        *ret = context->shared_config;
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetSharedMemConfig(CUcontext context, CUsharedconfig config)
{
        context->shared_config = config;
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetStreamPriorityRange(CUcontext context, int *ret_min, int *ret_greatest)
{
        if (ret_min)
                *ret_min = 0;
        if (ret_greatest)
                *ret_greatest = -5;
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxResetPersistingL2Cache(CUcontext context)
{
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetExecAffinity(CUcontext context, CUexecAffinityParam *ret,
                                  CUexecAffinityType type)
{
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY; /* only MPS clients have an affinity */
}

CUresult sim_cuDeviceGetExecAffinitySupport(int *ret, CUexecAffinityType type, CUdevice device)
{
        *ret = 0;
        return CUDA_SUCCESS;
}
