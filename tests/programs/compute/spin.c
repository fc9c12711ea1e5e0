/* SPDX-License-Identifier: Apache-2.0 */
#include "spin.h"

#include <stddef.h>

#include "simtime.h"
#include "watch.h"

CUfunction spin_find(void)
{
        CUfunction spin;
        CUmodule module;

        OK(cuModuleLoadData(&module, "aliquot-sim builtin"));
        OK(cuModuleGetFunction(&spin, module, "spin_ns"));
        return spin;
}

void spin_launch(CUfunction spin, CUstream stream, uint64_t ns)
{
        void *params[] = { &ns };

        OK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

struct spinner spinner_begin(void)
{
        struct spinner spinner;
        CUcontext context;

        OK(cuInit(0));
        simtime_follow();
        OK(cuCtxCreate_v2(&context, 0, 0));
        spinner.spin = spin_find();
        OK(cuStreamCreate(&spinner.stream, CU_STREAM_NON_BLOCKING));
        return spinner;
}
