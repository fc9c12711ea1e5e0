/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaches managed memory to a stream.
 *
 * On hardware an attachment restricts when host and device may access the memory. Simulated managed
 * memory is always accessible to both, so only the arguments are checked.
 */
#include "sim/entries.h"
#include "sim/exec/stream.h"
#include "sim/graph/capture.h"
#include "sim/memory/memory.h"

CUresult sim_cuStreamAttachMemAsync(bool is_per_thread, CUstream handle, CUdeviceptr address,
                                    size_t bytes, unsigned flags)
{
        struct memory_block block;
        CUstream stream;
        CUresult rc = stream_resolve_work(handle, is_per_thread, &stream);

        if (rc == CUDA_SUCCESS && stream_is_capturing(stream))
                rc = capture_refuse_stream(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        if (rc != CUDA_SUCCESS)
                return rc;
        if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
            flags != CU_MEM_ATTACH_SINGLE)
                return CUDA_ERROR_INVALID_VALUE;
        if (flags == CU_MEM_ATTACH_SINGLE && stream->kind == STREAM_LEGACY)
                return CUDA_ERROR_INVALID_VALUE;
        if (!memory_find(address, &block) || block.kind != MEMORY_MANAGED ||
            (bytes && bytes != block.bytes))
                return CUDA_ERROR_INVALID_VALUE;
        return CUDA_SUCCESS;
}
