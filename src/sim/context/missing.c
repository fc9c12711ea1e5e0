/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands in for a definition: unimplemented functions, and an absent execution side.
 *
 * missing_call() is what every generated weak entry point answers. The weak exec_*() below are
 * those of exec/exec.h for a library built without streams: nothing is ever in flight.
 */
#include "sim/context/missing.h"

#include "sim/context/context.h"
#include "sim/exec/exec.h"
#include "sim/node/fault.h"

#define WEAK __attribute__((weak))

int missing_call(const char *function, _Atomic int *is_said)
{
        if (!atomic_exchange_explicit(is_said, 1, memory_order_relaxed))
                sim_log("%s is not modelled: CUDA_ERROR_NOT_SUPPORTED", function);
        return CUDA_ERROR_NOT_SUPPORTED;
}

WEAK CUresult exec_context_open(CUcontext context)
{
        return CUDA_SUCCESS;
}

WEAK void exec_context_close(CUcontext context)
{
}

WEAK CUresult exec_context_synchronize(CUcontext context)
{
        return CUDA_SUCCESS;
}

WEAK void exec_device_synchronize(CUdevice device)
{
}

WEAK CUresult exec_stream_context(CUstream stream, bool is_per_thread, CUcontext *ret_context)
{
        return context_require(ret_context);
}

WEAK CUresult exec_stream_submit(CUstream stream, bool is_per_thread, void (*work)(void *),
                                 void *argument, uint64_t cost_ns)
{
        work(argument);
        return CUDA_SUCCESS;
}

WEAK bool exec_is_in_host_function(void)
{
        return false;
}

WEAK bool exec_stream_is_capturing(CUstream stream, bool is_per_thread)
{
        return false;
}

WEAK CUresult exec_capture_check_context(CUcontext context)
{
        return CUDA_SUCCESS;
}

WEAK CUresult exec_capture_check_unsafe(void)
{
        return CUDA_SUCCESS;
}

WEAK CUresult exec_capture_alloc(CUstream stream, bool is_per_thread, CUdevice device,
                                 uint64_t bytes, CUdeviceptr *ret_address)
{
        return CUDA_ERROR_NOT_SUPPORTED;
}

WEAK CUresult exec_capture_free(CUstream stream, bool is_per_thread, CUdeviceptr address)
{
        return CUDA_ERROR_NOT_SUPPORTED;
}
