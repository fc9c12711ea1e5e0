/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device attributes: one table for values that all models share, one function for values that
 * differ.
 *
 * An attribute that is in neither is 0, "no such feature". One that the driver version does not
 * know is INVALID_VALUE.
 */
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "sim/context/device.h"
#include "sim/entries.h"
#include "sim/node/config.h"

#define A(name) CU_DEVICE_ATTRIBUTE_##name

static const struct {
        int attribute;
        int value;
} common[] = {
        { A(MAX_THREADS_PER_BLOCK), 1024 },
        { A(MAX_BLOCK_DIM_X), 1024 },
        { A(MAX_BLOCK_DIM_Y), 1024 },
        { A(MAX_BLOCK_DIM_Z), 64 },
        { A(MAX_GRID_DIM_X), INT_MAX },
        { A(MAX_GRID_DIM_Y), 65535 },
        { A(MAX_GRID_DIM_Z), 65535 },
        { A(TOTAL_CONSTANT_MEMORY), 65536 },
        { A(WARP_SIZE), 32 },
        { A(MAX_PITCH), INT_MAX },
        { A(MAX_REGISTERS_PER_BLOCK), 65536 },
        { A(MAX_REGISTERS_PER_MULTIPROCESSOR), 65536 },
        { A(TEXTURE_ALIGNMENT), 512 },
        { A(TEXTURE_PITCH_ALIGNMENT), 32 },
        { A(SURFACE_ALIGNMENT), 512 },
        { A(GPU_OVERLAP), 1 },
        { A(CAN_MAP_HOST_MEMORY), 1 },
        { A(COMPUTE_MODE), CU_COMPUTEMODE_DEFAULT },
        { A(MAXIMUM_TEXTURE1D_WIDTH), 131072 },
        { A(MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH), 32768 },
        { A(MAXIMUM_TEXTURE1D_LINEAR_WIDTH), 268435456 },
        { A(MAXIMUM_TEXTURE1D_LAYERED_WIDTH), 32768 },
        { A(MAXIMUM_TEXTURE1D_LAYERED_LAYERS), 2048 },
        { A(MAXIMUM_TEXTURE2D_WIDTH), 131072 },
        { A(MAXIMUM_TEXTURE2D_HEIGHT), 65536 },
        { A(MAXIMUM_TEXTURE2D_LAYERED_WIDTH), 32768 },
        { A(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT), 32768 },
        { A(MAXIMUM_TEXTURE2D_LAYERED_LAYERS), 2048 },
        { A(MAXIMUM_TEXTURE2D_LINEAR_WIDTH), 131072 },
        { A(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT), 65000 },
        { A(MAXIMUM_TEXTURE2D_LINEAR_PITCH), 2097120 },
        { A(MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH), 32768 },
        { A(MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT), 32768 },
        { A(MAXIMUM_TEXTURE2D_GATHER_WIDTH), 32768 },
        { A(MAXIMUM_TEXTURE2D_GATHER_HEIGHT), 32768 },
        { A(MAXIMUM_TEXTURE3D_WIDTH), 16384 },
        { A(MAXIMUM_TEXTURE3D_HEIGHT), 16384 },
        { A(MAXIMUM_TEXTURE3D_DEPTH), 16384 },
        { A(MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE), 8192 },
        { A(MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE), 8192 },
        { A(MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE), 32768 },
        { A(MAXIMUM_TEXTURECUBEMAP_WIDTH), 32768 },
        { A(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH), 32768 },
        { A(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS), 2046 },
        { A(MAXIMUM_SURFACE1D_WIDTH), 32768 },
        { A(MAXIMUM_SURFACE2D_WIDTH), 131072 },
        { A(MAXIMUM_SURFACE2D_HEIGHT), 65536 },
        { A(MAXIMUM_SURFACE3D_WIDTH), 16384 },
        { A(MAXIMUM_SURFACE3D_HEIGHT), 16384 },
        { A(MAXIMUM_SURFACE3D_DEPTH), 16384 },
        { A(MAXIMUM_SURFACE1D_LAYERED_WIDTH), 32768 },
        { A(MAXIMUM_SURFACE1D_LAYERED_LAYERS), 2048 },
        { A(MAXIMUM_SURFACE2D_LAYERED_WIDTH), 32768 },
        { A(MAXIMUM_SURFACE2D_LAYERED_HEIGHT), 32768 },
        { A(MAXIMUM_SURFACE2D_LAYERED_LAYERS), 2048 },
        { A(MAXIMUM_SURFACECUBEMAP_WIDTH), 32768 },
        { A(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH), 32768 },
        { A(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS), 2046 },
        { A(CONCURRENT_KERNELS), 1 },
        { A(ECC_ENABLED), 1 },
        { A(UNIFIED_ADDRESSING), 1 },
        { A(CAN_TEX2D_GATHER), 1 },
        { A(STREAM_PRIORITIES_SUPPORTED), 1 },
        { A(GLOBAL_L1_CACHE_SUPPORTED), 1 },
        { A(LOCAL_L1_CACHE_SUPPORTED), 1 },
        { A(MANAGED_MEMORY), 1 },
        { A(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO), 2 },
        { A(CONCURRENT_MANAGED_ACCESS), 1 },
        { A(COMPUTE_PREEMPTION_SUPPORTED), 1 },
        { A(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM), 1 },
        { A(CAN_USE_STREAM_MEM_OPS_V1), 1 },
        { A(CAN_USE_64_BIT_STREAM_MEM_OPS_V1), 1 },
        { A(CAN_USE_STREAM_WAIT_VALUE_NOR_V1), 1 },
        { A(CAN_USE_64_BIT_STREAM_MEM_OPS), 1 },
        { A(CAN_USE_STREAM_WAIT_VALUE_NOR), 1 },
        { A(COOPERATIVE_LAUNCH), 1 },
        { A(HOST_REGISTER_SUPPORTED), 1 },
        { A(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), 1 },
        { A(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED), 1 },
        { A(RESERVED_SHARED_MEMORY_PER_BLOCK), 1024 },
        { A(READ_ONLY_HOST_REGISTER_SUPPORTED), 1 },
        { A(MEMORY_POOLS_SUPPORTED), 1 },
        { A(MEMPOOL_SUPPORTED_HANDLE_TYPES), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR },
        { A(IPC_EVENT_SUPPORTED), 1 },
        { A(MEM_SYNC_DOMAIN_COUNT), 1 },
        { A(LOCALITY_DOMAIN_COUNT), 1 },
        { A(NUMA_ID), -1 },
        { A(HOST_NUMA_ID), 0 },
        { A(MULTI_GPU_BOARD_GROUP_ID), 0 },
};

static int model_value(int attribute, const struct model_spec *spec, const struct node_device *node)
{
        switch (attribute) {
        case A(MAX_SHARED_MEMORY_PER_BLOCK):
                return spec->shared_block_bytes;
        case A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN):
                return spec->shared_block_optin_bytes;
        case A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR):
                return spec->shared_multiprocessor_bytes;
        case A(CLOCK_RATE):
                return spec->clock_khz;
        case A(MEMORY_CLOCK_RATE):
                return spec->memory_clock_khz;
        case A(GLOBAL_MEMORY_BUS_WIDTH):
                return spec->bus_bits;
        case A(MULTIPROCESSOR_COUNT):
                return model_multiprocessors(spec);
        case A(L2_CACHE_SIZE):
                return spec->l2_bytes;
        case A(MAX_PERSISTING_L2_CACHE_SIZE):
                return spec->capability_major >= 8 ? spec->l2_bytes / 4 * 3 : 0;
        case A(MAX_ACCESS_POLICY_WINDOW_SIZE):
                return spec->capability_major >= 8 ? 128 << 20 : 0;
        case A(MAX_THREADS_PER_MULTIPROCESSOR):
                return spec->threads_per_multiprocessor;
        case A(MAX_BLOCKS_PER_MULTIPROCESSOR):
                return spec->blocks_per_multiprocessor;
        case A(ASYNC_ENGINE_COUNT):
                return spec->copy_engines;
        case A(COMPUTE_CAPABILITY_MAJOR):
                return spec->capability_major;
        case A(COMPUTE_CAPABILITY_MINOR):
                return spec->capability_minor;
        case A(CLUSTER_LAUNCH):
                return spec->capability_major >= 9;
        case A(PCI_BUS_ID):
                return (int)node->pci_bus;
        case A(PCI_DEVICE_ID):
                return (int)node->pci_device;
        case A(PCI_DOMAIN_ID):
                return (int)node->pci_domain;
        case A(GPU_PCI_DEVICE_ID):
                return (int)spec->pci_device_id;
        case A(GPU_PCI_SUBSYSTEM_ID):
                return (int)spec->pci_subsystem_id;
        default:
                return 0;
        }
}

CUresult sim_cuDeviceGetAttribute(int *ret, CUdevice_attribute attribute, CUdevice device)
{
        if (!ret || (int)attribute <= 0 || attribute >= A(MAX))
                return CUDA_ERROR_INVALID_VALUE;
        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
                if (common[i].attribute == (int)attribute) {
                        *ret = common[i].value;
                        return CUDA_SUCCESS;
                }
        }
        *ret = model_value((int)attribute, model_spec(node_get()->model), device_node(device));
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetProperties(CUdevprop *ret, CUdevice device)
{
        const struct model_spec *spec = model_spec(node_get()->model);

        *ret = (CUdevprop){
                .maxThreadsPerBlock = 1024,
                .maxThreadsDim = { 1024, 1024, 64 },
                .maxGridSize = { INT_MAX, 65535, 65535 },
                .sharedMemPerBlock = spec->shared_block_bytes,
                .totalConstantMemory = 65536,
                .SIMDWidth = 32,
                .memPitch = INT_MAX,
                .regsPerBlock = 65536,
                .clockRate = spec->clock_khz,
                .textureAlign = 512,
        };
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetTexture1DLinearMaxWidth(size_t *ret, CUarray_format format,
                                                unsigned int channels, CUdevice device)
{
        if (!ret || channels == 0 || channels > 4)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        *ret = 268435456 / channels;
        return CUDA_SUCCESS;
}

CUresult sim_cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                        CUflushGPUDirectRDMAWritesScope scope)
{
        return CUDA_ERROR_NOT_SUPPORTED;
}
