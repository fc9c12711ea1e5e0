/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first CUDA interface, with 32-bit addresses and sizes.
 *
 * Its memory is below 4 GiB, in ranges outside the arenas; the functions of either interface can
 * free it. A size that does not fit 32 bits is reported as the largest possible one.
 */
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/atomic.h"
#include "sim/context/context.h"
#include "sim/context/device.h"
#include "sim/entries.h"
#include "sim/exec/exec.h"
#include "sim/memory/arena.h"
#include "sim/memory/families.h"
#include "sim/memory/ranges.h"
#include "sim/node/clock.h"
#include "sim/node/config.h"
#include "sim/node/node.h"

#define PITCH_BYTES 512u
#define STEP_BYTES (UINT64_C(1) << 20)
#define LOWEST (UINT64_C(256) << 20)
#define HIGHEST (UINT64_C(1) << 32)

/* Maps free address space below 4 GiB. 0 when there is no gap of that size. */
static CUdeviceptr map_low(uint64_t bytes)
{
        static _Atomic uint64_t hint = LOWEST;
        uint64_t step = (bytes + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;

        for (unsigned round = 0; round < HIGHEST / STEP_BYTES; round++) {
                uint64_t at = add_relaxed(&hint, step);

                if (at + step > HIGHEST) {
                        store_relaxed(&hint, LOWEST);
                        continue;
                }
                void *mapped = mmap((void *)(uintptr_t)at, step, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
                if (mapped == (void *)(uintptr_t)at)
                        return at;
                if (mapped != MAP_FAILED) /* a kernel without NOREPLACE took it as a hint */
                        munmap(mapped, step);
        }
        return 0;
}

static CUresult range_make(CUcontext context, uint64_t bytes, const struct slab_place *place,
                           CUdeviceptr_v1 *ret)
{
        struct range *range = calloc(1, sizeof(*range));

        if (!range)
                return CUDA_ERROR_OUT_OF_MEMORY;
        range->start = map_low(bytes);
        if (!range->start) {
                free(range);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        range->end = range->start + bytes;
        range->kind = MEMORY_DEVICE;
        range->device = context->device;
        range->context = context;
        range->place = *place;
        range->id = block_next_id();
        range->mapped_bytes = (bytes + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
        pthread_mutex_lock(&ranges_lock);
        range_insert(&outer_ranges, range);
        pthread_mutex_unlock(&ranges_lock);
        *ret = (CUdeviceptr_v1)range->start;
        return CUDA_SUCCESS;
}

static CUresult allocate(uint64_t bytes, CUdeviceptr_v1 *ret)
{
        CUcontext context;
        CUresult result = context_require(&context);

        if (result == CUDA_SUCCESS)
                result = exec_capture_check_unsafe();
        if (result != CUDA_SUCCESS)
                return result;
        sim_spend(config_get()->alloc_ns);
        struct slab_place place;
        if (!slab_grant(context, FAMILY_ALLOC, bytes, &place))
                return CUDA_ERROR_OUT_OF_MEMORY;
        result = range_make(context, bytes, &place, ret);
        if (result != CUDA_SUCCESS)
                slab_release(context, FAMILY_ALLOC, bytes, &place);
        return result;
}

CUresult sim_cuMemAlloc(CUdeviceptr_v1 *ret, unsigned int bytes)
{
        if (!ret || bytes == 0)
                return CUDA_ERROR_INVALID_VALUE;
        return allocate(bytes, ret);
}

CUresult sim_cuMemAllocPitch(CUdeviceptr_v1 *ret, unsigned int *ret_pitch, unsigned int width,
                             unsigned int height, unsigned int element_bytes)
{
        if (!ret || !ret_pitch || width == 0 || height == 0)
                return CUDA_ERROR_INVALID_VALUE;
        if (element_bytes != 4 && element_bytes != 8 && element_bytes != 16)
                return CUDA_ERROR_INVALID_VALUE;
        uint64_t pitch = ((uint64_t)width + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES;
        if (pitch > UINT32_MAX || pitch * height > UINT32_MAX)
                return CUDA_ERROR_OUT_OF_MEMORY;
        CUresult result = allocate(pitch * height, ret);
        if (result == CUDA_SUCCESS)
                *ret_pitch = (unsigned int)pitch;
        return result;
}

static void range_finish(struct range *range)
{
        slab_release(range->context, FAMILY_ALLOC, range->end - range->start, &range->place);
        munmap((void *)(uintptr_t)range->start, range->mapped_bytes);
        free(range);
}

bool narrow_free(CUdeviceptr address)
{
        pthread_mutex_lock(&ranges_lock);
        struct range *range = range_find(&outer_ranges, address);
        if (range && (range->start != address || range->kind != MEMORY_DEVICE))
                range = NULL;
        if (range)
                range_remove(&outer_ranges, range);
        pthread_mutex_unlock(&ranges_lock);
        if (!range)
                return false;
        exec_device_synchronize(range->context->device);
        range_finish(range);
        return true;
}

CUresult sim_cuMemFree(CUdeviceptr_v1 address)
{
        return cuMemFree_v2(address);
}

void narrow_context_close(CUcontext context)
{
        for (;;) {
                pthread_mutex_lock(&ranges_lock);
                struct range *range = range_find_from(&outer_ranges, 0);
                while (range && !(range->kind == MEMORY_DEVICE && range->context == context))
                        range = range_find_from(&outer_ranges, range->end);
                if (range)
                        range_remove(&outer_ranges, range);
                pthread_mutex_unlock(&ranges_lock);
                if (!range)
                        return;
                range_finish(range);
        }
}

static unsigned int narrow(uint64_t bytes)
{
        return bytes > UINT32_MAX ? UINT32_MAX : (unsigned int)bytes;
}

CUresult sim_cuMemGetInfo(CUcontext context, unsigned int *ret_free, unsigned int *ret_total)
{
        if (ret_free)
                *ret_free = narrow(node_free_bytes(context->unit));
        if (ret_total)
                *ret_total = narrow(device_node(context->device)->memory_bytes);
        return CUDA_SUCCESS;
}

CUresult sim_cuMemGetAddressRange(CUdeviceptr_v1 *ret_base, unsigned int *ret_bytes,
                                  CUdeviceptr_v1 address)
{
        CUdeviceptr base;
        size_t bytes;

        CUresult result = cuMemGetAddressRange_v2(&base, &bytes, address);
        if (result == CUDA_SUCCESS && ret_base)
                *ret_base = (CUdeviceptr_v1)base;
        if (result == CUDA_SUCCESS && ret_bytes)
                *ret_bytes = narrow(bytes);
        return result;
}

CUresult sim_cuArrayCreate(CUarray *ret, const CUDA_ARRAY_DESCRIPTOR_v1 *flat)
{
        return cuArrayCreate_v2(ret, &(CUDA_ARRAY_DESCRIPTOR){ .Width = flat->Width,
                                                               .Height = flat->Height,
                                                               .Format = flat->Format,
                                                               .NumChannels = flat->NumChannels });
}

CUresult sim_cuArray3DCreate(CUarray *ret, const CUDA_ARRAY3D_DESCRIPTOR_v1 *deep)
{
        return cuArray3DCreate_v2(ret, &(CUDA_ARRAY3D_DESCRIPTOR){ .Width = deep->Width,
                                                                   .Height = deep->Height,
                                                                   .Depth = deep->Depth,
                                                                   .Format = deep->Format,
                                                                   .NumChannels = deep->NumChannels,
                                                                   .Flags = deep->Flags });
}
