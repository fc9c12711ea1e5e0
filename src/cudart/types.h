/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of the CUDA runtime 12 or 13 (CUDART_MAJOR), written anew for this library.
 *
 * A handle or struct that the driver has under another name is declared as the driver's type. Enums
 * are plain ints, since only their values matter. tests/abi compares sizes, offsets, values and
 * every prototype with the runtime's own headers, if those are installed.
 */
#ifndef ALIQUOT_CUDART_TYPES_H
#define ALIQUOT_CUDART_TYPES_H

#include "abi/cuda.h"

#include <stddef.h>
#include <stdint.h>

#ifndef CUDART_MAJOR
#define CUDART_MAJOR 13
#endif

typedef int cudaError_t;
typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef CUgraph cudaGraph_t;
typedef CUgraphNode cudaGraphNode_t;
typedef CUgraphExec cudaGraphExec_t;
typedef CUmemoryPool cudaMemPool_t;
typedef CUuserObject cudaUserObject_t;
typedef CUarray cudaArray_t, cudaArray_const_t;
typedef CUmipmappedArray cudaMipmappedArray_t, cudaMipmappedArray_const_t;
typedef CUkernel cudaKernel_t;
typedef CUfunction cudaFunction_t;
typedef CUlibrary cudaLibrary_t;
typedef CUhostFn cudaHostFn_t;
typedef void (*cudaStreamCallback_t)(cudaStream_t, cudaError_t, void *);

typedef CUuuid cudaUUID_t;
typedef CUipcMemHandle cudaIpcMemHandle_t;
typedef CUipcEventHandle cudaIpcEventHandle_t;
typedef CUmemLocation cudaMemLocation;
typedef CUmemAccessDesc cudaMemAccessDesc;
typedef CUmemPoolProps cudaMemPoolProps;
typedef CUmemPoolPtrExportData cudaMemPoolPtrExportData;
typedef CUDA_MEM_ALLOC_NODE_PARAMS cudaMemAllocNodeParams;
typedef CUDA_MEMSET_NODE_PARAMS cudaMemsetParams;
typedef CUDA_HOST_NODE_PARAMS cudaHostNodeParams;
typedef CUDA_ARRAY_MEMORY_REQUIREMENTS cudaArrayMemoryRequirements;
typedef CUDA_ARRAY_SPARSE_PROPERTIES cudaArraySparseProperties;
typedef CUgraphEdgeData cudaGraphEdgeData;
typedef CUgraphExecUpdateResultInfo cudaGraphExecUpdateResultInfo;
typedef CUDA_GRAPH_INSTANTIATE_PARAMS cudaGraphInstantiateParams;
typedef CUlaunchAttribute cudaLaunchAttribute;
typedef CUlaunchAttributeValue cudaLaunchAttributeValue;

enum {
        cudaMemcpyHostToHost = 0,
        cudaMemcpyHostToDevice = 1,
        cudaMemcpyDeviceToHost = 2,
        cudaMemcpyDeviceToDevice = 3,
        cudaMemcpyDefault = 4,
};

enum {
        cudaMemoryTypeUnregistered,
        cudaMemoryTypeHost,
        cudaMemoryTypeDevice,
        cudaMemoryTypeManaged
};

enum {
        cudaChannelFormatKindSigned = 0,
        cudaChannelFormatKindUnsigned = 1,
        cudaChannelFormatKindFloat = 2,
        cudaChannelFormatKindNone = 3,
};

enum { cudaEnableDefault = 0, cudaEnableLegacyStream = 1, cudaEnablePerThreadDefaultStream = 2 };

typedef struct {
        unsigned int x, y, z;
} dim3;

struct cudaPitchedPtr {
        void *ptr;
        size_t pitch;
        /* xsize: logical width in elements; ysize: height in rows; both as the allocation set
         * them */
        size_t xsize;
        size_t ysize;
};

struct cudaExtent {
        size_t width, height, depth;
};

struct cudaPos {
        size_t x, y, z;
};

struct cudaChannelFormatDesc {
        int x, y, z, w; /* bits of each channel */
        int f;          /* one of the cudaChannelFormatKind... values */
};

struct cudaMemcpy3DParms {
        cudaArray_t srcArray;
        struct cudaPos srcPos;
        struct cudaPitchedPtr srcPtr;
        cudaArray_t dstArray;
        struct cudaPos dstPos;
        struct cudaPitchedPtr dstPtr;
        struct cudaExtent extent;
        int kind;
};

struct cudaPointerAttributes {
        int type;
        int device;
        void *devicePointer;
        void *hostPointer;
#if CUDART_MAJOR >= 13
        long reserved[8];
#endif
};

struct cudaFuncAttributes {
        size_t sharedSizeBytes;
        size_t constSizeBytes;
        size_t localSizeBytes;
        int maxThreadsPerBlock;
        int numRegs;
        int ptxVersion;
        int binaryVersion;
        int cacheModeCA;
        int maxDynamicSharedSizeBytes;
        int preferredShmemCarveout;
        int clusterDimMustBeSet;
        int requiredClusterWidth;
        int requiredClusterHeight;
        int requiredClusterDepth;
        int clusterSchedulingPolicyPreference;
        int nonPortableClusterSizeAllowed;
        int reserved[16];
};

struct cudaKernelNodeParams {
        void *func;
        dim3 gridDim;
        dim3 blockDim;
        unsigned int sharedMemBytes;
        void **kernelParams;
        void **extra;
};

typedef struct {
        dim3 gridDim;
        dim3 blockDim;
        size_t dynamicSmemBytes;
        cudaStream_t stream;
        cudaLaunchAttribute *attrs;
        unsigned int numAttrs;
} cudaLaunchConfig_t;

struct cudaDeviceProp {
        char name[256];
        cudaUUID_t uuid;
        char luid[8];
        unsigned int luidDeviceNodeMask;
        size_t totalGlobalMem;
        size_t sharedMemPerBlock;
        int regsPerBlock;
        int warpSize;
        size_t memPitch;
        int maxThreadsPerBlock;
        int maxThreadsDim[3];
        int maxGridSize[3];
#if CUDART_MAJOR < 13
        int clockRate; /* kHz */
#endif
        size_t totalConstMem;
        int major;
        int minor;
        size_t textureAlignment;
        size_t texturePitchAlignment;
#if CUDART_MAJOR < 13
        int deviceOverlap;
#endif
        int multiProcessorCount;
#if CUDART_MAJOR < 13
        int kernelExecTimeoutEnabled;
#endif
        int integrated;
        int canMapHostMemory;
#if CUDART_MAJOR < 13
        int computeMode;
#endif
        int maxTexture1D;
        int maxTexture1DMipmap;
#if CUDART_MAJOR < 13
        int maxTexture1DLinear;
#endif
        int maxTexture2D[2];
        int maxTexture2DMipmap[2];
        int maxTexture2DLinear[3];
        int maxTexture2DGather[2];
        int maxTexture3D[3];
        int maxTexture3DAlt[3];
        int maxTextureCubemap;
        int maxTexture1DLayered[2];
        int maxTexture2DLayered[3];
        int maxTextureCubemapLayered[2];
        int maxSurface1D;
        int maxSurface2D[2];
        int maxSurface3D[3];
        int maxSurface1DLayered[2];
        int maxSurface2DLayered[3];
        int maxSurfaceCubemap;
        int maxSurfaceCubemapLayered[2];
        size_t surfaceAlignment;
        int concurrentKernels;
        int ECCEnabled;
        int pciBusID;
        int pciDeviceID;
        int pciDomainID;
        int tccDriver;
        int asyncEngineCount;
        int unifiedAddressing;
#if CUDART_MAJOR < 13
        int memoryClockRate; /* kHz */
#endif
        int memoryBusWidth; /* bits */
        int l2CacheSize;
        int persistingL2CacheMaxSize;
        int maxThreadsPerMultiProcessor;
        int streamPrioritiesSupported;
        int globalL1CacheSupported;
        int localL1CacheSupported;
        size_t sharedMemPerMultiprocessor;
        int regsPerMultiprocessor;
        int managedMemory;
        int isMultiGpuBoard;
        int multiGpuBoardGroupID;
        int hostNativeAtomicSupported;
#if CUDART_MAJOR < 13
        int singleToDoublePrecisionPerfRatio;
#endif
        int pageableMemoryAccess;
        int concurrentManagedAccess;
        int computePreemptionSupported;
        int canUseHostPointerForRegisteredMem;
        int cooperativeLaunch;
#if CUDART_MAJOR < 13
        int cooperativeMultiDeviceLaunch;
#endif
        size_t sharedMemPerBlockOptin;
        int pageableMemoryAccessUsesHostPageTables;
        int directManagedMemAccessFromHost;
        int maxBlocksPerMultiProcessor;
        int accessPolicyMaxWindowSize;
        size_t reservedSharedMemPerBlock;
        int hostRegisterSupported;
        int sparseCudaArraySupported;
        int hostRegisterReadOnlySupported;
        int timelineSemaphoreInteropSupported;
        int memoryPoolsSupported;
        int gpuDirectRDMASupported;
        unsigned int gpuDirectRDMAFlushWritesOptions;
        int gpuDirectRDMAWritesOrdering;
        unsigned int memoryPoolSupportedHandleTypes;
        int deferredMappingCudaArraySupported;
        int ipcEventSupported;
        int clusterLaunch;
        int unifiedFunctionPointers;
#if CUDART_MAJOR < 13
        int reserved[63];
#else
        int deviceNumaConfig;
        int deviceNumaId;
        int mpsEnabled;
        int hostNumaId;
        unsigned int gpuPciDeviceID;
        unsigned int gpuPciSubsystemID;
        int hostNumaMultinodeIpcSupported;
        int reserved[56];
#endif
};

#endif
