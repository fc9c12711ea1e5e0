/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream-ordered allocation.
 *
 * An allocation is immediate: the address is known, and usable by later work of the stream. A free
 * takes effect when the stream reaches it. Until then the bytes are pending, and only the same
 * stream may reuse their share of the reserve. In a captured stream, allocations and frees become
 * graph nodes.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sim/context/context.h"
#include "sim/context/device.h"
#include "sim/context/growth.h"
#include "sim/entries.h"
#include "sim/exec/exec.h"
#include "sim/memory/families.h"
#include "sim/memory/pool.h"
#include "sim/memory/vmm.h"
#include "sim/node/clock.h"
#include "sim/node/config.h"
#include "sim/node/share.h"

#define GRAIN_BYTES 512ULL
#define CROWD_NS 100000

static uint64_t taken_bytes(uint64_t bytes)
{
        return (bytes + GRAIN_BYTES - 1) / GRAIN_BYTES * GRAIN_BYTES;
}

/* Returns the bytes of the reserve that this stream cannot use. The caller holds the pool's
 * lock. */
static uint64_t busy_bytes(CUmemoryPool pool, uintptr_t stream)
{
        uint64_t busy = pool->reserve.used_bytes + pool->pending_bytes;

        for (const struct pool_pending *at = pool->pending; at; at = at->next)
                busy -= at->stream == stream ? at->bytes : 0;
        return busy;
}

/* Reuses memory that the same stream freed, before other memory of the reserve. The caller holds
 * the pool's lock. */
static void pending_reuse(CUmemoryPool pool, uintptr_t stream, uint64_t bytes)
{
        struct pool_pending **link = &pool->pending;

        while (*link && bytes > 0) {
                struct pool_pending *at = *link;
                uint64_t taken = at->bytes < bytes ? at->bytes : bytes;

                if (at->stream == stream) {
                        at->bytes -= taken;
                        pool->pending_bytes -= taken;
                        bytes -= taken;
                }
                if (at->bytes == 0)
                        *link = at->next;
                else
                        link = &at->next;
        }
}

/* Removes a block from the pending ones. The caller holds the pool's lock. */
static void pending_end(CUmemoryPool pool, struct pool_pending *pending)
{
        struct pool_pending **link = &pool->pending;

        pool->pending_bytes -= pending->bytes;
        while (*link && *link != pending)
                link = &(*link)->next;
        if (*link)
                *link = pending->next;
}

/* Tries to allocate. `*ret_is_crowded`: only address space is missing, and some is returned when
 * streams reach their frees. */
static CUresult pool_try(CUmemoryPool pool, uint64_t bytes, uintptr_t stream, CUdeviceptr *ret,
                         bool *ret_is_crowded)
{
        struct arena_block about = {
                .bytes = bytes, .pool = pool, .id = block_next_id(), .kind = MEMORY_POOL
        };
        uint64_t taken = taken_bytes(bytes);
        CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

        *ret_is_crowded = false;
        if (taken < bytes)
                return CUDA_ERROR_OUT_OF_MEMORY;
        pthread_mutex_lock(&pool->lock);
        uint64_t wanted = busy_bytes(pool, stream) + taken;
        bool is_within = pool->props.maxSize == 0 || wanted <= pool->props.maxSize;
        if (is_within && reserve_grow(&pool->reserve, wanted)) {
                CUdeviceptr address = arena_alloc(pool->reserve.unit, &about);

                if (address) {
                        pending_reuse(pool, stream, taken);
                        reserve_use(&pool->reserve, taken);
                        pool->live++;
                        *ret = address;
                        result = CUDA_SUCCESS;
                }
                *ret_is_crowded = !address && pool->freeing > 0;
        }
        pthread_mutex_unlock(&pool->lock);
        return result;
}

/* Allocates, and waits while address space is missing. The real driver reuses the address of a
 * freed block before its stream reaches the free; the simulator does so only afterwards. */
static CUresult pool_take(CUmemoryPool pool, uint64_t bytes, uintptr_t stream, CUdeviceptr *ret)
{
        bool is_crowded;
        CUresult result;

        while ((result = pool_try(pool, bytes, stream, ret, &is_crowded)) != CUDA_SUCCESS &&
               is_crowded)
                sim_spend(CROWD_NS);
        return result;
}

/* Notes that an allocation has ended. The caller holds the pool's lock. */
static void pool_settle(CUmemoryPool pool)
{
        pool->live--;
        if (pool->is_destroyed && pool->live == 0)
                reserve_trim(&pool->reserve, 0);
}

/* Ends a block that the program freed. If its pointer was exported, the memory stays until the
 * importers close it. */
static void memory_give_back(CUdeviceptr address)
{
        struct arena_block block;

        if (!arena_take(address, MEMORY_POOL, &block))
                return;
        uint64_t share = block.flags & BLOCK_EXPORTED ? ipc_export_take(address) : 0;
        if (share && !share_close(share))
                home_linger(address, share);
        else
                arena_free(address);
}

struct free_work {
        CUmemoryPool pool;
        CUdeviceptr address;
        struct pool_pending pending;
};

static void free_run(void *argument)
{
        struct free_work *work = argument;
        CUmemoryPool pool = work->pool;

        memory_give_back(work->address);
        pthread_mutex_lock(&pool->lock);
        pending_end(pool, &work->pending);
        pool->freeing--;
        pool_settle(pool);
        pthread_mutex_unlock(&pool->lock);
        free(work);
}

/* Returns whether the pool has grown twice. Then the context takes some more memory, if it is
 * available: the rule `pools`. */
static bool has_grown_twice(CUmemoryPool pool)
{
        pthread_mutex_lock(&pool->lock);
        bool has = pool->reserve.growths > 1;
        pthread_mutex_unlock(&pool->lock);
        return has;
}

static CUresult alloc_async(CUdeviceptr *ret, size_t bytes, CUmemoryPool pool, CUstream stream,
                            bool is_per_thread)
{
        CUcontext context;

        if (!ret || bytes == 0)
                return CUDA_ERROR_INVALID_VALUE;
        CUresult result = exec_stream_context(stream, is_per_thread, &context);
        if (result == CUDA_SUCCESS)
                result = context_check(context);
        if (result != CUDA_SUCCESS)
                return result;
        if (!pool)
                pool = pool_current(context->device);
        if (!pool || pool->is_imported)
                return CUDA_ERROR_INVALID_VALUE;
        if (exec_stream_is_capturing(stream, is_per_thread))
                return exec_capture_alloc(stream, is_per_thread, pool->device, bytes, ret);
        result = exec_capture_check_unsafe();
        if (result != CUDA_SUCCESS)
                return result;
        sim_spend(config_get()->alloc_ns);
        result = pool_take(pool, bytes, (uintptr_t)stream, ret);
        if (result == CUDA_SUCCESS && has_grown_twice(pool))
                growth_raise(context, GROWTH_POOLS, config_get()->grants.pools_bytes);
        return result;
}

static void graph_free_run(void *argument)
{
        CUdeviceptr *address = argument;

        memory_graph_decommit(*address);
        free(address);
}

static CUresult graph_free_async(CUdeviceptr address, CUstream stream, bool is_per_thread)
{
        CUdeviceptr *argument;

        if (!memory_graph_is_committed(address))
                return CUDA_ERROR_INVALID_VALUE;
        argument = malloc(sizeof(*argument));
        if (!argument)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *argument = address;
        CUresult result = exec_stream_submit(stream, is_per_thread, graph_free_run, argument, 0);
        if (result != CUDA_SUCCESS)
                free(argument);
        return result;
}

static void plain_free_run(void *argument)
{
        CUdeviceptr *address = argument;

        memory_end_given_up(*address, MEMORY_DEVICE);
        free(address);
}

/* Frees plain memory in stream order (CUDA Programming Guide, stream-ordered memory allocator:
 * cudaFreeAsync() of memory from cudaMalloc()). The guide does not say that this works for managed
 * memory. `*ret_is_plain` false: the memory is not plain, and nothing happened. */
static CUresult plain_free_async(CUdeviceptr address, CUstream stream, bool is_per_thread,
                                 bool *ret_is_plain)
{
        CUdeviceptr *argument = malloc(sizeof(*argument));
        CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
        struct arena_block block;

        *ret_is_plain = argument && block_give_up(address, MEMORY_DEVICE, &block);
        if (!*ret_is_plain) {
                free(argument);
                return result;
        }
        *argument = address;
        result = exec_stream_submit(stream, is_per_thread, plain_free_run, argument, 0);
        if (result != CUDA_SUCCESS)
                plain_free_run(argument); /* the context has ended */
        return result;
}

/* Queues the free in the stream. The program has given up the block; its bytes are pending until
 * then. */
static CUresult free_submit(CUdeviceptr address, const struct arena_block *block, CUstream stream,
                            bool is_per_thread)
{
        CUmemoryPool pool = block->pool;
        struct free_work *work = malloc(sizeof(*work));

        if (!work)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *work = (struct free_work){ .pool = pool, .address = address };
        work->pending.stream = (uintptr_t)stream;
        work->pending.bytes = taken_bytes(block->bytes);
        pthread_mutex_lock(&pool->lock);
        work->pending.next = pool->pending;
        pool->pending = &work->pending;
        pool->pending_bytes += work->pending.bytes;
        pool->freeing++;
        pool->reserve.used_bytes -= work->pending.bytes;
        pthread_mutex_unlock(&pool->lock);
        CUresult result = exec_stream_submit(stream, is_per_thread, free_run, work, 0);
        if (result != CUDA_SUCCESS)
                /* the context has ended: no work that could use the memory will run */
                free_run(work);
        return result;
}

CUresult sim_cuMemFreeAsync(bool is_per_thread, CUdeviceptr address, CUstream stream)
{
        struct arena_block block;
        CUcontext context;
        bool is_plain;
        CUresult result = exec_stream_context(stream, is_per_thread, &context);

        if (result == CUDA_SUCCESS)
                result = context_check(context);
        if (result != CUDA_SUCCESS)
                return result;
        if (address == 0)
                return CUDA_ERROR_INVALID_VALUE;
        if (exec_stream_is_capturing(stream, is_per_thread))
                return exec_capture_free(stream, is_per_thread, address);
        sim_spend(config_get()->alloc_ns);
        if (block_give_up(address, MEMORY_POOL, &block))
                return free_submit(address, &block, stream, is_per_thread);
        result = plain_free_async(address, stream, is_per_thread, &is_plain);
        if (is_plain)
                return result;
        return graph_free_async(address, stream, is_per_thread);
}

CUresult pool_free(CUdeviceptr address)
{
        struct arena_block block;

        if (memory_graph_is_committed(address))
                return memory_graph_decommit(address);
        if (!block_give_up(address, MEMORY_POOL, &block))
                return CUDA_ERROR_INVALID_VALUE;
        exec_device_synchronize(block.pool->device);
        memory_give_back(address);
        pthread_mutex_lock(&block.pool->lock);
        block.pool->reserve.used_bytes -= taken_bytes(block.bytes);
        pool_settle(block.pool);
        pthread_mutex_unlock(&block.pool->lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuMemAllocAsync(bool is_per_thread, CUdeviceptr *ret, size_t bytes, CUstream stream)
{
        return alloc_async(ret, bytes, NULL, stream, is_per_thread);
}

CUresult sim_cuMemAllocFromPoolAsync(bool is_per_thread, CUdeviceptr *ret, size_t bytes,
                                     CUmemoryPool pool, CUstream stream)
{
        CUresult result = pool_check(pool);

        return result == CUDA_SUCCESS ? alloc_async(ret, bytes, pool, stream, is_per_thread)
                                      : result;
}
