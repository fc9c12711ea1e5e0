/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports a call of a driver function that is not modelled, once and if logging is on.
 */
#include "sim/context/missing.h"

#include "abi/cuda.h"
#include "common/atomic.h"
#include "sim/node/fault.h"

int missing_call(const char *function, _Atomic int *is_said)
{
        if (!swap_relaxed(is_said, 1))
                sim_log("%s is not modelled: CUDA_ERROR_NOT_SUPPORTED", function);
        return CUDA_ERROR_NOT_SUPPORTED;
}
