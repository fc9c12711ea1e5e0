/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes of a library's kernel for one device: those of its function in a context of that
 * device.
 */
#include "sim/entries.h"
#include "sim/module/module.h"

/* Returns a function of the kernel in a context of the device: the current context if it is of that
 * device. */
static CUresult function_on(CUkernel kernel, CUdevice device, CUfunction *ret_function)
{
        CUcontext context = context_current();

        if (!kernel || kernel->magic != KERNEL_MAGIC)
                return CUDA_ERROR_INVALID_HANDLE;
        if (!context || context->device != device)
                context = context_primary(device);
        if (!context)
                return CUDA_ERROR_INVALID_DEVICE;
        return function_of((CUfunction)kernel, context, ret_function);
}

CUresult sim_cuKernelGetAttribute(int *ret, CUfunction_attribute attribute, CUkernel kernel,
                                  CUdevice device)
{
        CUfunction function;
        CUresult rc = function_on(kernel, device, &function);

        return rc == CUDA_SUCCESS ? cuFuncGetAttribute(ret, attribute, function) : rc;
}

CUresult sim_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                  CUdevice device)
{
        CUfunction function;
        CUresult rc = function_on(kernel, device, &function);

        return rc == CUDA_SUCCESS ? cuFuncSetAttribute(function, attribute, value) : rc;
}

CUresult sim_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device)
{
        CUfunction function;
        CUresult rc = function_on(kernel, device, &function);

        return rc == CUDA_SUCCESS ? cuFuncSetCacheConfig(function, config) : rc;
}
