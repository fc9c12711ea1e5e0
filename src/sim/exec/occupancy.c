/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Occupancy: how many blocks of a function fit on one multiprocessor of the model.
 *
 * Limits are threads (rounded up to warps), blocks, and shared memory. Registers never limit:
 * simulated kernels have none.
 */
#include "sim/context/device.h"
#include "sim/entries.h"
#include "sim/module/module.h"

#define WARP 32
#define BLOCK_THREADS_MAX 1024
#define SHARED_PER_BLOCK_RESERVED 1024

static const struct model_spec *model(void)
{
        return model_spec((enum sim_model)node_get()->model);
}

static int blocks_for(int threads, size_t shared_bytes)
{
        const struct model_spec *spec = model();
        int rounded = (threads + WARP - 1) / WARP * WARP;
        int blocks = spec->threads_per_multiprocessor / rounded;

        if (blocks > spec->blocks_per_multiprocessor)
                blocks = spec->blocks_per_multiprocessor;
        if (shared_bytes) {
                size_t each = shared_bytes + SHARED_PER_BLOCK_RESERVED;
                size_t by_shared = (size_t)spec->shared_multiprocessor_bytes / each;

                if (by_shared < (size_t)blocks)
                        blocks = (int)by_shared;
        }
        return blocks;
}

CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret_blocks,
                                                                  CUfunction handle, int threads,
                                                                  size_t shared_bytes,
                                                                  unsigned flags)
{
        CUfunction function;
        CUresult rc = function_of(handle, NULL, &function);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_blocks || threads <= 0 || flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
                return CUDA_ERROR_INVALID_VALUE;
        *ret_blocks = threads > BLOCK_THREADS_MAX ||
                                      shared_bytes > (size_t)function->max_dynamic_shared_bytes
                              ? 0
                              : blocks_for(threads, shared_bytes);
        return CUDA_SUCCESS;
}

struct block_question {
        CUoccupancyB2DSize shared_of;
        size_t shared_bytes;
        int limit;
};

/* Finds the block size that keeps the most threads resident; the largest one if several do. */
static CUresult best_block(int *ret_grid, int *ret_block, CUfunction handle,
                           const struct block_question *question)
{
        int limit = question->limit > 0 && question->limit < BLOCK_THREADS_MAX ? question->limit
                                                                               : BLOCK_THREADS_MAX;
        int best = 0, best_threads = 0, best_blocks = 0;
        CUfunction function;
        CUresult rc = function_of(handle, NULL, &function);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_grid || !ret_block)
                return CUDA_ERROR_INVALID_VALUE;
        for (int threads = limit; threads > 0; threads -= threads % WARP ? threads % WARP : WARP) {
                size_t shared =
                        question->shared_of ? question->shared_of(threads) : question->shared_bytes;
                int blocks = blocks_for(threads, shared);

                if (blocks * threads <= best_threads)
                        continue;
                best = threads;
                best_blocks = blocks;
                best_threads = blocks * threads;
        }
        *ret_block = best;
        *ret_grid = best_blocks * model_multiprocessors(model());
        return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxPotentialBlockSizeWithFlags(int *ret_grid, int *ret_block,
                                                       CUfunction function,
                                                       CUoccupancyB2DSize shared_of,
                                                       size_t shared_bytes, int limit,
                                                       unsigned int flags)
{
        if (flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
                return CUDA_ERROR_INVALID_VALUE;
        return best_block(ret_grid, ret_block, function,
                          &(struct block_question){ shared_of, shared_bytes, limit });
}

CUresult sim_cuOccupancyAvailableDynamicSMemPerBlock(size_t *ret_bytes, CUfunction handle,
                                                     int blocks, int threads)
{
        CUfunction function;
        CUresult rc = function_of(handle, NULL, &function);
        size_t bytes;

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_bytes || blocks <= 0 || threads <= 0 || blocks > blocks_for(threads, 0))
                return CUDA_ERROR_INVALID_VALUE;
        bytes = (size_t)model()->shared_multiprocessor_bytes / (size_t)blocks;
        bytes = bytes > SHARED_PER_BLOCK_RESERVED ? bytes - SHARED_PER_BLOCK_RESERVED : 0;
        if (bytes > (size_t)model()->shared_block_optin_bytes)
                bytes = (size_t)model()->shared_block_optin_bytes;
        *ret_bytes = bytes;
        return CUDA_SUCCESS;
}
