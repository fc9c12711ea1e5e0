/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/swap/segment.h"

#include "shim/cuda/driver/real.h"

CUresult segment_map(struct swap_segment *segment, CUdevice device)
{
        const CUmemAllocationProp prop = {
                .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device },
        };
        CUmemGenericAllocationHandle handle = 0;
        CUresult rc = real.cuMemCreate(&handle, segment->bytes, &prop, 0);

        if (rc != CUDA_SUCCESS)
                return rc;
        rc = real.cuMemMap(segment->link.key, segment->bytes, 0, handle, 0);
        if (rc == CUDA_SUCCESS)
                segment->handle = handle;
        else
                real.cuMemRelease(handle);
        return rc;
}

/* If the driver refuses to release the handle, NVML still counts the memory, and it is charged as
 * part of the remainder (charge/remainder.h). */
CUresult segment_unmap(struct swap_segment *segment)
{
        CUresult rc = real.cuMemUnmap(segment->link.key, segment->bytes);

        if (rc != CUDA_SUCCESS)
                return rc;
        real.cuMemRelease(segment->handle);
        segment->handle = 0;
        return rc;
}

CUresult segments_open(CUdeviceptr address, uint64_t bytes, CUdevice device)
{
        const CUmemAccessDesc access = {
                .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device },
                .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        };

        return real.cuMemSetAccess(address, bytes, &access, 1);
}
