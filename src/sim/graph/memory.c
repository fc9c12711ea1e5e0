/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of graph allocation nodes. A node's address is reserved for ever; there is memory behind
 * it while a graph uses it.
 *
 * Each device has one reserve for all graphs of the process. It grows at launches and uploads, and
 * shrinks only with cuDeviceGraphMemTrim.
 */
#include <pthread.h>
#include <stddef.h>

#include "sim/context/device.h"
#include "sim/entries.h"
#include "sim/exec/exec.h"
#include "sim/memory/families.h"
#include "sim/memory/pool.h"
#include "sim/node/config.h"

#define COMMITTED 1u
#define LEFT 2u /* left allocated by a launch that is over */

static pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER;
static struct reserve reserves[SIM_DEVICES]; /* by unit; guarded by graph_lock */
static uint64_t left_bytes[SIM_DEVICES];     /* by unit; guarded by graph_lock */
static struct graph_mapping *mappings; /* of launches that are not over; guarded by graph_lock */

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

uint64_t memory_graph_bytes(CUdeviceptr address, unsigned *ret_unit)
{
        struct arena_block block = { .bytes = 0 };
        CUdeviceptr base;

        *ret_unit = 0;
        arena_find(address, &block, &base, ret_unit);
        return block.bytes;
}

/* Returns whether this launch uses the most memory among the unfinished launches of its stream; of
 * several with the same amount, one counts. Without the rule that graphs share memory, always
 * true. */
static bool is_largest(const struct graph_mapping *mapping, unsigned unit)
{
        uint64_t bytes = mapping->passing_bytes[unit];

        if (!config_get()->grants.are_graphs_sharing)
                return true;
        for (const struct graph_mapping *at = mappings; at; at = at->next) {
                uint64_t others = at->passing_bytes[unit];

                if (at->stream == mapping->stream &&
                    (others > bytes || (others == bytes && (uintptr_t)at > (uintptr_t)mapping)))
                        return false;
        }
        return true;
}

/* Returns the size that the reserve must have for the launches that are not over. The caller holds
 * graph_lock. */
static uint64_t needed(unsigned unit)
{
        uint64_t bytes = left_bytes[unit];

        for (const struct graph_mapping *at = mappings; at; at = at->next)
                bytes += at->lasting_bytes[unit] +
                         (is_largest(at, unit) ? at->passing_bytes[unit] : 0);
        return bytes;
}

static void unlink_mapping(struct graph_mapping *mapping)
{
        struct graph_mapping **at = &mappings;

        while (*at && *at != mapping)
                at = &(*at)->next;
        if (*at)
                *at = mapping->next;
}

CUresult memory_graph_map(struct graph_mapping *mapping)
{
        CUresult result = CUDA_SUCCESS;

        pthread_mutex_lock(&graph_lock);
        mapping->next = mappings;
        mappings = mapping;
        for (unsigned unit = 0; unit < SIM_DEVICES && result == CUDA_SUCCESS; unit++) {
                if (mapping->lasting_bytes[unit] + mapping->passing_bytes[unit] > 0 &&
                    !reserve_grow(reserve_of(unit), needed(unit)))
                        result = CUDA_ERROR_OUT_OF_MEMORY;
        }
        if (result != CUDA_SUCCESS)
                unlink_mapping(mapping);
        pthread_mutex_unlock(&graph_lock);
        return result;
}

void memory_graph_unmap(struct graph_mapping *mapping)
{
        pthread_mutex_lock(&graph_lock);
        unlink_mapping(mapping);
        pthread_mutex_unlock(&graph_lock);
}

void memory_graph_leave(CUdeviceptr address)
{
        struct arena_block before;

        pthread_mutex_lock(&graph_lock);
        if (arena_set_flags(address, MEMORY_GRAPH, (struct flag_change){ .set = LEFT }, &before)) {
                if ((before.flags & (COMMITTED | LEFT)) == COMMITTED)
                        left_bytes[unit_of(address)] += before.bytes;
                else if (!(before.flags & COMMITTED))
                        arena_set_flags(address, MEMORY_GRAPH,
                                        (struct flag_change){ .clear = LEFT }, &before);
        }
        pthread_mutex_unlock(&graph_lock);
}

CUresult memory_graph_commit(CUdeviceptr address)
{
        struct arena_block before;
        CUresult result = CUDA_SUCCESS;

        pthread_mutex_lock(&graph_lock);
        if (!arena_set_flags(address, MEMORY_GRAPH, (struct flag_change){ .set = COMMITTED },
                             &before)) {
                result = CUDA_ERROR_INVALID_VALUE;
        } else if (!(before.flags & COMMITTED)) {
                struct reserve *reserve = reserve_of(unit_of(address));

                if (reserve_grow(reserve, reserve->used_bytes + before.bytes)) {
                        reserve_use(reserve, before.bytes);
                } else {
                        arena_set_flags(address, MEMORY_GRAPH,
                                        (struct flag_change){ .clear = COMMITTED }, &before);
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
        if (arena_set_flags(address, MEMORY_GRAPH,
                            (struct flag_change){ .clear = COMMITTED | LEFT }, &before) &&
            (before.flags & COMMITTED)) {
                reserve_of(unit_of(address))->used_bytes -= before.bytes;
                if (before.flags & LEFT)
                        left_bytes[unit_of(address)] -= before.bytes;
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

CUresult sim_cuDeviceGraphMemTrim(CUdevice device)
{
        CUresult result = exec_capture_check_unsafe();

        if (result != CUDA_SUCCESS)
                return result;
        pthread_mutex_lock(&graph_lock);
        reserve_trim(reserve_of(device_unit(device)), needed(device_unit(device)));
        pthread_mutex_unlock(&graph_lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                          void *ret)
{
        CUresult result = exec_capture_check_unsafe();

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

CUresult sim_cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                          void *value)
{
        CUresult result = CUDA_SUCCESS;

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
