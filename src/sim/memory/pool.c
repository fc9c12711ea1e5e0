/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory pools: the default pool of each device, other pools, their attributes, access and export.
 *
 * A pool's struct stays for ever, and its magic shows whether the pool is live. Another process can
 * import a pool and single pointers of it, but cannot allocate from it.
 */
#include "sim/memory/pool.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "sim/context/context.h"
#include "sim/context/device.h"
#include "sim/entries.h"
#include "sim/exec/exec.h"
#include "sim/memory/families.h"
#include "sim/node/share.h"

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static CUmemoryPool pools; /* this list and the two arrays below are guarded by pools_lock */
static CUmemoryPool default_pool[SIM_DEVICES]; /* by ordinal; guarded by pools_lock */
/* by ordinal; NULL: the default pool; guarded by pools_lock */
static CUmemoryPool current_pool[SIM_DEVICES];

static CUmemoryPool pool_make(CUdevice device, const CUmemPoolProps *props)
{
        CUmemoryPool pool = calloc(1, sizeof(*pool));

        if (!pool)
                return NULL;
        pool->magic = POOL_MAGIC;
        pool->device = device;
        pool->props = *props;
        pthread_mutex_init(&pool->lock, NULL);
        pool->reserve.unit = device_unit(device);
        pool->reserve.family = FAMILY_POOL;
        pool->read_mask = pool->write_mask = 1u << device;
        pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
        pool->next = pools;
        pools = pool;
        return pool;
}

static CUmemoryPool default_of(CUdevice device)
{
        CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
                                               .id = device } };

        if (!default_pool[device]) {
                default_pool[device] = pool_make(device, &props);
                if (default_pool[device])
                        default_pool[device]->is_default = true;
        }
        return default_pool[device];
}

CUmemoryPool pool_current(CUdevice device)
{
        pthread_mutex_lock(&pools_lock);
        CUmemoryPool pool = current_pool[device] ? current_pool[device] : default_of(device);
        pthread_mutex_unlock(&pools_lock);
        return pool;
}

CUresult pool_check(CUmemoryPool pool)
{
        return pool && pool->magic == POOL_MAGIC && !pool->is_destroyed ? CUDA_SUCCESS
                                                                        : CUDA_ERROR_INVALID_VALUE;
}

bool pool_allows(CUmemoryPool pool, CUdevice device, unsigned access)
{
        uint32_t bit = 1u << device;

        return (!(access & ACCESS_READ) || (pool->read_mask & bit)) &&
               (!(access & ACCESS_WRITE) || (pool->write_mask & bit));
}

void memory_synchronized(CUdevice device)
{
        pthread_mutex_lock(&pools_lock);
        for (CUmemoryPool pool = pools; pool; pool = pool->next) {
                if (pool->magic != POOL_MAGIC || pool->device != device)
                        continue;
                pthread_mutex_lock(&pool->lock);
                uint64_t busy = pool->reserve.used_bytes + pool->pending_bytes;
                reserve_trim(&pool->reserve, busy > pool->release_threshold_bytes
                                                     ? busy
                                                     : pool->release_threshold_bytes);
                pthread_mutex_unlock(&pool->lock);
        }
        pthread_mutex_unlock(&pools_lock);
}

/* Checks and copies the requested properties; a locality domain becomes its device. */
static CUresult props_take(const CUmemPoolProps *asked, CUmemPoolProps *props)
{
        if (!asked)
                return CUDA_ERROR_INVALID_VALUE;
        *props = *asked;
        props->location = location_plain(asked->location);
        if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
                return CUDA_ERROR_INVALID_VALUE;
        if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
                return CUDA_ERROR_NOT_SUPPORTED; /* pools of host memory */
        if (!device_is_valid(props->location.id))
                return CUDA_ERROR_INVALID_DEVICE;
        if (props->handleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                return CUDA_ERROR_NOT_SUPPORTED;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolCreate(CUmemoryPool *ret, const CUmemPoolProps *asked)
{
        CUmemPoolProps props;
        CUresult result = props_take(asked, &props);

        if (result != CUDA_SUCCESS)
                return result;
        pthread_mutex_lock(&pools_lock);
        CUmemoryPool pool = pool_make(props.location.id, &props);
        pthread_mutex_unlock(&pools_lock);
        if (!pool)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *ret = pool;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolDestroy(CUmemoryPool pool)
{
        CUresult result = pool_check(pool);

        if (result != CUDA_SUCCESS)
                return result;
        if (pool->is_default)
                return CUDA_ERROR_INVALID_VALUE;
        pthread_mutex_lock(&pools_lock);
        if (current_pool[pool->device] == pool)
                current_pool[pool->device] = NULL;
        pthread_mutex_unlock(&pools_lock);
        pthread_mutex_lock(&pool->lock);
        pool->is_destroyed = true;
        if (pool->live == 0)
                reserve_trim(&pool->reserve, 0);
        pthread_mutex_unlock(&pool->lock);
        if (pool->share)
                share_close(pool->share);
        return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolTrimTo(CUmemoryPool pool, size_t keep_bytes)
{
        CUresult result = pool_check(pool);

        if (result == CUDA_SUCCESS)
                result = exec_capture_check_unsafe();
        if (result != CUDA_SUCCESS)
                return result;
        pthread_mutex_lock(&pool->lock);
        uint64_t busy = pool->reserve.used_bytes + pool->pending_bytes;
        reserve_trim(&pool->reserve, max_u64(busy, keep_bytes));
        pthread_mutex_unlock(&pool->lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
        CUresult result = pool_check(pool);

        if (result != CUDA_SUCCESS || !value)
                return CUDA_ERROR_INVALID_VALUE;
        pthread_mutex_lock(&pool->lock);
        switch (attribute) {
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
                pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] =
                        *(int *)value;
                break;
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
                pool->release_threshold_bytes = *(cuuint64_t *)value;
                break;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
                if (*(cuuint64_t *)value != 0)
                        result = CUDA_ERROR_INVALID_VALUE;
                else if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
                        pool->reserve.reserved_high_bytes = pool->reserve.reserved_bytes;
                else
                        pool->reserve.used_high_bytes = pool->reserve.used_bytes;
                break;
        default:
                result = CUDA_ERROR_INVALID_VALUE;
        }
        pthread_mutex_unlock(&pool->lock);
        return result;
}

CUresult sim_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *ret)
{
        CUresult result = pool_check(pool);

        if (result != CUDA_SUCCESS || !ret)
                return CUDA_ERROR_INVALID_VALUE;
        result = exec_capture_check_unsafe();
        if (result != CUDA_SUCCESS)
                return result;
        pthread_mutex_lock(&pool->lock);
        switch (attribute) {
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
                *(int *)ret =
                        pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
                break;
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
                *(cuuint64_t *)ret = pool->release_threshold_bytes;
                break;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
                *(cuuint64_t *)ret = pool->reserve.reserved_bytes;
                break;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
                *(cuuint64_t *)ret = pool->reserve.reserved_high_bytes;
                break;
        case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
                *(cuuint64_t *)ret = pool->reserve.used_bytes;
                break;
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
                *(cuuint64_t *)ret = pool->reserve.used_high_bytes;
                break;
        default:
                result = CUDA_ERROR_INVALID_VALUE;
        }
        pthread_mutex_unlock(&pool->lock);
        return result;
}

CUresult sim_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
        CUresult result = pool_check(pool);

        if (result != CUDA_SUCCESS || !access || count == 0)
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < count; i++) {
                if (access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
                        return CUDA_ERROR_INVALID_VALUE;
                if (!device_is_valid(access[i].location.id))
                        return CUDA_ERROR_INVALID_DEVICE;
                if (access[i].location.id == pool->device &&
                    access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
                        return CUDA_ERROR_INVALID_VALUE;
        }
        pthread_mutex_lock(&pool->lock);
        for (size_t i = 0; i < count; i++) {
                uint32_t bit = 1u << access[i].location.id;

                pool->read_mask &= ~bit;
                pool->write_mask &= ~bit;
                if (access[i].flags & CU_MEM_ACCESS_FLAGS_PROT_READ)
                        pool->read_mask |= bit;
                if (access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
                        pool->write_mask |= bit;
        }
        pthread_mutex_unlock(&pool->lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolGetAccess(CUmemAccess_flags *ret, CUmemoryPool pool, CUmemLocation *location)
{
        CUresult result = pool_check(pool);

        if (result != CUDA_SUCCESS || !ret || !location ||
            location->type != CU_MEM_LOCATION_TYPE_DEVICE)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device_is_valid(location->id))
                return CUDA_ERROR_INVALID_DEVICE;
        uint32_t bit = 1u << location->id;
        *ret = pool->write_mask & bit  ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
               : pool->read_mask & bit ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                       : CU_MEM_ACCESS_FLAGS_PROT_NONE;
        return CUDA_SUCCESS;
}

static CUresult device_pool(CUmemoryPool *ret, CUdevice device, bool is_default)
{
        if (!ret)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        if (is_default) {
                pthread_mutex_lock(&pools_lock);
                *ret = default_of(device);
                pthread_mutex_unlock(&pools_lock);
        } else {
                *ret = pool_current(device);
        }
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
        CUresult result = pool_check(pool);

        if (result != CUDA_SUCCESS)
                return result;
        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        if (pool->device != device || pool->is_imported)
                return CUDA_ERROR_INVALID_VALUE;
        pthread_mutex_lock(&pools_lock);
        current_pool[device] = pool;
        pthread_mutex_unlock(&pools_lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetDefaultMemPool(CUmemoryPool *ret, CUdevice device)
{
        return device_pool(ret, device, true);
}

CUresult sim_cuDeviceGetMemPool(CUmemoryPool *ret, CUdevice device)
{
        return device_pool(ret, device, false);
}

static CUresult location_device(const CUmemLocation *asked, CUmemAllocationType type, CUdevice *ret)
{
        CUmemLocation location;

        if (!asked || type != CU_MEM_ALLOCATION_TYPE_PINNED)
                return CUDA_ERROR_INVALID_VALUE;
        location = location_plain(*asked);
        if (location.type != CU_MEM_LOCATION_TYPE_DEVICE)
                return CUDA_ERROR_NOT_SUPPORTED;
        *ret = location.id;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemGetDefaultMemPool(CUmemoryPool *ret, CUmemLocation *location,
                                    CUmemAllocationType type)
{
        CUdevice device;
        CUresult result = location_device(location, type, &device);

        return result == CUDA_SUCCESS ? device_pool(ret, device, true) : result;
}

CUresult sim_cuMemGetMemPool(CUmemoryPool *ret, CUmemLocation *location, CUmemAllocationType type)
{
        CUdevice device;
        CUresult result = location_device(location, type, &device);

        return result == CUDA_SUCCESS ? device_pool(ret, device, false) : result;
}

CUresult sim_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
        CUdevice device;
        CUresult result = location_device(location, type, &device);

        return result == CUDA_SUCCESS ? sim_cuDeviceSetMemPool(device, pool) : result;
}

CUresult sim_cuMemPoolExportToShareableHandle(void *ret, CUmemoryPool pool,
                                              CUmemAllocationHandleType type,
                                              unsigned long long flags)
{
        CUresult result = pool_check(pool);

        if (result != CUDA_SUCCESS || !ret || flags != 0 || pool->is_imported)
                return CUDA_ERROR_INVALID_VALUE;
        if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
            !(pool->props.handleTypes & (unsigned)type))
                return CUDA_ERROR_INVALID_VALUE;
        struct share_plan plan = { .device = pool->reserve.unit, .family = FAMILY_POOL, .fd = -1 };
        pthread_mutex_lock(&pool->lock);
        if (!pool->share)
                pool->share = share_make(&plan);
        int fd = pool->share ? share_descriptor(pool->share) : -1;
        pthread_mutex_unlock(&pool->lock);
        if (fd < 0)
                return CUDA_ERROR_OPERATING_SYSTEM;
        *(int *)ret = fd;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolImportFromShareableHandle(CUmemoryPool *ret, void *os_handle,
                                                CUmemAllocationHandleType type,
                                                unsigned long long flags)
{
        struct share_view view;

        if (!ret || flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                return CUDA_ERROR_INVALID_VALUE;
        uint64_t id = share_of_descriptor((int)(intptr_t)os_handle);
        if (!id || share_open(id, false, &view) != SHARE_OK)
                return CUDA_ERROR_INVALID_VALUE;
        CUdevice device = device_of_unit(view.device);
        if (view.length != 0 || device < 0) {
                share_close(id);
                return CUDA_ERROR_INVALID_VALUE;
        }
        CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
                                               .id = device } };
        pthread_mutex_lock(&pools_lock);
        CUmemoryPool pool = pool_make(device, &props);
        pthread_mutex_unlock(&pools_lock);
        if (!pool)
                return CUDA_ERROR_OUT_OF_MEMORY;
        pool->is_imported = true;
        pool->share = id;
        *ret = pool;
        return CUDA_SUCCESS;
}
