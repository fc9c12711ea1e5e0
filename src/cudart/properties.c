/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the properties of a device from the driver's attributes, which a table maps to members.
 */
#include "cudart/properties.h"

#include "cudart/hand.h"
#include "cudart/runtime.h"

#include <string.h>

static const struct property_field fields[] = {
        PROPERTY_FIELD(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK),
        PROPERTY_FIELD(regsPerBlock, MAX_REGISTERS_PER_BLOCK),
        PROPERTY_FIELD(warpSize, WARP_SIZE),
        PROPERTY_FIELD(memPitch, MAX_PITCH),
        PROPERTY_FIELD(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK),
        PROPERTY_FIELD(maxThreadsDim[0], MAX_BLOCK_DIM_X),
        PROPERTY_FIELD(maxThreadsDim[1], MAX_BLOCK_DIM_Y),
        PROPERTY_FIELD(maxThreadsDim[2], MAX_BLOCK_DIM_Z),
        PROPERTY_FIELD(maxGridSize[0], MAX_GRID_DIM_X),
        PROPERTY_FIELD(maxGridSize[1], MAX_GRID_DIM_Y),
        PROPERTY_FIELD(maxGridSize[2], MAX_GRID_DIM_Z),
        PROPERTY_FIELD(totalConstMem, TOTAL_CONSTANT_MEMORY),
        PROPERTY_FIELD(major, COMPUTE_CAPABILITY_MAJOR),
        PROPERTY_FIELD(minor, COMPUTE_CAPABILITY_MINOR),
        PROPERTY_FIELD(textureAlignment, TEXTURE_ALIGNMENT),
        PROPERTY_FIELD(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT),
        PROPERTY_FIELD(multiProcessorCount, MULTIPROCESSOR_COUNT),
        PROPERTY_FIELD(integrated, INTEGRATED),
        PROPERTY_FIELD(canMapHostMemory, CAN_MAP_HOST_MEMORY),
        PROPERTY_FIELD(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH),
        PROPERTY_FIELD(maxTexture1DMipmap, MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH),
        PROPERTY_FIELD(maxTexture2D[0], MAXIMUM_TEXTURE2D_WIDTH),
        PROPERTY_FIELD(maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT),
        PROPERTY_FIELD(maxTexture2DMipmap[0], MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH),
        PROPERTY_FIELD(maxTexture2DMipmap[1], MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT),
        PROPERTY_FIELD(maxTexture2DLinear[0], MAXIMUM_TEXTURE2D_LINEAR_WIDTH),
        PROPERTY_FIELD(maxTexture2DLinear[1], MAXIMUM_TEXTURE2D_LINEAR_HEIGHT),
        PROPERTY_FIELD(maxTexture2DLinear[2], MAXIMUM_TEXTURE2D_LINEAR_PITCH),
        PROPERTY_FIELD(maxTexture2DGather[0], MAXIMUM_TEXTURE2D_GATHER_WIDTH),
        PROPERTY_FIELD(maxTexture2DGather[1], MAXIMUM_TEXTURE2D_GATHER_HEIGHT),
        PROPERTY_FIELD(maxTexture3D[0], MAXIMUM_TEXTURE3D_WIDTH),
        PROPERTY_FIELD(maxTexture3D[1], MAXIMUM_TEXTURE3D_HEIGHT),
        PROPERTY_FIELD(maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH),
        PROPERTY_FIELD(maxTexture3DAlt[0], MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE),
        PROPERTY_FIELD(maxTexture3DAlt[1], MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE),
        PROPERTY_FIELD(maxTexture3DAlt[2], MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE),
        PROPERTY_FIELD(maxTextureCubemap, MAXIMUM_TEXTURECUBEMAP_WIDTH),
        PROPERTY_FIELD(maxTexture1DLayered[0], MAXIMUM_TEXTURE1D_LAYERED_WIDTH),
        PROPERTY_FIELD(maxTexture1DLayered[1], MAXIMUM_TEXTURE1D_LAYERED_LAYERS),
        PROPERTY_FIELD(maxTexture2DLayered[0], MAXIMUM_TEXTURE2D_LAYERED_WIDTH),
        PROPERTY_FIELD(maxTexture2DLayered[1], MAXIMUM_TEXTURE2D_LAYERED_HEIGHT),
        PROPERTY_FIELD(maxTexture2DLayered[2], MAXIMUM_TEXTURE2D_LAYERED_LAYERS),
        PROPERTY_FIELD(maxTextureCubemapLayered[0], MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH),
        PROPERTY_FIELD(maxTextureCubemapLayered[1], MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS),
        PROPERTY_FIELD(maxSurface1D, MAXIMUM_SURFACE1D_WIDTH),
        PROPERTY_FIELD(maxSurface2D[0], MAXIMUM_SURFACE2D_WIDTH),
        PROPERTY_FIELD(maxSurface2D[1], MAXIMUM_SURFACE2D_HEIGHT),
        PROPERTY_FIELD(maxSurface3D[0], MAXIMUM_SURFACE3D_WIDTH),
        PROPERTY_FIELD(maxSurface3D[1], MAXIMUM_SURFACE3D_HEIGHT),
        PROPERTY_FIELD(maxSurface3D[2], MAXIMUM_SURFACE3D_DEPTH),
        PROPERTY_FIELD(maxSurface1DLayered[0], MAXIMUM_SURFACE1D_LAYERED_WIDTH),
        PROPERTY_FIELD(maxSurface1DLayered[1], MAXIMUM_SURFACE1D_LAYERED_LAYERS),
        PROPERTY_FIELD(maxSurface2DLayered[0], MAXIMUM_SURFACE2D_LAYERED_WIDTH),
        PROPERTY_FIELD(maxSurface2DLayered[1], MAXIMUM_SURFACE2D_LAYERED_HEIGHT),
        PROPERTY_FIELD(maxSurface2DLayered[2], MAXIMUM_SURFACE2D_LAYERED_LAYERS),
        PROPERTY_FIELD(maxSurfaceCubemap, MAXIMUM_SURFACECUBEMAP_WIDTH),
        PROPERTY_FIELD(maxSurfaceCubemapLayered[0], MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH),
        PROPERTY_FIELD(maxSurfaceCubemapLayered[1], MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS),
        PROPERTY_FIELD(surfaceAlignment, SURFACE_ALIGNMENT),
        PROPERTY_FIELD(concurrentKernels, CONCURRENT_KERNELS),
        PROPERTY_FIELD(ECCEnabled, ECC_ENABLED),
        PROPERTY_FIELD(pciBusID, PCI_BUS_ID),
        PROPERTY_FIELD(pciDeviceID, PCI_DEVICE_ID),
        PROPERTY_FIELD(pciDomainID, PCI_DOMAIN_ID),
        PROPERTY_FIELD(tccDriver, TCC_DRIVER),
        PROPERTY_FIELD(asyncEngineCount, ASYNC_ENGINE_COUNT),
        PROPERTY_FIELD(unifiedAddressing, UNIFIED_ADDRESSING),
        PROPERTY_FIELD(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH),
        PROPERTY_FIELD(l2CacheSize, L2_CACHE_SIZE),
        PROPERTY_FIELD(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE),
        PROPERTY_FIELD(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR),
        PROPERTY_FIELD(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED),
        PROPERTY_FIELD(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED),
        PROPERTY_FIELD(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED),
        PROPERTY_FIELD(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        PROPERTY_FIELD(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR),
        PROPERTY_FIELD(managedMemory, MANAGED_MEMORY),
        PROPERTY_FIELD(isMultiGpuBoard, MULTI_GPU_BOARD),
        PROPERTY_FIELD(multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID),
        PROPERTY_FIELD(hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED),
        PROPERTY_FIELD(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS),
        PROPERTY_FIELD(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS),
        PROPERTY_FIELD(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED),
        PROPERTY_FIELD(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM),
        PROPERTY_FIELD(cooperativeLaunch, COOPERATIVE_LAUNCH),
        PROPERTY_FIELD(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        PROPERTY_FIELD(pageableMemoryAccessUsesHostPageTables,
                       PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES),
        PROPERTY_FIELD(directManagedMemAccessFromHost, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST),
        PROPERTY_FIELD(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR),
        PROPERTY_FIELD(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE),
        PROPERTY_FIELD(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK),
        PROPERTY_FIELD(hostRegisterSupported, HOST_REGISTER_SUPPORTED),
        PROPERTY_FIELD(sparseCudaArraySupported, SPARSE_CUDA_ARRAY_SUPPORTED),
        PROPERTY_FIELD(hostRegisterReadOnlySupported, READ_ONLY_HOST_REGISTER_SUPPORTED),
        PROPERTY_FIELD(timelineSemaphoreInteropSupported, TIMELINE_SEMAPHORE_INTEROP_SUPPORTED),
        PROPERTY_FIELD(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED),
        PROPERTY_FIELD(gpuDirectRDMASupported, GPU_DIRECT_RDMA_SUPPORTED),
        PROPERTY_FIELD(gpuDirectRDMAFlushWritesOptions, GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS),
        PROPERTY_FIELD(gpuDirectRDMAWritesOrdering, GPU_DIRECT_RDMA_WRITES_ORDERING),
        PROPERTY_FIELD(memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES),
        PROPERTY_FIELD(deferredMappingCudaArraySupported, DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED),
        PROPERTY_FIELD(ipcEventSupported, IPC_EVENT_SUPPORTED),
        PROPERTY_FIELD(clusterLaunch, CLUSTER_LAUNCH),
        PROPERTY_FIELD(unifiedFunctionPointers, UNIFIED_FUNCTION_POINTERS),
};

static void fill(const struct driver *d, struct cudaDeviceProp *prop,
                 const struct property_field *which, CUdevice device)
{
        char *field = (char *)prop + which->offset;
        int value = 0;

        if (d->cuDeviceGetAttribute(&value, which->attribute, device))
                return; /* the driver does not know the attribute: the member stays 0 */
        if (which->bytes == sizeof(size_t))
                memcpy(field, &(size_t){ (size_t)value }, sizeof(size_t));
        else
                memcpy(field, &value, sizeof(value));
}

int properties_read(const struct driver *d, struct cudaDeviceProp *ret, int device)
{
        int rc;

        if (!ret)
                return CUDA_ERROR_INVALID_VALUE;
        memset(ret, 0, sizeof(*ret));
        rc = (int)d->cuDeviceGetName(ret->name, (int)sizeof(ret->name), device);
        if (!rc)
                rc = (int)d->cuDeviceTotalMem_v2(&ret->totalGlobalMem, device);
        if (!rc)
                rc = (int)d->cuDeviceGetUuid_v2(&ret->uuid, device);
        if (rc)
                return rc;
        for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
                fill(d, ret, &fields[i], device);
        for (size_t i = 0; i < property_release_count; i++)
                fill(d, ret, &property_release_fields[i], device);
        return 0;
}
