/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the facts of the CUDA runtime's types that programs are built with: compiled once against
 * the toolkit's headers (-DREAL) and once against ours, the output must be the same but for the
 * first line.
 */
#include <stddef.h>
#include <stdio.h>

#ifdef REAL
#include <cuda_runtime_api.h>
typedef struct cudaMemLocation cudaMemLocation;
typedef struct cudaMemAccessDesc cudaMemAccessDesc;
typedef struct cudaMemPoolProps cudaMemPoolProps;
typedef struct cudaMemPoolPtrExportData cudaMemPoolPtrExportData;
typedef struct cudaMemAllocNodeParams cudaMemAllocNodeParams;
typedef struct cudaMemsetParams cudaMemsetParams;
typedef struct cudaHostNodeParams cudaHostNodeParams;
typedef struct cudaArrayMemoryRequirements cudaArrayMemoryRequirements;
typedef struct cudaArraySparseProperties cudaArraySparseProperties;
#define DRIVER_NAME(theirs, ours) theirs
#define IS_13 (CUDART_VERSION >= 13000)
#else
#include "cudart/types.h"
#define ERROR(name, number, text) name = number,
enum {
#include "cudart/errors.inc"
};
#define DRIVER_NAME(theirs, ours) ours
#define CUDART_VERSION (CUDART_MAJOR * 1000)
#define IS_13 (CUDART_MAJOR >= 13)
#endif

#define SIZE(type) printf("size of " #type " %zu\n", sizeof(type))
#define AT(type, member) printf("offset of " #type " " #member " %zu\n", offsetof(type, member))
#define AS(type, theirs, ours) \
        printf("offset of " #type " " #theirs " %zu\n", offsetof(type, DRIVER_NAME(theirs, ours)))

static void sizes(void)
{
        SIZE(dim3);
        SIZE(struct cudaPitchedPtr);
        SIZE(struct cudaExtent);
        SIZE(struct cudaPos);
        SIZE(struct cudaChannelFormatDesc);
        SIZE(struct cudaMemcpy3DParms);
        SIZE(struct cudaPointerAttributes);
        SIZE(struct cudaFuncAttributes);
        SIZE(struct cudaKernelNodeParams);
        SIZE(struct cudaDeviceProp);
        SIZE(cudaLaunchConfig_t);
        SIZE(cudaIpcMemHandle_t);
        SIZE(cudaIpcEventHandle_t);
        SIZE(cudaMemLocation);
        SIZE(cudaMemAccessDesc);
        SIZE(cudaMemPoolProps);
        SIZE(cudaMemPoolPtrExportData);
        SIZE(cudaMemAllocNodeParams);
        SIZE(cudaMemsetParams);
        SIZE(cudaHostNodeParams);
        SIZE(cudaArrayMemoryRequirements);
        SIZE(cudaArraySparseProperties);
        SIZE(cudaGraphEdgeData);
        SIZE(cudaGraphExecUpdateResultInfo);
        SIZE(cudaGraphInstantiateParams);
        SIZE(cudaLaunchAttribute);
        SIZE(cudaLaunchAttributeValue);
}

static void members(void)
{
        AT(struct cudaMemcpy3DParms, srcPtr);
        AT(struct cudaMemcpy3DParms, dstArray);
        AT(struct cudaMemcpy3DParms, dstPtr);
        AT(struct cudaMemcpy3DParms, extent);
        AT(struct cudaMemcpy3DParms, kind);
        AT(struct cudaPointerAttributes, devicePointer);
        AT(struct cudaPointerAttributes, hostPointer);
        AT(struct cudaFuncAttributes, maxThreadsPerBlock);
        AT(struct cudaFuncAttributes, nonPortableClusterSizeAllowed);
        AT(struct cudaKernelNodeParams, blockDim);
        AT(struct cudaKernelNodeParams, kernelParams);
        AT(cudaLaunchConfig_t, dynamicSmemBytes);
        AT(cudaLaunchConfig_t, stream);
        AT(cudaLaunchConfig_t, numAttrs);
        AS(cudaMemPoolProps, location, location);
        AS(cudaMemPoolProps, maxSize, maxSize);
        AS(cudaMemAllocNodeParams, bytesize, bytesize);
        AS(cudaMemAllocNodeParams, dptr, dptr);
        AS(cudaMemsetParams, elementSize, elementSize);
        AS(cudaMemsetParams, height, height);
        AS(cudaHostNodeParams, userData, userData);
        AS(cudaGraphInstantiateParams, uploadStream, hUploadStream);
        AS(cudaGraphInstantiateParams, result_out, result_out);
        AS(cudaLaunchAttribute, val, value);
}

static void properties(void)
{
        AT(struct cudaDeviceProp, totalGlobalMem);
        AT(struct cudaDeviceProp, maxGridSize);
        AT(struct cudaDeviceProp, totalConstMem);
        AT(struct cudaDeviceProp, major);
        AT(struct cudaDeviceProp, multiProcessorCount);
        AT(struct cudaDeviceProp, integrated);
        AT(struct cudaDeviceProp, maxTexture2D);
        AT(struct cudaDeviceProp, maxSurfaceCubemapLayered);
        AT(struct cudaDeviceProp, pciBusID);
        AT(struct cudaDeviceProp, unifiedAddressing);
        AT(struct cudaDeviceProp, l2CacheSize);
        AT(struct cudaDeviceProp, managedMemory);
        AT(struct cudaDeviceProp, pageableMemoryAccess);
        AT(struct cudaDeviceProp, cooperativeLaunch);
        AT(struct cudaDeviceProp, sharedMemPerBlockOptin);
        AT(struct cudaDeviceProp, reservedSharedMemPerBlock);
        AT(struct cudaDeviceProp, memoryPoolsSupported);
        AT(struct cudaDeviceProp, unifiedFunctionPointers);
        AT(struct cudaDeviceProp, reserved);
#if IS_13
        AT(struct cudaDeviceProp, mpsEnabled);
        AT(struct cudaDeviceProp, hostNumaMultinodeIpcSupported);
#else
        AT(struct cudaDeviceProp, clockRate);
        AT(struct cudaDeviceProp, computeMode);
        AT(struct cudaDeviceProp, memoryClockRate);
#endif
}

static void values(void)
{
#undef ERROR
#define ERROR(name, number, text) printf(#name " %d\n", (int)(name));
#include "cudart/errors.inc"
        printf("kinds %d %d %d %d %d\n", cudaMemcpyHostToHost, cudaMemcpyHostToDevice,
               cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault);
        printf("memory %d %d %d %d\n", cudaMemoryTypeUnregistered, cudaMemoryTypeHost,
               cudaMemoryTypeDevice, cudaMemoryTypeManaged);
        printf("channels %d %d %d %d\n", cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned,
               cudaChannelFormatKindFloat, cudaChannelFormatKindNone);
        printf("entry points %d %d %d\n", cudaEnableDefault, cudaEnableLegacyStream,
               cudaEnablePerThreadDefaultStream);
}

int main(void)
{
        printf("version %d\n", CUDART_VERSION);
        sizes();
        members();
        properties();
        values();
        return 0;
}
