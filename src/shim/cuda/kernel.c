/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launches of kernels.
 */
#include "shim/cuda/hooks.h"
#include "shim/cuda/launch.h"
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

static inline CUstream stream_of(const CUlaunchConfig *config)
{
        return config ? config->hStream : NULL;
}

LAUNCH_HOOK(cuLaunchKernel, way_of(stream, function), GRID_PARAMETERS, GRID_ARGUMENTS)
LAUNCH_HOOK(cuLaunchKernel_ptsz, way_of_per_thread(stream, function), GRID_PARAMETERS,
            GRID_ARGUMENTS)
LAUNCH_HOOK(cuLaunchKernelEx, way_of(stream_of(config), function), EX_PARAMETERS, EX_ARGUMENTS)
LAUNCH_HOOK(cuLaunchKernelEx_ptsz, way_of_per_thread(stream_of(config), function), EX_PARAMETERS,
            EX_ARGUMENTS)
LAUNCH_HOOK(cuLaunchCooperativeKernel, way_of(stream, function), COOPERATIVE_PARAMETERS,
            COOPERATIVE_ARGUMENTS)
LAUNCH_HOOK(cuLaunchCooperativeKernel_ptsz, way_of_per_thread(stream, function),
            COOPERATIVE_PARAMETERS, COOPERATIVE_ARGUMENTS)
LAUNCH_HOOK(cuLaunch, way_of(NULL, function), (CUfunction function), (function))
LAUNCH_HOOK(cuLaunchGrid, way_of(NULL, function), (CUfunction function, int width, int height),
            (function, width, height))
LAUNCH_HOOK(cuLaunchGridAsync, way_of(stream, function),
            (CUfunction function, int width, int height, CUstream stream),
            (function, width, height, stream))

/* Every device's gate must be open: the parts wait for each other. */
CUresult hook_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *list, unsigned count,
                                                   unsigned flags)
{
        struct passage passage[TOGETHER];
        unsigned known = !list ? 0 : count < TOGETHER ? count : TOGETHER;
        CUresult rc;

        for (unsigned i = 0; i < known; i++) {
                struct way way = way_of(list[i].hStream, list[i].function);

                way.key = KEY_NEVER;
                passage_begin(&passage[i], &way);
        }
        rc = real.cuLaunchCooperativeKernelMultiDevice(list, count, flags);
        for (unsigned i = known; i > 0; i--)
                passage_end(&passage[i - 1], rc);
        return rc;
}
