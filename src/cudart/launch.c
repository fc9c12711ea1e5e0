/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel launches, and queries about kernels.
 *
 * f<<<grid, block>>>() compiles to a call of __cudaPushCallConfiguration() and of a stub that nvcc
 * makes. The stub pops the configuration, and launches the kernel by a handle that it got from one
 * call of __cudaGetKernel(). The stub ignores an error of that call, so a launch with an empty
 * handle returns the error instead.
 */
#include "cudart/runtime.h"

#include "common/atomic.h"
#include "cudart/hand.h"

#include <stdlib.h>
#include <string.h>

/* The configuration of a launch, between push and pop. */
struct configuration {
        dim3 grid, block;
        size_t shared;
        cudaStream_t stream;
};

/* depth of the stack: the arguments of a launch may contain further launches */
#define NESTED_LAUNCHES 8

static __thread struct configuration pushed[NESTED_LAUNCHES];
static __thread unsigned pushed_count;

static _Atomic int kernel_error; /* the error of the last __cudaGetKernel() that failed */

EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                            cudaStream_t stream);
EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                            cudaStream_t stream)
{
        if (pushed_count == NESTED_LAUNCHES)
                return 1;
        pushed[pushed_count++] = (struct configuration){ grid, block, shared, stream };
        return 0;
}

int rt___cudaPopCallConfiguration(const struct driver *d, dim3 *grid, dim3 *block, size_t *shared,
                                  void *stream)
{
        const struct configuration *last;

        if (pushed_count == 0)
                return cudaErrorMissingConfiguration;
        last = &pushed[--pushed_count];
        *grid = last->grid;
        *block = last->block;
        *shared = last->shared;
        *(cudaStream_t *)stream = last->stream;
        return 0;
}

int rt___cudaGetKernel(const struct driver *d, cudaKernel_t *ret, const void *function)
{
        int rc = registry_kernel(function, ret);

        if (rc)
                store_relaxed(&kernel_error, rc);
        return rc;
}

int rt_cudaGetKernel(const struct driver *d, cudaKernel_t *ret, const void *function)
{
        return ret ? registry_kernel(function, ret) : CUDA_ERROR_INVALID_VALUE;
}

/* Converts the driver's error for a grid or block that no device accepts to the runtime's. */
static int launch_error(CUresult rc)
{
        return rc == CUDA_ERROR_INVALID_VALUE ? cudaErrorInvalidConfiguration : (int)rc;
}

struct launch_shape {
        dim3 grid, block;
        size_t shared;
        void **args;
};

static int launch(const struct driver *d, CUfunction function, const struct launch_shape *shape,
                  cudaStream_t stream)
{
        const dim3 *grid = &shape->grid, *block = &shape->block;

        return launch_error(d->cuLaunchKernel(function, grid->x, grid->y, grid->z, block->x,
                                              block->y, block->z, (unsigned)shape->shared, stream,
                                              shape->args, NULL));
}

int rt___cudaLaunchKernel(const struct driver *d, cudaKernel_t kernel, dim3 grid, dim3 block,
                          void **args, size_t shared, cudaStream_t stream)
{
        const struct launch_shape shape = { grid, block, shared, args };
        int rc = kernel ? runtime_enter(ENTER_CONTEXT) : load_relaxed(&kernel_error);

        if (!kernel && !rc)
                rc = cudaErrorInvalidDeviceFunction;
        return rc ? rc : launch(d, (CUfunction)kernel, &shape, stream);
}

int rt_cudaLaunchKernel(const struct driver *d, const void *function, dim3 grid, dim3 block,
                        void **args, size_t shared, cudaStream_t stream)
{
        const struct launch_shape shape = { grid, block, shared, args };
        CUfunction found;
        int rc = registry_function(function, &found);

        return rc ? rc : launch(d, found, &shape, stream);
}

int rt_cudaLaunchCooperativeKernel(const struct driver *d, const void *function, dim3 grid,
                                   dim3 block, void **args, size_t shared, cudaStream_t stream)
{
        CUfunction found;
        int rc = registry_function(function, &found);

        if (rc)
                return rc;
        return launch_error(d->cuLaunchCooperativeKernel(found, grid.x, grid.y, grid.z, block.x,
                                                         block.y, block.z, (unsigned)shared, stream,
                                                         args));
}

int rt_cudaLaunchKernelExC(const struct driver *d, const cudaLaunchConfig_t *config,
                           const void *function, void **args)
{
        CUfunction found;
        CUlaunchConfig to;
        int rc;

        if (!config)
                return CUDA_ERROR_INVALID_VALUE;
        rc = registry_function(function, &found);
        if (rc)
                return rc;
        to = (CUlaunchConfig){
                .gridDimX = config->gridDim.x,
                .gridDimY = config->gridDim.y,
                .gridDimZ = config->gridDim.z,
                .blockDimX = config->blockDim.x,
                .blockDimY = config->blockDim.y,
                .blockDimZ = config->blockDim.z,
                .sharedMemBytes = (unsigned)config->dynamicSmemBytes,
                .hStream = config->stream,
                .attrs = config->attrs,
                .numAttrs = config->numAttrs,
        };
        return launch_error(d->cuLaunchKernelEx(&to, found, args, NULL));
}

/* The driver's attributes in the order of cudaFuncAttributes' int members, from
 * maxThreadsPerBlock on. */
static const CUfunction_attribute int_attributes[] = {
        CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
        CU_FUNC_ATTRIBUTE_NUM_REGS,
        CU_FUNC_ATTRIBUTE_PTX_VERSION,
        CU_FUNC_ATTRIBUTE_BINARY_VERSION,
        CU_FUNC_ATTRIBUTE_CACHE_MODE_CA,
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
        CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET,
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH,
        CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
};

static size_t size_attribute(const struct driver *d, CUfunction function,
                             CUfunction_attribute attribute)
{
        int value = 0;

        d->cuFuncGetAttribute(&value, attribute, function);
        return (size_t)value;
}

int rt_cudaFuncGetAttributes(const struct driver *d, struct cudaFuncAttributes *ret,
                             const void *function)
{
        CUfunction found;
        int rc = ret ? registry_function(function, &found) : CUDA_ERROR_INVALID_VALUE;

        if (rc)
                return rc;
        memset(ret, 0, sizeof(*ret));
        ret->sharedSizeBytes = size_attribute(d, found, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
        ret->constSizeBytes = size_attribute(d, found, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
        ret->localSizeBytes = size_attribute(d, found, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
        for (size_t i = 0; i < sizeof(int_attributes) / sizeof(int_attributes[0]); i++)
                d->cuFuncGetAttribute(&ret->maxThreadsPerBlock + i, int_attributes[i], found);
        return 0;
}

int rt_cudaFuncSetAttribute(const struct driver *d, const void *function, int attribute, int value)
{
        CUfunction found;
        int rc = registry_function(function, &found);

        return rc ? rc : (int)d->cuFuncSetAttribute(found, attribute, value);
}

int rt_cudaFuncSetCacheConfig(const struct driver *d, const void *function, int config)
{
        CUfunction found;
        int rc = registry_function(function, &found);

        return rc ? rc : (int)d->cuFuncSetCacheConfig(found, config);
}

int rt_cudaFuncSetSharedMemConfig(const struct driver *d, const void *function, int config)
{
        CUfunction found;
        int rc = registry_function(function, &found);

        return rc ? rc : (int)d->cuFuncSetSharedMemConfig(found, config);
}

int rt_cudaFuncGetName(const struct driver *d, const char **ret, const void *function)
{
        CUfunction found;
        int rc = registry_function(function, &found);

        return rc ? rc : (int)d->cuFuncGetName(ret, found);
}

int rt_cudaFuncGetParamInfo(const struct driver *d, const void *function, size_t index,
                            size_t *ret_offset, size_t *ret_bytes)
{
        CUfunction found;
        int rc = registry_function(function, &found);

        return rc ? rc : (int)d->cuFuncGetParamInfo(found, index, ret_offset, ret_bytes);
}

int rt_cudaGetFuncBySymbol(const struct driver *d, cudaFunction_t *ret, const void *function)
{
        return ret ? registry_function(function, ret) : CUDA_ERROR_INVALID_VALUE;
}

int rt_cudaOccupancyMaxActiveBlocksPerMultiprocessor(const struct driver *d, int *ret,
                                                     const void *function, int block, size_t shared)
{
        CUfunction found;
        int rc = registry_function(function, &found);

        return rc ? rc
                  : (int)d->cuOccupancyMaxActiveBlocksPerMultiprocessor(ret, found, block, shared);
}

int rt_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(const struct driver *d, int *ret,
                                                              const void *function, int block,
                                                              size_t shared, unsigned int flags)
{
        CUfunction found;
        int rc = registry_function(function, &found);

        return rc ? rc
                  : (int)d->cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ret, found, block,
                                                                                 shared, flags);
}

int rt_cudaOccupancyAvailableDynamicSMemPerBlock(const struct driver *d, size_t *ret,
                                                 const void *function, int blocks, int block)
{
        CUfunction found;
        int rc = registry_function(function, &found);

        return rc ? rc : (int)d->cuOccupancyAvailableDynamicSMemPerBlock(ret, found, blocks, block);
}
