/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dma-buf descriptors: handles with which other kinds of devices access device memory.
 *
 * The checks are those of the manual of cuMemGetHandleForAddressRange: whole host pages, in one
 * block or in mappings without a gap. The descriptor gives access to no byte, because the simulator
 * has no other kind of device.
 */
#include <stddef.h>
#include <sys/mman.h>

#include "sim/context/context.h"
#include "sim/entries.h"
#include "sim/memory/memory.h"

#define PAGE_BYTES 4096ULL

CUresult sim_cuMemGetHandleForAddressRange(CUcontext context, void *ret, CUdeviceptr address,
                                           size_t bytes, CUmemRangeHandleType type,
                                           unsigned long long flags)
{
        struct memory_block block;
        int descriptor;

        if (!ret || !bytes || address % PAGE_BYTES || bytes % PAGE_BYTES || flags ||
            type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || !memory_find(address, &block) ||
            (block.kind != MEMORY_DEVICE && block.kind != MEMORY_VMM) ||
            memory_check(context, address, bytes, ACCESS_BOTH) != CUDA_SUCCESS)
                return CUDA_ERROR_INVALID_VALUE;
        descriptor = memfd_create("aliquot-sim-dma-buf", MFD_CLOEXEC);
        if (descriptor < 0)
                return CUDA_ERROR_OPERATING_SYSTEM;
        *(int *)ret = descriptor;
        return CUDA_SUCCESS;
}
