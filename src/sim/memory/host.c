/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pinned host memory: allocated by the driver, or registered by the program.
 *
 * With unified addressing, its device pointer is the host pointer. Pinned memory takes no device
 * memory, but pinning takes time of the caller (setting pin=). When a context ends, its allocations
 * are freed and its registrations removed.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "sim/context/context.h"
#include "sim/entries.h"
#include "sim/exec/exec.h"
#include "sim/memory/families.h"
#include "sim/memory/ranges.h"
#include "sim/node/clock.h"
#include "sim/node/config.h"

#define PAGE_BYTES 4096ULL
#define ALLOC_FLAGS \
        (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED)
#define REGISTER_FLAGS                                                \
        (CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | \
         CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY)

/* Charges the caller the time that the driver needs to lock each page. Unpinning is cheap and costs
 * nothing in the model. */
static void pin_spend(size_t bytes)
{
        uint64_t rate = config_get()->pin_rate;

        if (rate)
                sim_spend((uint64_t)((double)bytes * 1e9 / (double)rate));
}

CUresult sim_cuMemHostAlloc(void **ret, size_t bytes, unsigned flags)
{
        if (!ret || bytes == 0 || (flags & ~(unsigned)ALLOC_FLAGS))
                return CUDA_ERROR_INVALID_VALUE;
        CUcontext context;
        CUresult result = context_require(&context);
        if (result == CUDA_SUCCESS)
                result = exec_capture_check_unsafe();
        if (result != CUDA_SUCCESS)
                return result;
        size_t mapped = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
        struct range *range = calloc(1, sizeof(*range));
        if (!range || mapped < bytes) {
                free(range);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        sim_spend(config_get()->alloc_ns);
        void *address =
                mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (address == MAP_FAILED) {
                free(range);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        range->start = (CUdeviceptr)(uintptr_t)address;
        range->end = range->start + bytes;
        range->kind = MEMORY_HOST;
        range->device = CU_DEVICE_CPU;
        range->context = context;
        range->id = block_next_id();
        range->flags = flags | CU_MEMHOSTALLOC_DEVICEMAP;
        range->mapped_bytes = mapped;
        pthread_mutex_lock(&ranges_lock);
        range_insert(&outer_ranges, range);
        pthread_mutex_unlock(&ranges_lock);
        *ret = address;
        pin_spend(bytes);
        return CUDA_SUCCESS;
}

/* Removes the range of this kind that begins at `start` from the set and returns it; NULL if there
 * is none. */
static struct range *range_take(CUdeviceptr start, enum memory_kind kind)
{
        pthread_mutex_lock(&ranges_lock);
        struct range *range = range_find(&outer_ranges, start);
        if (range && (range->start != start || range->kind != kind))
                range = NULL;
        if (range)
                range_remove(&outer_ranges, range);
        pthread_mutex_unlock(&ranges_lock);
        return range;
}

static void host_end(struct range *range)
{
        if (range->kind == MEMORY_HOST)
                munmap((void *)(uintptr_t)range->start, range->mapped_bytes);
        free(range);
}

CUresult sim_cuMemFreeHost(void *address)
{
        if (!address)
                return CUDA_SUCCESS;
        CUcontext context;
        CUresult result = context_require(&context);
        if (result == CUDA_SUCCESS)
                result = exec_capture_check_unsafe();
        if (result != CUDA_SUCCESS)
                return result;
        exec_device_synchronize(context->device);
        struct range *range = range_take((CUdeviceptr)(uintptr_t)address, MEMORY_HOST);
        if (!range)
                return CUDA_ERROR_INVALID_VALUE;
        host_end(range);
        return CUDA_SUCCESS;
}

CUresult sim_cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags)
{
        unsigned char resident;

        if (!address || bytes == 0 || (flags & ~(unsigned)REGISTER_FLAGS))
                return CUDA_ERROR_INVALID_VALUE;
        CUcontext context;
        CUresult result = context_require(&context);
        if (result != CUDA_SUCCESS)
                return result;
        void *page = (void *)((uintptr_t)address & ~(uintptr_t)(PAGE_BYTES - 1));
        if (mincore(page, 1, &resident) < 0 && errno == ENOMEM)
                return CUDA_ERROR_INVALID_VALUE;
        struct range *range = calloc(1, sizeof(*range));
        if (!range)
                return CUDA_ERROR_OUT_OF_MEMORY;
        range->start = (CUdeviceptr)(uintptr_t)address;
        range->end = range->start + bytes;
        range->kind = MEMORY_REGISTERED;
        range->device = CU_DEVICE_CPU;
        range->context = context;
        range->id = block_next_id();
        range->flags = (flags & CU_MEMHOSTREGISTER_PORTABLE) | CU_MEMHOSTALLOC_DEVICEMAP;
        pthread_mutex_lock(&ranges_lock);
        bool is_new = range_insert(&outer_ranges, range);
        pthread_mutex_unlock(&ranges_lock);
        if (!is_new) {
                free(range);
                return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
        }
        pin_spend(bytes);
        return CUDA_SUCCESS;
}

CUresult sim_cuMemHostUnregister(CUcontext context, void *address)
{
        exec_device_synchronize(context->device);
        struct range *range = range_take((CUdeviceptr)(uintptr_t)address, MEMORY_REGISTERED);
        if (!range)
                return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
        host_end(range);
        return CUDA_SUCCESS;
}

static bool host_find(const void *address, struct memory_block *ret)
{
        return memory_find((CUdeviceptr)(uintptr_t)address, ret) &&
               (ret->kind == MEMORY_HOST || ret->kind == MEMORY_REGISTERED);
}

CUresult sim_cuMemHostGetDevicePointer_v2(CUdeviceptr *ret, void *address, unsigned int flags)
{
        struct memory_block block;

        if (!ret || !address || flags != 0)
                return CUDA_ERROR_INVALID_VALUE;
        CUcontext context;
        CUresult result = context_require(&context);
        if (result != CUDA_SUCCESS)
                return result;
        if (!host_find(address, &block))
                return CUDA_ERROR_INVALID_VALUE;
        *ret = (CUdeviceptr)(uintptr_t)address;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemHostGetFlags(CUcontext context, unsigned int *ret, void *address)
{
        struct memory_block block;

        if (!host_find(address, &block) || block.kind != MEMORY_HOST)
                return CUDA_ERROR_INVALID_VALUE;
        *ret = block.flags;
        return CUDA_SUCCESS;
}

void host_context_close(CUcontext context)
{
        CUdeviceptr from = 0;

        for (;;) {
                pthread_mutex_lock(&ranges_lock);
                struct range *range = range_find_from(&outer_ranges, from);
                while (range && !(range->context == context &&
                                  (range->kind == MEMORY_HOST || range->kind == MEMORY_REGISTERED)))
                        range = range_find_from(&outer_ranges, range->end);
                if (range) {
                        from = range->start;
                        range_remove(&outer_ranges, range);
                }
                pthread_mutex_unlock(&ranges_lock);
                if (!range)
                        return;
                host_end(range);
        }
}
