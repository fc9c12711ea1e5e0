/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks for queries about an address, for memory from cuMemAlloc that is not the card's plain
 * memory: host memory in place of the card's (spill.h), and swappable blocks (swap/block.h).
 * Results and refusals are the same as for plain memory.
 *
 * For a swappable block all answers come from our own table, because the driver would report
 * segments, or nothing while they are in the host. Such a block cannot be shared by legacy IPC or
 * registered for GPUDirect RDMA, and its attributes say so.
 */
#include <stdbool.h>
#include <string.h>

#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/memory/spill.h"
#include "shim/cuda/stream/access.h"
#include "shim/cuda/swap/block.h"

static bool is_spilled(CUdeviceptr address)
{
        CUdeviceptr base;
        uint64_t bytes;

        return spill_find(address, &base, &bytes);
}

CUresult hook_cuMemGetAddressRange_v2(CUdeviceptr *ret_base, size_t *ret_bytes, CUdeviceptr address)
{
        struct swap_view block;
        CUdeviceptr base;
        uint64_t bytes;

        if (swap_find(address, &block)) {
                base = block.base;
                bytes = block.bytes;
        } else if (!spill_find(address, &base, &bytes)) {
                return real.cuMemGetAddressRange_v2(ret_base, ret_bytes, address);
        }
        if (ret_base)
                *ret_base = base;
        if (ret_bytes)
                *ret_bytes = bytes;
        return CUDA_SUCCESS;
}

/* Value and size in bytes of a pointer attribute. Width 0: swappable blocks do not have the
 * attribute. */
struct attribute {
        uint64_t value;
        size_t width;
};

static struct attribute attribute_of(const struct swap_view *block, CUdeviceptr address,
                                     CUpointer_attribute attribute)
{
        switch (attribute) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
                return (struct attribute){ key_of(block->context), sizeof(CUcontext) };
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
                return (struct attribute){ CU_MEMORYTYPE_DEVICE, sizeof(unsigned) };
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
                return (struct attribute){ address, sizeof(CUdeviceptr) };
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
                return (struct attribute){ block->id, sizeof(uint64_t) };
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
                return (struct attribute){ (uint32_t)block->device, sizeof(int) };
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
                return (struct attribute){ block->base, sizeof(void *) };
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
                return (struct attribute){ block->bytes, sizeof(size_t) };
        case CU_POINTER_ATTRIBUTE_MAPPED:
                return (struct attribute){ true, sizeof(bool) };
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
                return (struct attribute){ CU_MEM_ACCESS_FLAGS_PROT_READWRITE, sizeof(unsigned) };
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
                return (struct attribute){ 0, sizeof(uint64_t) };
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
                return (struct attribute){ false, sizeof(bool) };
        default:
                return (struct attribute){ 0, 0 };
        }
}

/* Writes an attribute of a swappable block. The machine is little-endian, so the first `width`
 * bytes of the value are the result. */
static CUresult tell_attribute(void *ret, CUpointer_attribute attribute,
                               const struct swap_view *block, CUdeviceptr address)
{
        struct attribute told = attribute_of(block, address, attribute);

        if (!ret)
                return CUDA_ERROR_INVALID_VALUE;
        if (!told.width)
                return attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER
                               ? CUDA_ERROR_INVALID_VALUE
                               : real.cuPointerGetAttribute(ret, attribute, address);
        memcpy(ret, &told.value, told.width);
        return CUDA_SUCCESS;
}

CUresult hook_cuPointerGetAttribute(void *ret, CUpointer_attribute attribute, CUdeviceptr address)
{
        bool is_of_kind = attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ||
                          attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER;
        struct swap_view block;
        CUresult rc;

        if (swap_find(address, &block))
                return tell_attribute(ret, attribute, &block, address);
        if (!is_of_kind || !is_spilled(address))
                return real.cuPointerGetAttribute(ret, attribute, address);
        if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER)
                return CUDA_ERROR_INVALID_VALUE; /* as for memory that the host cannot access */
        rc = real.cuPointerGetAttribute(ret, attribute, address);
        if (rc == CUDA_SUCCESS)
                *(unsigned int *)ret = CU_MEMORYTYPE_DEVICE;
        return rc;
}

static void tell_spilled(unsigned int count, const CUpointer_attribute *attributes, void **rets)
{
        for (unsigned int i = 0; i < count; i++) {
                if (attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
                        *(unsigned int *)rets[i] = CU_MEMORYTYPE_DEVICE;
                else if (attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER)
                        *(void **)rets[i] = NULL;
        }
}

/* Overwrites the driver's answers for a swappable block. The driver has already checked the
 * arguments, and answered the attributes that such a block does not have. */
static void tell_attributes(const struct swap_view *block, CUdeviceptr address, unsigned int count,
                            const CUpointer_attribute *attributes, void **rets)
{
        for (unsigned int i = 0; i < count; i++) {
                struct attribute told = attribute_of(block, address, attributes[i]);

                if (attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER)
                        *(void **)rets[i] = NULL;
                else
                        memcpy(rets[i], &told.value, told.width);
        }
}

CUresult hook_cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes,
                                     void **rets, CUdeviceptr address)
{
        CUresult rc = real.cuPointerGetAttributes(count, attributes, rets, address);
        struct swap_view block;

        if (rc != CUDA_SUCCESS)
                return rc;
        if (swap_find(address, &block))
                tell_attributes(&block, address, count, attributes, rets);
        else if (is_spilled(address))
                tell_spilled(count, attributes, rets);
        return rc;
}

/* -- Calls on mappings, which refuse cuMemAlloc's memory --------------------------------------- */

CUresult hook_cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
        return swap_meets(address, bytes) ? CUDA_ERROR_INVALID_VALUE
                                          : real.cuMemAddressFree(address, bytes);
}

CUresult hook_cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access,
                             size_t count)
{
        return swap_meets(address, bytes) ? CUDA_ERROR_INVALID_VALUE
                                          : real.cuMemSetAccess(address, bytes, access, count);
}

CUresult hook_cuMemGetAccess(unsigned long long *ret, const CUmemLocation *location,
                             CUdeviceptr address)
{
        return swap_meets(address, 1) ? CUDA_ERROR_INVALID_VALUE
                                      : real.cuMemGetAccess(ret, location, address);
}

/* A device that gets such a handle, for example a network card, uses the physical memory from now
 * on, so the block must stay on the card. */
CUresult hook_cuMemGetHandleForAddressRange(void *ret, CUdeviceptr address, size_t bytes,
                                            CUmemRangeHandleType type, unsigned long long flags)
{
        scoped_access const struct credit *access = access_scope();
        CUresult rc = real.cuMemGetHandleForAddressRange(ret, address, bytes, type, flags);

        if (rc == CUDA_SUCCESS)
                swap_pin(address, bytes);
        return rc;
}
