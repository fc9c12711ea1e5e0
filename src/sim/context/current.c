/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls need a current context with current=manual: those on events, streams, memory, arrays,
 * modules, functions and launches for which NVIDIA's manual lists CUDA_ERROR_INVALID_CONTEXT among
 * what they answer (cuda.h of CUDA 13.0). Also where the stream or the event tells the context.
 */
#include "sim/context/current.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Sorted; each with its newer versions and its per-thread form. */
static const char *const listed[] = {
        "cuArray3DCreate",
        "cuArray3DGetDescriptor",
        "cuArrayCreate",
        "cuArrayDestroy",
        "cuArrayGetDescriptor",
        "cuArrayGetPlane",
        "cuEventCreate",
        "cuEventDestroy",
        "cuEventElapsedTime",
        "cuEventRecord",
        "cuEventRecordWithFlags",
        "cuEventSynchronize",
        "cuFuncGetAttribute",
        "cuFuncGetModule",
        "cuFuncSetAttribute",
        "cuFuncSetBlockShape",
        "cuFuncSetCacheConfig",
        "cuFuncSetSharedMemConfig",
        "cuFuncSetSharedSize",
        "cuLaunch",
        "cuLaunchCooperativeKernel",
        "cuLaunchCooperativeKernelMultiDevice",
        "cuLaunchGrid",
        "cuLaunchGridAsync",
        "cuLaunchHostFunc",
        "cuLaunchKernel",
        "cuLaunchKernelEx",
        "cuMemAlloc",
        "cuMemAllocAsync",
        "cuMemAllocFromPoolAsync",
        "cuMemAllocHost",
        "cuMemAllocManaged",
        "cuMemAllocPitch",
        "cuMemBatchDecompressAsync",
        "cuMemFree",
        "cuMemFreeAsync",
        "cuMemFreeHost",
        "cuMemGetAddressRange",
        "cuMemGetInfo",
        "cuMemHostAlloc",
        "cuMemHostGetDevicePointer",
        "cuMemHostGetFlags",
        "cuMemHostUnregister",
        "cuMemRangeGetAttributes",
        "cuMemcpy",
        "cuMemcpy2D",
        "cuMemcpy2DAsync",
        "cuMemcpy2DUnaligned",
        "cuMemcpy3D",
        "cuMemcpy3DAsync",
        "cuMemcpy3DPeer",
        "cuMemcpy3DPeerAsync",
        "cuMemcpyAsync",
        "cuMemcpyAtoA",
        "cuMemcpyAtoD",
        "cuMemcpyAtoH",
        "cuMemcpyAtoHAsync",
        "cuMemcpyDtoA",
        "cuMemcpyDtoD",
        "cuMemcpyDtoDAsync",
        "cuMemcpyDtoH",
        "cuMemcpyDtoHAsync",
        "cuMemcpyHtoA",
        "cuMemcpyHtoAAsync",
        "cuMemcpyHtoD",
        "cuMemcpyHtoDAsync",
        "cuMemcpyPeer",
        "cuMemcpyPeerAsync",
        "cuMemsetD16",
        "cuMemsetD16Async",
        "cuMemsetD2D16",
        "cuMemsetD2D16Async",
        "cuMemsetD2D32",
        "cuMemsetD2D32Async",
        "cuMemsetD2D8",
        "cuMemsetD2D8Async",
        "cuMemsetD32",
        "cuMemsetD32Async",
        "cuMemsetD8",
        "cuMemsetD8Async",
        "cuMipmappedArrayCreate",
        "cuMipmappedArrayDestroy",
        "cuMipmappedArrayGetLevel",
        "cuModuleEnumerateFunctions",
        "cuModuleGetFunction",
        "cuModuleGetGlobal",
        "cuModuleGetSurfRef",
        "cuModuleGetTexRef",
        "cuModuleLoad",
        "cuModuleLoadData",
        "cuModuleLoadDataEx",
        "cuModuleLoadFatBinary",
        "cuModuleUnload",
        "cuStreamAddCallback",
        "cuStreamAttachMemAsync",
        "cuStreamCreate",
        "cuStreamCreateWithPriority",
        "cuStreamDestroy",
        "cuStreamGetCtx",
        "cuStreamGetDevice",
        "cuStreamGetFlags",
        "cuStreamGetGreenCtx",
        "cuStreamGetPriority",
        "cuStreamQuery",
        "cuStreamSynchronize",
        "cuStreamWaitEvent",
};

static int compare(const void *name, const void *entry)
{
        return strcmp(name, *(const char *const *)entry);
}

/* "cuMemAlloc_v2_ptds" becomes "cuMemAlloc". */
static void base_name(const char *function, char *ret, size_t bytes)
{
        size_t length = strcspn(function, "_");

        if (length >= bytes)
                length = bytes - 1;
        memcpy(ret, function, length);
        ret[length] = '\0';
}

bool current_is_needed(const char *function)
{
        char name[64];

        base_name(function, name, sizeof(name));
        return bsearch(name, listed, sizeof(listed) / sizeof(listed[0]), sizeof(listed[0]),
                       compare) != NULL;
}
