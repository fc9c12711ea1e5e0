/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pointer attributes, from what memory_find() returns.
 *
 * A query of a single attribute of an unknown address returns INVALID_VALUE; a query of a list of
 * attributes gives zeros.
 */
#include <stddef.h>
#include <string.h>

#include "sim/context/context.h"
#include "sim/context/device.h"
#include "sim/entries.h"
#include "sim/memory/families.h"
#include "sim/memory/pool.h"

static bool is_host(const struct memory_block *block)
{
        return block->kind == MEMORY_HOST || block->kind == MEMORY_REGISTERED;
}

static CUdevice ordinal_of(const struct memory_block *block)
{
        return is_host(block) && block->context ? block->context->device : block->device;
}

static void put_u32(void *ret, unsigned value)
{
        memcpy(ret, &value, sizeof(value));
}

static void put_u64(void *ret, uint64_t value)
{
        memcpy(ret, &value, sizeof(value));
}

static void put_flag(void *ret, bool value)
{
        memcpy(ret, &value, sizeof(value));
}

static CUresult host_pointer(void *ret, CUdeviceptr address, const struct memory_block *block)
{
        if (!is_host(block) && block->kind != MEMORY_MANAGED)
                return CUDA_ERROR_INVALID_VALUE;
        put_u64(ret, address);
        return CUDA_SUCCESS;
}

/* Returns the attributes that only some kinds of memory have: handle types, synchronous operations,
 * pool. */
static CUresult special_get(void *ret, CUpointer_attribute attribute,
                            const struct memory_block *block)
{
        switch (attribute) {
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
                put_u64(ret, block->kind == MEMORY_POOL  ? block->pool->props.handleTypes
                             : block->kind == MEMORY_VMM ? block->flags
                                                         : 0);
                return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
                put_flag(ret, block->flags & BLOCK_SYNC_MEMOPS);
                return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
                put_u64(ret, (uint64_t)(uintptr_t)block->pool);
                return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
                put_flag(ret, false);
                return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
                return CUDA_ERROR_NOT_SUPPORTED;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
}

static CUresult attribute_get(void *ret, CUpointer_attribute attribute, CUdeviceptr address,
                              const struct memory_block *block)
{
        switch (attribute) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
                put_u64(ret, (uint64_t)(uintptr_t)block->context);
                return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
                put_u32(ret, is_host(block) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
                return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
                put_u64(ret, address);
                return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
                return host_pointer(ret, address, block);
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
                put_u64(ret, block->id);
                return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
                put_flag(ret, block->kind == MEMORY_MANAGED);
                return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
                put_u32(ret, (unsigned)ordinal_of(block));
                return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
                put_flag(ret, block->kind == MEMORY_DEVICE);
                return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
                put_u64(ret, block->base);
                return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
                put_u64(ret, block->bytes);
                return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_MAPPED:
                put_flag(ret, block->kind != MEMORY_RESERVED);
                return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
                put_u32(ret, block->access == ACCESS_BOTH   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                             : block->access == ACCESS_READ ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                                            : CU_MEM_ACCESS_FLAGS_PROT_NONE);
                return CUDA_SUCCESS;
        default:
                return special_get(ret, attribute, block);
        }
}

CUresult sim_cuPointerGetAttribute(void *ret, CUpointer_attribute attribute, CUdeviceptr address)
{
        struct memory_block block;

        if (!ret || !memory_find(address, &block))
                return CUDA_ERROR_INVALID_VALUE;
        return attribute_get(ret, attribute, address, &block);
}

static void attribute_none(void *ret, CUpointer_attribute attribute)
{
        switch (attribute) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
                put_u32(ret, 0);
                break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
                put_u32(ret, (unsigned)CU_DEVICE_INVALID);
                break;
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        case CU_POINTER_ATTRIBUTE_MAPPED:
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
                put_flag(ret, false);
                break;
        default:
                put_u64(ret, 0);
        }
}

CUresult sim_cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **ret,
                                    CUdeviceptr address)
{
        struct memory_block block;

        if (count == 0 || !attributes || !ret)
                return CUDA_ERROR_INVALID_VALUE;
        bool is_known = memory_find(address, &block);
        for (unsigned i = 0; i < count; i++) {
                if (!ret[i])
                        return CUDA_ERROR_INVALID_VALUE;
                if (!is_known ||
                    attribute_get(ret[i], attributes[i], address, &block) != CUDA_SUCCESS)
                        attribute_none(ret[i], attributes[i]);
        }
        return CUDA_SUCCESS;
}

CUresult sim_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                                   CUdeviceptr address)
{
        struct memory_block block;
        struct arena_block before;

        if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
            !memory_find(address, &block) || is_host(&block))
                return CUDA_ERROR_INVALID_VALUE;
        bool is_set = *(const unsigned *)value != 0;
        struct flag_change change = { .set = is_set ? BLOCK_SYNC_MEMOPS : 0,
                                      .clear = is_set ? 0 : BLOCK_SYNC_MEMOPS };
        arena_set_flags(block.base, block.kind, change, &before);
        return CUDA_SUCCESS;
}
