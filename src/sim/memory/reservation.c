/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reserved address space for VMM mappings.
 */
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "sim/entries.h"
#include "sim/memory/arena.h"
#include "sim/memory/ranges.h"
#include "sim/memory/vmm.h"

/* Reserves `bytes` at a multiple of `alignment`; at the hint if that is possible. Returns 0 on
 * failure. */
static CUdeviceptr space_take(uint64_t bytes, uint64_t alignment, CUdeviceptr hint)
{
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        char *at = MAP_FAILED;

        if (hint && hint % alignment == 0)
                at = mmap((void *)(uintptr_t)hint, bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE,
                          -1, 0);
        if (at != MAP_FAILED && (CUdeviceptr)(uintptr_t)at == hint)
                return hint;
        if (at != MAP_FAILED)
                munmap(at, bytes); /* a kernel without NOREPLACE took it as a hint */
        at = mmap(NULL, bytes + alignment, PROT_NONE, flags, -1, 0);
        if (at == MAP_FAILED)
                return 0;
        uint64_t skew = (uintptr_t)at % alignment ? alignment - (uintptr_t)at % alignment : 0;
        if (skew)
                munmap(at, skew);
        if (alignment > skew)
                munmap(at + skew + bytes, alignment - skew);
        madvise(at + skew, bytes, MADV_DONTFORK);
        return (CUdeviceptr)(uintptr_t)at + skew;
}

CUresult sim_cuMemAddressReserve(CUdeviceptr *ret, size_t bytes, size_t alignment, CUdeviceptr hint,
                                 unsigned long long flags)
{
        if (!ret || flags != 0 || bytes == 0 || bytes % VMM_GRANULARITY != 0 ||
            (alignment & (alignment - 1)) != 0)
                return CUDA_ERROR_INVALID_VALUE;
        if (alignment < VMM_GRANULARITY)
                alignment = VMM_GRANULARITY;
        struct range *range = calloc(1, sizeof(*range));
        CUdeviceptr address = range ? space_take(bytes, alignment, hint) : 0;
        if (!address) {
                free(range);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        range->start = address;
        range->end = address + bytes;
        range->kind = MEMORY_RESERVED;
        range->device = CU_DEVICE_CPU;
        range->id = block_next_id();
        pthread_mutex_lock(&ranges_lock);
        range_insert(&outer_ranges, range);
        pthread_mutex_unlock(&ranges_lock);
        *ret = address;
        vmm_spend(VMM_RESERVE, bytes);
        return CUDA_SUCCESS;
}

CUresult sim_cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
        CUresult result = CUDA_ERROR_INVALID_VALUE;

        pthread_mutex_lock(&ranges_lock);
        struct range *range = range_find(&outer_ranges, address);
        struct range *mapped = range_find_from(&mapped_ranges, address);
        if (range && range->kind == MEMORY_RESERVED && range->start == address &&
            range->end == address + bytes && (!mapped || mapped->start >= range->end)) {
                range_remove(&outer_ranges, range);
                munmap((void *)(uintptr_t)address, bytes);
                free(range);
                result = CUDA_SUCCESS;
        }
        pthread_mutex_unlock(&ranges_lock);
        return result;
}
