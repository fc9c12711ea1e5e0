/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes the first launch of each function; hooks launches on several devices at once.
 */
#include "shim/cuda/code/kernel.h"

#include "common/minmax.h"
#include "shim/cuda/charge/remainder.h"
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"

/* Maximum number of launches in one multi-device call that are metered. */
#define TOGETHER 64u
/* Entries of the table of launched functions that are tried for one function. */
#define PROBES 16u

/* Called after the launch, because an earlier look at NVML would not see the code. If all tried
 * entries belong to other functions, the function counts as launched before. */
void kernel_note_launched(CUfunction function, uint32_t at)
{
        for (uint32_t i = 0; i < PROBES; i++) {
                _Atomic uint64_t *place = &code_state.launched[(at + i) % STATE_LAUNCHED];
                uint64_t none = 0;

                if (load_relaxed(place) == key_of(function))
                        return;
                if (cas_acq_rel(place, &none, key_of(function))) {
                        remainders_are_due();
                        return;
                }
        }
}

/* The gates of all devices must be open before the call, because the parts of the launch wait for
 * each other. */
CUresult hook_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *list, unsigned count,
                                                   unsigned flags)
{
        unsigned known = !list ? 0 : min_u32(count, TOGETHER);
        CUresult rc;

        for (unsigned i = 0; i < known; i++)
                submission_begin(kernel_submission(submission_to(list[i].hStream), list[i].function,
                                                   list[i].gridDimX));
        rc = real.cuLaunchCooperativeKernelMultiDevice(list, count, flags);
        for (unsigned i = 0; i < known; i++)
                submission_end(rc);
        remainders_are_due();
        return rc;
}
