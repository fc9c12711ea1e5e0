/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launches of kernels.
 *
 * Code that is loaded lazily may be loaded by the first launch of a function: what the driver takes
 * then is looked at by the next call that takes or gives memory, waits, or asks what is free.
 */
#include "common/minmax.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/real.h"
#include "shim/cuda/remainder.h"
#include "shim/cuda/state.h"
#include "shim/cuda/submit.h"

#define TOGETHER 64u
#define PROBES 16u

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

/* After the launch: a look before it would not see the code. Where no place is left the function is
 * taken for one that was launched before. */
static __attribute__((noinline)) void note_launched(CUfunction function, uint32_t at)
{
        for (uint32_t i = 0; i < PROBES; i++) {
                _Atomic uint64_t *place = &state.launched[(at + i) % STATE_LAUNCHED];
                uint64_t none = 0;

                if (load_relaxed(place) == key_of(function))
                        return;
                if (cas_acq_rel(place, &none, key_of(function))) {
                        remainders_are_due();
                        return;
                }
        }
}

static inline CUresult launched(CUfunction function, CUresult rc)
{
        uint32_t at =
                (uint32_t)(key_of(function) * UINT64_C(0x9e3779b97f4a7c15) >> 32) % STATE_LAUNCHED;

        if (__builtin_expect(
                    rc == CUDA_SUCCESS && load_relaxed(&state.launched[at]) != key_of(function), 0))
                note_launched(function, at);
        return rc;
}

/* The hook of a launch: `target` and `blocks` are expressions of its parameters. */
#define LAUNCHES(symbol, target, blocks, parameters, arguments)                   \
        CUresult hook_##symbol parameters                                         \
        {                                                                         \
                submission_begin(submission_of_grid(target, function, blocks));   \
                return launched(function, submission_end(real.symbol arguments)); \
        }

LAUNCHES(cuLaunchKernel, submission_to(stream), BLOCKS, GRID_PARAMETERS, GRID_ARGUMENTS)
LAUNCHES(cuLaunchKernel_ptsz, submission_per_thread(stream), BLOCKS, GRID_PARAMETERS,
         GRID_ARGUMENTS)
LAUNCHES(cuLaunchKernelEx, submission_to(stream_of(config)), blocks_of(config), EX_PARAMETERS,
         EX_ARGUMENTS)
LAUNCHES(cuLaunchKernelEx_ptsz, submission_per_thread(stream_of(config)), blocks_of(config),
         EX_PARAMETERS, EX_ARGUMENTS)
LAUNCHES(cuLaunchCooperativeKernel, submission_to(stream), BLOCKS, COOPERATIVE_PARAMETERS,
         COOPERATIVE_ARGUMENTS)
LAUNCHES(cuLaunchCooperativeKernel_ptsz, submission_per_thread(stream), BLOCKS,
         COOPERATIVE_PARAMETERS, COOPERATIVE_ARGUMENTS)
LAUNCHES(cuLaunch, submission_to(NULL), 1, (CUfunction function), (function))
LAUNCHES(cuLaunchGrid, submission_to(NULL), (uint64_t)width *(unsigned)height,
         (CUfunction function, int width, int height), (function, width, height))
LAUNCHES(cuLaunchGridAsync, submission_to(stream), (uint64_t)width *(unsigned)height,
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
        remainders_are_due();
        return rc;
}
