/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of consecutive bytes: the calls whose name gives the kind of both sides (HtoD, DtoD and so
 * on).
 *
 * The forms without _v2 are from the time of 32-bit device addresses. They do the same, with
 * narrower parameters.
 */
#include "sim/context/context.h"
#include "sim/entries.h"
#include "sim/exec/copy.h"

#define HOST CU_MEMORYTYPE_HOST
#define DEVICE CU_MEMORYTYPE_DEVICE
#define ANY CU_MEMORYTYPE_UNIFIED

static CUresult issue(bool is_per_thread, CUstream stream, bool is_async, struct copy_linear linear)
{
        struct copy_request request = { .is_async = is_async };

        request.box = copy_box_linear(linear);
        return copy_issue(is_per_thread, stream, &request);
}

CUresult sim_cuMemcpy(bool is_per_thread, CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
        return issue(is_per_thread, NULL, false, (struct copy_linear){ to, ANY, from, ANY, bytes });
}

CUresult sim_cuMemcpyHtoD_v2(bool is_per_thread, CUdeviceptr to, const void *from, size_t bytes)
{
        return issue(is_per_thread, NULL, false,
                     (struct copy_linear){ to, DEVICE, (CUdeviceptr)from, HOST, bytes });
}

CUresult sim_cuMemcpyDtoH_v2(bool is_per_thread, void *to, CUdeviceptr from, size_t bytes)
{
        return issue(is_per_thread, NULL, false,
                     (struct copy_linear){ (CUdeviceptr)to, HOST, from, DEVICE, bytes });
}

CUresult sim_cuMemcpyDtoD_v2(bool is_per_thread, CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
        return issue(is_per_thread, NULL, false,
                     (struct copy_linear){ to, DEVICE, from, DEVICE, bytes });
}

CUresult sim_cuMemcpyAsync(bool is_per_thread, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                           CUstream stream)
{
        return issue(is_per_thread, stream, true,
                     (struct copy_linear){ to, ANY, from, ANY, bytes });
}

CUresult sim_cuMemcpyHtoDAsync_v2(bool is_per_thread, CUdeviceptr to, const void *from,
                                  size_t bytes, CUstream stream)
{
        return issue(is_per_thread, stream, true,
                     (struct copy_linear){ to, DEVICE, (CUdeviceptr)from, HOST, bytes });
}

CUresult sim_cuMemcpyDtoHAsync_v2(bool is_per_thread, void *to, CUdeviceptr from, size_t bytes,
                                  CUstream stream)
{
        return issue(is_per_thread, stream, true,
                     (struct copy_linear){ (CUdeviceptr)to, HOST, from, DEVICE, bytes });
}

CUresult sim_cuMemcpyDtoDAsync_v2(bool is_per_thread, CUdeviceptr to, CUdeviceptr from,
                                  size_t bytes, CUstream stream)
{
        return issue(is_per_thread, stream, true,
                     (struct copy_linear){ to, DEVICE, from, DEVICE, bytes });
}

/* Copies between two contexts. Peer access between them is not needed. */
CUresult sim_cuMemcpyPeerAsync(bool is_per_thread, CUdeviceptr to, CUcontext to_context,
                               CUdeviceptr from, CUcontext from_context, size_t bytes,
                               CUstream stream)
{
        struct copy_request request = { .from_context = from_context,
                                        .to_context = to_context,
                                        .is_async = true };
        CUresult rc = context_check(to_context);

        if (rc == CUDA_SUCCESS)
                rc = context_check(from_context);
        if (rc != CUDA_SUCCESS)
                return rc;
        request.box = copy_box_linear((struct copy_linear){ to, DEVICE, from, DEVICE, bytes });
        return copy_issue(is_per_thread, stream, &request);
}
