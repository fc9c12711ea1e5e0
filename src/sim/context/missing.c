/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an entry point without a definition answers, and says once when asked to log.
 */
#include "sim/context/missing.h"

#include <stdatomic.h>

#include "abi/cuda.h"
#include "sim/node/fault.h"

int missing_call(const char *function, _Atomic int *is_said)
{
        if (!atomic_exchange_explicit(is_said, 1, memory_order_relaxed))
                sim_log("%s is not modelled: CUDA_ERROR_NOT_SUPPORTED", function);
        return CUDA_ERROR_NOT_SUPPORTED;
}
