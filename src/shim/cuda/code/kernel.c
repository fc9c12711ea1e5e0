/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See kernel.h.
 */
#include "shim/cuda/code/kernel.h"

#include "common/minmax.h"
#include "shim/cuda/charge/remainder.h"
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"

#define TOGETHER 64u
#define PROBES 16u

/* After the launch, because an earlier look would not see the code. If the table is full, the
 * function counts as launched before. */
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

/* Every device's gate must be open: the parts wait for each other. */
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
