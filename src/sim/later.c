/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/families.h"

void imports_context_close(CUcontext context)
{
}
CUresult memory_graph_reserve(CUdevice device, uint64_t bytes, CUdeviceptr *ret_address)
{
        return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult memory_graph_commit(CUdeviceptr address)
{
        return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult memory_graph_decommit(CUdeviceptr address)
{
        return CUDA_ERROR_NOT_SUPPORTED;
}
bool memory_graph_is_committed(CUdeviceptr address)
{
        return false;
}
void memory_graph_unreserve(CUdeviceptr address)
{
}
