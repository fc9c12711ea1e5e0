/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of graph allocation nodes: an address for ever, memory behind it while a graph uses it.
 *
 * Each device has one reserve for all graphs of the process. It grows when a node executes and
 * shrinks only by cuDeviceGraphMemTrim.
 */
#include <pthread.h>
#include <stddef.h>

#include "sim/context/device.h"
#include "sim/exec/exec.h"
#include "sim/memory/families.h"
#include "sim/memory/pool.h"
#include "sim/node/fault.h"

#define COMMITTED 1u

static pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER;
static struct reserve reserves[SIM_DEVICES]; /* by unit; graph_lock */

static struct reserve *reserve_of(unsigned unit)
{
        reserves[unit].unit = unit;
        reserves[unit].family = FAMILY_GRAPH;
        return &reserves[unit];
}

static unsigned unit_of(CUdeviceptr address)
{
        struct arena_block block;
        CUdeviceptr base;
        unsigned unit = 0;

        arena_find(address, &block, &base, &unit);
        return unit;
}

CUresult memory_graph_reserve(CUdevice device, uint64_t bytes, CUdeviceptr *ret_address)
{
        struct arena_block about = { .bytes = bytes, .id = block_next_id(), .kind = MEMORY_GRAPH };

        if (bytes == 0)
                return CUDA_ERROR_INVALID_VALUE;
        CUdeviceptr address = arena_alloc(device_unit(device), &about);
        if (!address)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *ret_address = address;
        return CUDA_SUCCESS;
}

CUresult memory_graph_commit(CUdeviceptr address)
{
        struct arena_block before;
        CUresult result = CUDA_SUCCESS;

        pthread_mutex_lock(&graph_lock);
        if (!arena_set_flags(address, MEMORY_GRAPH, COMMITTED, 0, &before)) {
                result = CUDA_ERROR_INVALID_VALUE;
        } else if (!(before.flags & COMMITTED)) {
                struct reserve *reserve = reserve_of(unit_of(address));

                if (reserve_grow(reserve, reserve->used_bytes + before.bytes)) {
                        reserve_use(reserve, before.bytes);
                } else {
                        arena_set_flags(address, MEMORY_GRAPH, 0, COMMITTED, &before);
                        result = CUDA_ERROR_OUT_OF_MEMORY;
                }
        }
        pthread_mutex_unlock(&graph_lock);
        return result;
}

CUresult memory_graph_decommit(CUdeviceptr address)
{
        struct arena_block before;
        CUresult result = CUDA_ERROR_INVALID_VALUE;

        pthread_mutex_lock(&graph_lock);
        if (arena_set_flags(address, MEMORY_GRAPH, 0, COMMITTED, &before) &&
            (before.flags & COMMITTED)) {
                reserve_of(unit_of(address))->used_bytes -= before.bytes;
                result = CUDA_SUCCESS;
        }
        pthread_mutex_unlock(&graph_lock);
        return result;
}

bool memory_graph_is_committed(CUdeviceptr address)
{
        struct arena_block block;
        CUdeviceptr base;
        unsigned unit;

        return arena_find(address, &block, &base, &unit) && block.kind == MEMORY_GRAPH &&
               (block.flags & COMMITTED);
}

void memory_graph_unreserve(CUdeviceptr address)
{
        struct arena_block block;

        memory_graph_decommit(address);
        if (arena_take(address, MEMORY_GRAPH, &block))
                arena_free(address);
}

CUresult cuDeviceGraphMemTrim(CUdevice device)
{
        API_ENTER(cuDeviceGraphMemTrim);
        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        CUresult result = exec_capture_check_unsafe();
        if (result != CUDA_SUCCESS)
                return result;
        pthread_mutex_lock(&graph_lock);
        reserve_trim(reserve_of(device_unit(device)), 0);
        pthread_mutex_unlock(&graph_lock);
        return CUDA_SUCCESS;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *ret)
{
        CUresult result = CUDA_SUCCESS;

        API_ENTER(cuDeviceGetGraphMemAttribute);
        if (!ret)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        result = exec_capture_check_unsafe();
        if (result != CUDA_SUCCESS)
                return result;
        pthread_mutex_lock(&graph_lock);
        const struct reserve *reserve = reserve_of(device_unit(device));
        switch (attribute) {
        case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
                *(cuuint64_t *)ret = reserve->used_bytes;
                break;
        case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
                *(cuuint64_t *)ret = reserve->used_high_bytes;
                break;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
                *(cuuint64_t *)ret = reserve->reserved_bytes;
                break;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
                *(cuuint64_t *)ret = reserve->reserved_high_bytes;
                break;
        default:
                result = CUDA_ERROR_INVALID_VALUE;
        }
        pthread_mutex_unlock(&graph_lock);
        return result;
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value)
{
        CUresult result = CUDA_SUCCESS;

        API_ENTER(cuDeviceSetGraphMemAttribute);
        if (!value || *(cuuint64_t *)value != 0)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        pthread_mutex_lock(&graph_lock);
        struct reserve *reserve = reserve_of(device_unit(device));
        if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
                reserve->used_high_bytes = reserve->used_bytes;
        else if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
                reserve->reserved_high_bytes = reserve->reserved_bytes;
        else
                result = CUDA_ERROR_INVALID_VALUE;
        pthread_mutex_unlock(&graph_lock);
        return result;
}
