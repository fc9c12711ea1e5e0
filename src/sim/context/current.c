/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that need a current context with current=measured. The list is from measurements with a
 * real driver (docs/results, 2026-11-26): calls that it refused without a context are in the list,
 * calls that it accepted are not. Calls that were not measured are in the list if they concern
 * streams, events, memory, arrays, modules, functions or launches, and NVIDIA's manual has
 * CUDA_ERROR_INVALID_CONTEXT among their results (cuda.h of CUDA 13.0).
 */
#include "sim/context/current.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Sorted. Each name also stands for its newer versions and its per-thread form. */
static const char *const listed[] = {
        "cuArray3DCreate",
        "cuArray3DGetDescriptor",
        "cuArrayCreate",
        "cuArrayDestroy",
        "cuArrayGetDescriptor",
        "cuArrayGetPlane",
        "cuEventCreate",
        "cuEventRecordWithFlags",
        "cuFuncGetModule",
        "cuFuncSetAttribute",
        "cuFuncSetBlockShape",
        "cuFuncSetCacheConfig",
        "cuFuncSetSharedMemConfig",
        "cuFuncSetSharedSize",
        "cuGraphInstantiate",
        "cuGraphInstantiateWithFlags",
        "cuGraphInstantiateWithParams",
        "cuLaunch",
        "cuLaunchCooperativeKernel",
        "cuLaunchCooperativeKernelMultiDevice",
        "cuLaunchGrid",
        "cuLaunchGridAsync",
        "cuLaunchKernelEx",
        "cuMemAlloc",
        "cuMemAllocFromPoolAsync",
        "cuMemAllocHost",
        "cuMemAllocManaged",
        "cuMemAllocPitch",
        "cuMemBatchDecompressAsync",
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
        "cuMemcpyDtoH",
        "cuMemcpyDtoHAsync",
        "cuMemcpyHtoA",
        "cuMemcpyHtoAAsync",
        "cuMemcpyHtoD",
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
        "cuMipmappedArrayCreate",
        "cuMipmappedArrayDestroy",
        "cuMipmappedArrayGetLevel",
        "cuModuleEnumerateFunctions",
        "cuModuleGetGlobal",
        "cuModuleGetSurfRef",
        "cuModuleGetTexRef",
        "cuModuleLoad",
        "cuModuleLoadData",
        "cuModuleLoadDataEx",
        "cuModuleLoadFatBinary",
        "cuStreamAddCallback",
        "cuStreamAttachMemAsync",
        "cuStreamCreate",
        "cuStreamCreateWithPriority",
        "cuStreamGetDevice",
        "cuStreamGetGreenCtx",
        "cuStreamGetPriority",
};

static int compare(const void *name, const void *entry)
{
        return strcmp(name, *(const char *const *)entry);
}

/* Removes the suffixes of a name: "cuMemAlloc_v2_ptds" becomes "cuMemAlloc". */
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
