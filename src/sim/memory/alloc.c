/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain, pitched and managed memory, and the amount of free memory.
 *
 * Freeing waits until the device has done all the work that this process gave it, as in the real
 * driver.
 */
#include <stddef.h>

#include "sim/context/context.h"
#include "sim/context/device.h"
#include "sim/entries.h"
#include "sim/exec/exec.h"
#include "sim/memory/families.h"
#include "sim/node/clock.h"
#include "sim/node/config.h"

#define PITCH_BYTES 512

static CUresult allocate(enum memory_kind kind, size_t bytes, unsigned flags, CUdeviceptr *ret)
{
        CUcontext context;
        CUresult result = context_require(&context);

        if (result == CUDA_SUCCESS)
                result = exec_capture_check_unsafe();
        if (result != CUDA_SUCCESS)
                return result;
        sim_spend(config_get()->alloc_ns);
        return memory_make(context, kind, bytes, flags, ret);
}

CUresult sim_cuMemAlloc_v2(CUdeviceptr *ret, size_t bytes)
{
        if (!ret || bytes == 0)
                return CUDA_ERROR_INVALID_VALUE;
        return allocate(MEMORY_DEVICE, bytes, 0, ret);
}

CUresult sim_cuMemAllocPitch_v2(CUdeviceptr *ret, size_t *ret_pitch, size_t width, size_t height,
                                unsigned int element_bytes)
{
        if (!ret || !ret_pitch || width == 0 || height == 0)
                return CUDA_ERROR_INVALID_VALUE;
        if (element_bytes != 4 && element_bytes != 8 && element_bytes != 16)
                return CUDA_ERROR_INVALID_VALUE;
        size_t pitch = (width + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES;
        size_t bytes;
        if (pitch < width || __builtin_mul_overflow(pitch, height, &bytes))
                return CUDA_ERROR_OUT_OF_MEMORY;
        CUresult result = allocate(MEMORY_DEVICE, bytes, 0, ret);
        if (result == CUDA_SUCCESS)
                *ret_pitch = pitch;
        return result;
}

CUresult sim_cuMemAllocManaged(CUdeviceptr *ret, size_t bytes, unsigned int flags)
{
        if (!ret || bytes == 0 || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
                return CUDA_ERROR_INVALID_VALUE;
        return allocate(MEMORY_MANAGED, bytes, flags, ret);
}

CUresult sim_cuMemFree_v2(CUdeviceptr address)
{
        if (address == 0)
                return CUDA_SUCCESS;
        CUresult result = exec_is_in_host_function() ? CUDA_ERROR_NOT_PERMITTED
                          : context_current()        ? context_check(context_current())
                                                     : CUDA_SUCCESS;
        if (result == CUDA_SUCCESS)
                result = exec_capture_check_unsafe();
        if (result != CUDA_SUCCESS)
                return result;
        sim_spend(config_get()->alloc_ns);
        if (memory_end(address, MEMORY_DEVICE) || memory_end(address, MEMORY_MANAGED) ||
            narrow_free(address))
                return CUDA_SUCCESS;
        if (import_free(address) || external_is_buffer(address))
                return CUDA_SUCCESS;
        return pool_free(address);
}

/* Either pointer may be NULL: OptiX calls it that way, and llama.cpp did (its pull request
 * 20499). */
CUresult sim_cuMemGetInfo_v2(CUcontext context, size_t *ret_free, size_t *ret_total)
{
        if (ret_free)
                *ret_free = node_free_bytes(context->unit);
        if (ret_total)
                *ret_total = device_node(context->device)->memory_bytes;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemGetAddressRange_v2(CUcontext context, CUdeviceptr *ret_base, size_t *ret_bytes,
                                     CUdeviceptr address)
{
        struct memory_block block;

        if (!memory_find(address, &block))
                return CUDA_ERROR_NOT_FOUND;
        if (ret_base)
                *ret_base = block.base;
        if (ret_bytes)
                *ret_bytes = block.bytes;
        return CUDA_SUCCESS;
}
