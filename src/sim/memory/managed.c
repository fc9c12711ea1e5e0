/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice about managed memory, prefetching, and queries about both.
 *
 * Advice is kept for each block, not for each page: advice about a part of a block is applied to
 * the whole block. Pages do not move; a prefetch takes the time of the copy in its stream.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sim/context/context.h"
#include "sim/context/device.h"
#include "sim/entries.h"
#include "sim/exec/exec.h"
#include "sim/memory/families.h"
#include "sim/node/config.h"

/* the ordinal for "no place", CU_DEVICE_INVALID; -1 is the host */
#define NOWHERE (-2)

/* Guarded by process_lock. The entry of a freed block is removed when the entry of another block is
 * searched. */
static struct advice {
        uint64_t id; /* id of the block */
        bool is_read_mostly;
        int preferred, prefetched;
        uint32_t accessed_by; /* one bit per ordinal; bit 31 = the host */
        struct advice *next;
} * advices;

/* Returns the advice of a block. NULL: there is none, and `is_made` is false or memory is short.
 * The caller holds process_lock. */
static struct advice *advice_of(uint64_t id, bool is_made)
{
        struct advice *advice = advices;

        while (advice && advice->id != id)
                advice = advice->next;
        if (!advice && is_made) {
                advice = calloc(1, sizeof(*advice));
                if (advice) {
                        advice->id = id;
                        advice->preferred = advice->prefetched = NOWHERE;
                        advice->next = advices;
                        advices = advice;
                }
        }
        return advice;
}

static CUresult managed_find(CUdeviceptr address, size_t bytes, struct memory_block *ret)
{
        if (bytes == 0 || !memory_find(address, ret) || ret->kind != MEMORY_MANAGED ||
            bytes > ret->bytes - (address - ret->base))
                return CUDA_ERROR_INVALID_VALUE;
        return CUDA_SUCCESS;
}

/* Translates a location to an ordinal, or -1 for the host. INVALID_DEVICE for an unknown one. */
static CUresult ordinal_of(const CUmemLocation *location, int *ret)
{
        switch (location->type) {
        case CU_MEM_LOCATION_TYPE_DEVICE:
                *ret = location->id;
                return device_is_valid(location->id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
        case CU_MEM_LOCATION_TYPE_HOST:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
                *ret = CU_DEVICE_CPU;
                return CUDA_SUCCESS;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
}

static CUmemLocation location_of(CUdevice device)
{
        return (CUmemLocation){ .type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST
                                                                : CU_MEM_LOCATION_TYPE_DEVICE,
                                .id = device == CU_DEVICE_CPU ? 0 : device };
}

static CUresult advise(CUdeviceptr address, size_t bytes, CUmem_advise what, CUmemLocation location)
{
        struct memory_block block;
        int place = NOWHERE;
        CUresult result = managed_find(address, bytes, &block);

        if (result == CUDA_SUCCESS && what != CU_MEM_ADVISE_SET_READ_MOSTLY &&
            what != CU_MEM_ADVISE_UNSET_READ_MOSTLY &&
            what != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION)
                result = ordinal_of(&location, &place);
        if (result != CUDA_SUCCESS)
                return result;
        pthread_mutex_lock(&process_lock);
        struct advice *advice = advice_of(block.id, true);
        uint32_t bit = place < 0 ? 1u << 31 : 1u << place;
        if (!advice) {
                pthread_mutex_unlock(&process_lock);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        switch (what) {
        case CU_MEM_ADVISE_SET_READ_MOSTLY:
        case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
                advice->is_read_mostly = what == CU_MEM_ADVISE_SET_READ_MOSTLY;
                break;
        case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
                advice->preferred = place;
                break;
        case CU_MEM_ADVISE_SET_ACCESSED_BY:
                advice->accessed_by |= bit;
                break;
        case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
                advice->accessed_by &= ~bit;
                break;
        default:
                result = CUDA_ERROR_INVALID_VALUE;
        }
        pthread_mutex_unlock(&process_lock);
        return result;
}

CUresult sim_cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise what, CUdevice device)
{
        return advise(address, bytes, what, location_of(device));
}

CUresult sim_cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise what,
                            CUmemLocation location)
{
        return advise(address, bytes, what, location);
}

static void prefetch_run(void *argument)
{
}

struct prefetch {
        CUdeviceptr address;
        size_t bytes;
        CUmemLocation location;
};

static CUresult prefetch(struct prefetch what, CUstream stream, bool is_per_thread)
{
        struct memory_block block;
        CUcontext context;
        int place;
        uint64_t rate = config_get()->host_rate;
        CUresult result = exec_stream_context(stream, is_per_thread, &context);

        if (result == CUDA_SUCCESS)
                result = managed_find(what.address, what.bytes, &block);
        if (result == CUDA_SUCCESS)
                result = ordinal_of(&what.location, &place);
        if (result != CUDA_SUCCESS)
                return result;
        if (exec_stream_is_capturing(stream, is_per_thread))
                return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        pthread_mutex_lock(&process_lock);
        struct advice *advice = advice_of(block.id, true);
        if (advice)
                advice->prefetched = place;
        pthread_mutex_unlock(&process_lock);
        memory_managed_move(block.base, place == block.device);
        uint64_t cost_ns = rate ? (uint64_t)((double)what.bytes * 1e9 / (double)rate) : 0;
        return exec_stream_submit(stream, is_per_thread, prefetch_run, NULL, cost_ns);
}

CUresult sim_cuMemPrefetchAsync(bool is_per_thread, CUdeviceptr address, size_t bytes,
                                CUdevice device, CUstream stream)
{
        return prefetch((struct prefetch){ address, bytes, location_of(device) }, stream,
                        is_per_thread);
}

CUresult sim_cuMemPrefetchAsync_v2(bool is_per_thread, CUdeviceptr address, size_t bytes,
                                   CUmemLocation location, unsigned int flags, CUstream stream)
{
        if (flags != 0)
                return CUDA_ERROR_INVALID_VALUE;
        return prefetch((struct prefetch){ address, bytes, location }, stream, is_per_thread);
}

/* A batch of ranges with the places to which they go: place i applies from range starts[i] on. */
struct batch {
        const CUdeviceptr *addresses;
        const size_t *bytes;
        size_t count;
        const CUmemLocation *places;
        const size_t *starts;
        size_t place_count;
};

static CUresult batch_check(const struct batch *batch, unsigned long long flags)
{
        if (flags != 0 || !batch->addresses || !batch->bytes || batch->count == 0 ||
            !batch->places || !batch->starts || batch->place_count == 0 ||
            batch->place_count > batch->count || batch->starts[0] != 0)
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 1; i < batch->place_count; i++) {
                if (batch->starts[i] <= batch->starts[i - 1] || batch->starts[i] >= batch->count)
                        return CUDA_ERROR_INVALID_VALUE;
        }
        return CUDA_SUCCESS;
}

/* Also used for cuMemDiscardAndPrefetchBatchAsync. Discarded memory may have any value afterwards;
 * the simulator leaves it unchanged. */
CUresult sim_cuMemPrefetchBatchAsync(bool is_per_thread, CUdeviceptr *addresses, size_t *bytes,
                                     size_t count, CUmemLocation *places, size_t *starts,
                                     size_t place_count, unsigned long long flags, CUstream stream)
{
        struct batch batch = { addresses, bytes, count, places, starts, place_count };
        CUresult result = batch_check(&batch, flags);
        size_t place = 0;

        for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
                while (place + 1 < place_count && starts[place + 1] <= i)
                        place++;
                result = prefetch((struct prefetch){ addresses[i], bytes[i], places[place] },
                                  stream, is_per_thread);
        }
        return result;
}

CUresult sim_cuMemDiscardBatchAsync(bool is_per_thread, CUdeviceptr *addresses, size_t *bytes,
                                    size_t count, unsigned long long flags, CUstream stream)
{
        struct memory_block block;
        CUcontext context;
        CUresult result = exec_stream_context(stream, is_per_thread, &context);

        if (result != CUDA_SUCCESS)
                return result;
        if (!addresses || !bytes || count == 0 || flags != 0)
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
                result = managed_find(addresses[i], bytes[i], &block);
        return result;
}

static void put_int(void *ret, int value)
{
        memcpy(ret, &value, sizeof(value));
}

static int type_of(int place)
{
        return place == NOWHERE         ? CU_MEM_LOCATION_TYPE_INVALID
               : place == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST
                                        : CU_MEM_LOCATION_TYPE_DEVICE;
}

static void accessed_by_get(void *ret, size_t ret_bytes, uint32_t mask)
{
        size_t room = ret_bytes / sizeof(int), used = 0;

        for (int bit = 0; bit < 32 && used < room; bit++) {
                if (mask & (1u << bit))
                        put_int((int *)ret + used++, bit == 31 ? CU_DEVICE_CPU : bit);
        }
        while (used < room)
                put_int((int *)ret + used++, CU_DEVICE_INVALID);
}

static CUresult range_get(void *ret, size_t ret_bytes, CUmem_range_attribute attribute,
                          const struct advice *advice)
{
        if (!ret || ret_bytes < sizeof(int) || ret_bytes % sizeof(int) != 0)
                return CUDA_ERROR_INVALID_VALUE;
        switch (attribute) {
        case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
                put_int(ret, advice->is_read_mostly);
                break;
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
                put_int(ret, advice->preferred);
                break;
        case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
                accessed_by_get(ret, ret_bytes, advice->accessed_by);
                break;
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
                put_int(ret, advice->prefetched);
                break;
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
                put_int(ret, type_of(advice->preferred));
                break;
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
                put_int(ret, advice->preferred < 0 ? 0 : advice->preferred);
                break;
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
                put_int(ret, type_of(advice->prefetched));
                break;
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
                put_int(ret, advice->prefetched < 0 ? 0 : advice->prefetched);
                break;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
        return CUDA_SUCCESS;
}

CUresult sim_cuMemRangeGetAttributes(void **ret, size_t *ret_bytes,
                                     CUmem_range_attribute *attributes, size_t count,
                                     CUdeviceptr address, size_t bytes)
{
        struct memory_block block;
        struct advice none = { .preferred = NOWHERE, .prefetched = NOWHERE };

        CUresult result = managed_find(address, bytes, &block);
        if (result != CUDA_SUCCESS || !ret || !ret_bytes || !attributes || count == 0)
                return CUDA_ERROR_INVALID_VALUE;
        pthread_mutex_lock(&process_lock);
        const struct advice *advice = advice_of(block.id, false);
        for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
                result = range_get(ret[i], ret_bytes[i], attributes[i], advice ? advice : &none);
        pthread_mutex_unlock(&process_lock);
        return result;
}

CUresult sim_cuMemRangeGetAttribute(void *ret, size_t ret_bytes, CUmem_range_attribute attribute,
                                    CUdeviceptr address, size_t bytes)
{
        return cuMemRangeGetAttributes(&ret, &ret_bytes, &attribute, 1, address, bytes);
}
