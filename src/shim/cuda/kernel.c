/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launches of kernels.
 */
#include "common/minmax.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/submit.h"
#include "shim/cuda/real.h"

#define TOGETHER 64u

#define GRID_PARAMETERS                                                                            \
        (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
         unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,               \
         void **params, void **extra)
#define GRID_ARGUMENTS                                                                      \
        (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, \
         params, extra)
#define COOPERATIVE_PARAMETERS                                                                     \
        (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
         unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,               \
         void **params)
#define COOPERATIVE_ARGUMENTS \
        (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, params)
#define EX_PARAMETERS \
        (const CUlaunchConfig *config, CUfunction function, void **params, void **extra)
#define EX_ARGUMENTS (config, function, params, extra)

/* A kernel takes about as long as it did with a grid of that size. */
static inline struct submission submission_of_grid(struct submission submission,
                                                   CUfunction function, uint64_t blocks)
{
        return submission_alike(submission, (uintptr_t)function, blocks);
}

static inline uint64_t blocks_of(const CUlaunchConfig *config)
{
        return config ? (uint64_t)config->gridDimX * config->gridDimY * config->gridDimZ : 0;
}

#define BLOCKS ((uint64_t)grid_x * grid_y * grid_z)

static inline CUstream stream_of(const CUlaunchConfig *config)
{
        return config ? config->hStream : NULL;
}

SUBMITS(cuLaunchKernel, submission_of_grid(submission_to(stream), function, BLOCKS),
        GRID_PARAMETERS, GRID_ARGUMENTS)
SUBMITS(cuLaunchKernel_ptsz, submission_of_grid(submission_per_thread(stream), function, BLOCKS),
        GRID_PARAMETERS, GRID_ARGUMENTS)
SUBMITS(cuLaunchKernelEx,
        submission_of_grid(submission_to(stream_of(config)), function, blocks_of(config)),
        EX_PARAMETERS, EX_ARGUMENTS)
SUBMITS(cuLaunchKernelEx_ptsz,
        submission_of_grid(submission_per_thread(stream_of(config)), function, blocks_of(config)),
        EX_PARAMETERS, EX_ARGUMENTS)
SUBMITS(cuLaunchCooperativeKernel, submission_of_grid(submission_to(stream), function, BLOCKS),
        COOPERATIVE_PARAMETERS, COOPERATIVE_ARGUMENTS)
SUBMITS(cuLaunchCooperativeKernel_ptsz,
        submission_of_grid(submission_per_thread(stream), function, BLOCKS), COOPERATIVE_PARAMETERS,
        COOPERATIVE_ARGUMENTS)
SUBMITS(cuLaunch, submission_of_grid(submission_to(NULL), function, 1), (CUfunction function),
        (function))
SUBMITS(cuLaunchGrid,
        submission_of_grid(submission_to(NULL), function, (uint64_t)width *(unsigned)height),
        (CUfunction function, int width, int height), (function, width, height))
SUBMITS(cuLaunchGridAsync,
        submission_of_grid(submission_to(stream), function, (uint64_t)width *(unsigned)height),
        (CUfunction function, int width, int height, CUstream stream),
        (function, width, height, stream))

/* Every device's gate must be open: the parts wait for each other. */
CUresult hook_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *list, unsigned count,
                                                   unsigned flags)
{
        unsigned known = !list ? 0 : min_u32(count, TOGETHER);
        CUresult rc;

        for (unsigned i = 0; i < known; i++)
                submission_begin(submission_of_grid(submission_to(list[i].hStream),
                                                    list[i].function, list[i].gridDimX));
        rc = real.cuLaunchCooperativeKernelMultiDevice(list, count, flags);
        for (unsigned i = 0; i < known; i++)
                submission_end(rc);
        return rc;
}
