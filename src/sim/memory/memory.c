/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the memory at an address, and checks access to it; see memory.h.
 *
 * An address is searched among the blocks of the arenas (constant time), then among VMM mappings,
 * then among all other ranges. A range of bytes may span several VMM mappings, never several
 * blocks.
 */
#include "sim/memory/memory.h"

#include <stdlib.h>
#include <string.h>

#include "common/atomic.h"
#include "sim/context/context.h"
#include "sim/context/device.h"
#include "sim/exec/exec.h"
#include "sim/memory/arena.h"
#include "sim/memory/families.h"
#include "sim/memory/ranges.h"
#include "sim/memory/vmm.h"
#include "sim/node/config.h"
#include "sim/node/node.h"
#include "sim/node/share.h"

/* Held shared to access memory, and exclusively to unmap it or remove access. */
static pthread_rwlock_t touch_lock = PTHREAD_RWLOCK_INITIALIZER;

void memory_touch_begin(void)
{
        pthread_rwlock_rdlock(&touch_lock);
}

void memory_touch_end(void)
{
        pthread_rwlock_unlock(&touch_lock);
}

void mapping_change_begin(void)
{
        pthread_rwlock_wrlock(&touch_lock);
}

void mapping_change_end(void)
{
        pthread_rwlock_unlock(&touch_lock);
}

static void block_describe(const struct arena_block *block, CUdeviceptr base, unsigned unit,
                           struct memory_block *ret)
{
        *ret = (struct memory_block){
                .kind = block->kind,
                .base = base,
                .bytes = block->bytes,
                .device = device_of_unit(unit),
                .context = block->context,
                .id = block->id,
                .flags = block->flags,
                .pool = block->pool,
                .counted_bytes = slab_alone_bytes(block->bytes, &block->place),
                .access = ACCESS_BOTH,
        };
}

static void range_describe(const struct range *range, struct memory_block *ret)
{
        *ret = (struct memory_block){
                .kind = range->kind,
                .base = range->start,
                .bytes = range->end - range->start,
                .device = range->device,
                .context = range->context,
                .id = range->id,
                .flags = range->flags,
                .access = ACCESS_BOTH,
        };
        if (range->kind == MEMORY_RESERVED)
                ret->access = 0;
        if (range->kind == MEMORY_VMM) {
                uint32_t bit = range->device < 0 ? 1u << 31 : 1u << range->device;

                ret->access = (range->read_mask & bit ? ACCESS_READ : 0u) |
                              (range->write_mask & bit ? ACCESS_WRITE : 0u);
        }
}

bool memory_find(CUdeviceptr address, struct memory_block *ret)
{
        struct arena_block block;
        CUdeviceptr base;
        unsigned unit;

        if (arena_find(address, &block, &base, &unit)) {
                if (block.kind == BLOCK_HOME) {
                        memset(ret, 0, sizeof(*ret));
                        return false;
                }
                block_describe(&block, base, unit, ret);
                if (block.kind == MEMORY_GRAPH && !memory_graph_is_committed(address))
                        ret->access = 0;
                return true;
        }
        pthread_mutex_lock(&ranges_lock);
        const struct range *range = range_find(&mapped_ranges, address);
        if (!range)
                range = range_find(&outer_ranges, address);
        if (range)
                range_describe(range, ret);
        else
                memset(ret, 0, sizeof(*ret));
        pthread_mutex_unlock(&ranges_lock);
        return ret->kind != MEMORY_NONE;
}

/* Returns whether all of [address, end) is in VMM mappings that allow the device this access. */
static bool vmm_allows(CUdevice device, CUdeviceptr address, CUdeviceptr end, unsigned access)
{
        uint32_t bit = 1u << device;
        bool is_allowed = true;

        pthread_mutex_lock(&ranges_lock);
        while (is_allowed && address < end) {
                const struct range *range = range_find(&mapped_ranges, address);

                is_allowed = range && (!(access & ACCESS_READ) || (range->read_mask & bit)) &&
                             (!(access & ACCESS_WRITE) || (range->write_mask & bit));
                if (range)
                        address = range->end;
        }
        pthread_mutex_unlock(&ranges_lock);
        return is_allowed;
}

static bool peer_allows(CUcontext context, CUdevice owner)
{
        if (owner < 0 || owner == context->device)
                return owner >= 0;
        pthread_mutex_lock(&process_lock);
        bool is_enabled = context->peers & (1u << owner);
        pthread_mutex_unlock(&process_lock);
        return is_enabled;
}

CUresult memory_check(CUcontext context, CUdeviceptr address, uint64_t bytes, unsigned access)
{
        struct memory_block block;
        bool is_allowed = false;

        if (bytes == 0)
                return CUDA_SUCCESS;
        if (!memory_find(address, &block) || address + bytes < address)
                return CUDA_ERROR_ILLEGAL_ADDRESS;
        if (block.kind == MEMORY_VMM)
                return vmm_allows(context->device, address, address + bytes, access)
                               ? CUDA_SUCCESS
                               : CUDA_ERROR_ILLEGAL_ADDRESS;
        if (bytes > block.bytes - (address - block.base))
                return CUDA_ERROR_ILLEGAL_ADDRESS;
        switch (block.kind) {
        case MEMORY_MANAGED:
        case MEMORY_HOST:
        case MEMORY_REGISTERED:
                is_allowed = true;
                break;
        case MEMORY_POOL:
                is_allowed = pool_allows(block.pool, context->device, access);
                break;
        case MEMORY_GRAPH:
                is_allowed = block.access && peer_allows(context, block.device);
                break;
        case MEMORY_DEVICE:
        case MEMORY_IMPORT:
        case MEMORY_MODULE:
                is_allowed = peer_allows(context, block.device);
                break;
        default:
                break;
        }
        return is_allowed ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

bool memory_is_unmapped(CUcontext context, CUdeviceptr address, uint64_t bytes, unsigned access)
{
        struct memory_block block;

        return bytes && memory_find(address, &block) &&
               (block.kind == MEMORY_VMM || block.kind == MEMORY_RESERVED) &&
               memory_check(context, address, bytes, access) != CUDA_SUCCESS;
}

bool memory_is_pinned(const void *address, uint64_t bytes)
{
        struct memory_block block;
        CUdeviceptr at = (CUdeviceptr)(uintptr_t)address;

        if (!memory_find(at, &block) || bytes > block.bytes - (at - block.base))
                return false;
        return block.kind == MEMORY_HOST || block.kind == MEMORY_REGISTERED ||
               block.kind == MEMORY_MANAGED;
}

static enum family family_of(enum memory_kind kind)
{
        switch (kind) {
        case MEMORY_MANAGED:
                return FAMILY_MANAGED;
        case MEMORY_MODULE:
                return FAMILY_MODULE;
        default:
                return FAMILY_ALLOC;
        }
}

/* Counts a block for its device. Managed memory uses no slabs: it counts with its requested size,
 * at once or when the device first has it. */
static bool block_grant(struct arena_block *block)
{
        if (block->kind != MEMORY_MANAGED)
                return slab_grant(block->context, family_of(block->kind), block->bytes,
                                  &block->place);
        if (config_get()->grants.is_managed_lazy)
                return true;
        block->flags |= BLOCK_RESIDENT;
        return node_grant(block->context->unit, FAMILY_MANAGED, block->bytes) == GRANT_OK;
}

static void block_release(const struct arena_block *block)
{
        if (block->kind != MEMORY_MANAGED)
                slab_release(block->context, family_of(block->kind), block->bytes, &block->place);
        else if (block->flags & BLOCK_RESIDENT)
                node_release(block->context->unit, FAMILY_MANAGED, block->bytes);
}

CUresult memory_make(CUcontext context, enum memory_kind kind, uint64_t bytes, unsigned flags,
                     CUdeviceptr *ret)
{
        struct arena_block about = { .bytes = bytes,
                                     .context = context,
                                     .id = block_next_id(),
                                     .flags = flags,
                                     .kind = kind };

        if (!block_grant(&about))
                return CUDA_ERROR_OUT_OF_MEMORY;
        *ret = arena_alloc(context->unit, &about);
        if (*ret)
                return CUDA_SUCCESS;
        block_release(&about);
        return CUDA_ERROR_OUT_OF_MEMORY;
}

void memory_managed_move(CUdeviceptr base, bool is_to_device)
{
        uint32_t set = is_to_device ? BLOCK_RESIDENT : 0, clear = is_to_device ? 0 : BLOCK_RESIDENT;
        struct arena_block before;

        if (!config_get()->grants.is_managed_lazy ||
            !arena_set_flags(base, MEMORY_MANAGED, (struct flag_change){ set, clear }, &before))
                return;
        bool was_there = before.flags & BLOCK_RESIDENT;
        if (is_to_device && !was_there)
                node_grant(before.context->unit, FAMILY_MANAGED, before.bytes);
        if (!is_to_device && was_there)
                node_release(before.context->unit, FAMILY_MANAGED, before.bytes);
}

/* Frees a block that was taken out of the table, at once or when other processes that may hold its
 * memory release it. */
static void block_end(CUdeviceptr address, const struct arena_block *block)
{
        uint64_t share = block->flags & BLOCK_EXPORTED ? ipc_export_take(address) : 0;

        if (share && !share_close(share)) {
                home_linger(address, share);
                if (block->place.slab)
                        block_release(block);
                return;
        }
        /* counted as free first: a program that gets the same address again may expect the bytes to
         * be free */
        if (!share || block->place.slab)
                block_release(block);
        arena_free(address);
}

bool block_give_up(CUdeviceptr address, enum memory_kind kind, struct arena_block *ret)
{
        return arena_set_flags(address, kind, (struct flag_change){ .set = BLOCK_FREEING }, ret) &&
               !(ret->flags & BLOCK_FREEING);
}

void memory_end_given_up(CUdeviceptr address, enum memory_kind kind)
{
        struct arena_block block;

        if (arena_take(address, kind, &block))
                block_end(address, &block);
}

bool memory_end(CUdeviceptr address, enum memory_kind kind)
{
        struct arena_block block;

        if (!block_give_up(address, kind, &block))
                return false;
        exec_device_synchronize(block.context->device);
        memory_end_given_up(address, kind);
        return true;
}

CUresult memory_module_alloc(CUcontext context, uint64_t bytes, CUdeviceptr *ret_address)
{
        return memory_make(context, MEMORY_MODULE, bytes, 0, ret_address);
}

void memory_module_free(CUdeviceptr address)
{
        struct arena_block block;

        if (!arena_take(address, MEMORY_MODULE, &block))
                return;
        block_release(&block);
        arena_free(address);
}

static bool belongs_to(const struct arena_block *block, void *context)
{
        return block->context == context &&
               (block->kind == MEMORY_DEVICE || block->kind == MEMORY_MANAGED ||
                block->kind == MEMORY_MODULE);
}

void memory_context_close(CUcontext context)
{
        struct arena_block block;
        uint64_t cursor = 0;

        arrays_context_close(context);
        for (;;) {
                CUdeviceptr address =
                        arena_take_next(context->unit, &cursor, belongs_to, context, &block);

                if (!address)
                        break;
                block_end(address, &block);
        }
        narrow_context_close(context);
        host_context_close(context);
        imports_context_close(context);
}
