/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every way to device memory, one after the other: take it, look at both books, give it back.
 *
 *      families [NAME...]      all, or those named
 *
 * prints a line for each look: family, moment, bytes charged, bytes granted. The reader compares.
 * A wrong answer of the driver ends it with 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "watch.h"

#define MIB (UINT64_C(1) << 20)

static CUuuid uuid;
static CUcontext context;
static const char *family;

static void look(const char *moment)
{
        watch_look(&uuid, family, moment);
}

static void alloc(void)
{
        CUdeviceptr a, b;

        OK(cuMemAlloc_v2(&a, 1));
        OK(cuMemAlloc_v2(&b, 3 * MIB + 17));
        look("held");
        OK(cuMemFree_v2(a));
        look("half");
        OK(cuMemFree_v2(b));
}

static void pitch(void)
{
        CUdeviceptr a;
        size_t row;

        OK(cuMemAllocPitch_v2(&a, &row, 1000, 333, 4));
        look("held");
        OK(cuMemFree_v2(a));
}

static void managed(void)
{
        CUdeviceptr a;

        OK(cuMemAllocManaged(&a, 5 * MIB + 1, CU_MEM_ATTACH_GLOBAL));
        look("held");
        OK(cuMemFree_v2(a));
}

static void host(void)
{
        void *a;

        OK(cuMemHostAlloc(&a, 4 * MIB, 0));
        look("held");
        OK(cuMemFreeHost(a));
}

static void array(void)
{
        CUDA_ARRAY_DESCRIPTOR flat = { 333, 77, CU_AD_FORMAT_FLOAT, 2 };
        CUDA_ARRAY3D_DESCRIPTOR deep = { .Width = 100,
                                         .Height = 50,
                                         .Depth = 30,
                                         .Format = CU_AD_FORMAT_HALF,
                                         .NumChannels = 4 };
        CUDA_ARRAY3D_DESCRIPTOR layers = { .Width = 64,
                                           .Height = 64,
                                           .Depth = 12,
                                           .Format = CU_AD_FORMAT_UNSIGNED_INT8,
                                           .NumChannels = 1,
                                           .Flags = CUDA_ARRAY3D_LAYERED };
        CUarray a, b, c;

        OK(cuArrayCreate_v2(&a, &flat));
        look("flat");
        OK(cuArray3DCreate_v2(&b, &deep));
        look("deep");
        OK(cuArray3DCreate_v2(&c, &layers));
        look("layers");
        OK(cuArrayDestroy(a));
        OK(cuArrayDestroy(b));
        OK(cuArrayDestroy(c));
}

static void mipmap(void)
{
        CUDA_ARRAY3D_DESCRIPTOR shape = {
                .Width = 512, .Height = 512, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4
        };
        CUmipmappedArray a;

        OK(cuMipmappedArrayCreate(&a, &shape, 8));
        look("held");
        OK(cuMipmappedArrayDestroy(a));
}

static void async(void)
{
        CUmemoryPool pool;
        CUdeviceptr a[5];
        CUstream stream;

        OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        for (unsigned i = 0; i < 5; i++) {
                OK(cuMemAllocAsync(&a[i], (i + 1) * 9 * MIB, stream));
                look("grown");
        }
        for (unsigned i = 0; i < 5; i++)
                OK(cuMemFreeAsync(a[i], stream));
        OK(cuStreamSynchronize(stream));
        look("synchronised");
        OK(cuDeviceGetMemPool(&pool, 0));
        OK(cuMemPoolTrimTo(pool, 0));
        look("trimmed");
        OK(cuStreamDestroy_v2(stream));
}

static void pool(void)
{
        CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
        cuuint64_t keep = UINT64_MAX;
        CUmemoryPool own;
        CUdeviceptr a, b;

        OK(cuMemPoolCreate(&own, &props));
        OK(cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
        OK(cuMemAllocFromPoolAsync(&a, 40 * MIB, own, NULL));
        look("held");
        OK(cuMemAllocFromPoolAsync(&b, 1 * MIB, own, NULL));
        look("more");
        OK(cuMemFreeAsync(a, NULL));
        OK(cuMemFreeAsync(b, NULL));
        OK(cuStreamSynchronize(NULL));
        look("kept");
        OK(cuMemPoolDestroy(own));
}

static void vmm(void)
{
        CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
        CUmemGenericAllocationHandle a, again;
        CUdeviceptr at;

        OK(cuMemCreate(&a, 4 * MIB, &prop, 0));
        look("created");
        OK(cuMemAddressReserve(&at, 4 * MIB, 0, 0, 0));
        OK(cuMemMap(at, 4 * MIB, 0, a, 0));
        OK(cuMemRelease(a));
        look("mapped");
        OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)at));
        OK(cuMemUnmap(at, 4 * MIB));
        look("retained");
        OK(cuMemRelease(again));
        look("released");
        OK(cuMemAddressFree(at, 4 * MIB));
}

/* Several mappings go in one unmapping. */
static void vmm_run(void)
{
        CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
        CUmemGenericAllocationHandle handle[4];
        CUdeviceptr at;

        OK(cuMemAddressReserve(&at, 8 * MIB, 0, 0, 0));
        for (unsigned i = 0; i < 4; i++) {
                OK(cuMemCreate(&handle[i], 2 * MIB, &prop, 0));
                OK(cuMemMap(at + i * 2 * MIB, 2 * MIB, 0, handle[i], 0));
                OK(cuMemRelease(handle[i]));
        }
        look("mapped");
        OK(cuMemUnmap(at, 8 * MIB));
        OK(cuMemAddressFree(at, 8 * MIB));
}

static void shared(void)
{
        CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .requestedHandleTypes =
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
        CUmemGenericAllocationHandle a, b;
        int fd;

        OK(cuMemCreate(&a, 6 * MIB, &prop, 0));
        OK(cuMemExportToShareableHandle(&fd, a, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        look("exported");
        OK(cuMemImportFromShareableHandle(&b, (void *)(intptr_t)fd,
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
        look("imported");
        OK(cuMemRelease(b));
        look("import released");
        OK(cuMemRelease(a));
        close(fd);
}

static void graph(void)
{
        CUDA_MEM_ALLOC_NODE_PARAMS params = {
                .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                               .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } },
                .bytesize = 10 * MIB
        };
        CUgraphNode node, end;
        CUgraphExec exec;
        CUstream stream;
        CUgraph made;

        OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        OK(cuGraphCreate(&made, 0));
        OK(cuGraphAddMemAllocNode(&node, made, NULL, 0, &params));
        OK(cuGraphAddMemFreeNode(&end, made, &node, 1, params.dptr));
        OK(cuGraphInstantiateWithFlags(&exec, made, 0));
        look("instantiated");
        for (unsigned i = 0; i < 3; i++)
                OK(cuGraphLaunch(exec, stream));
        OK(cuStreamSynchronize(stream));
        look("ran");
        OK(cuGraphExecDestroy(exec));
        OK(cuGraphDestroy(made));
        OK(cuDeviceGraphMemTrim(0));
        look("trimmed");
        OK(cuStreamDestroy_v2(stream));
}

static void captured(void)
{
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        CUgraphExec exec;
        CUstream stream;
        CUdeviceptr a;
        CUgraph made;

        OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        OK(cuStreamBeginCapture_v2(stream, mode));
        OK(cuMemAllocAsync(&a, 7 * MIB, stream));
        OK(cuMemFreeAsync(a, stream));
        OK(cuStreamEndCapture(stream, &made));
        look("captured");
        OK(cuGraphInstantiateWithFlags(&exec, made, 0));
        OK(cuGraphLaunch(exec, stream));
        OK(cuCtxSynchronize());
        look("ran");
        OK(cuGraphExecDestroy(exec));
        OK(cuGraphDestroy(made));
        OK(cuDeviceGraphMemTrim(0));
        OK(cuStreamDestroy_v2(stream));
}

static const char image[] = "aliquot-sim builtin";

static void module(void)
{
        CUmodule a;

        OK(cuModuleLoadData(&a, image));
        look("held");
        OK(cuModuleUnload(a));
}

static void library(void)
{
        CUlibrary a;
        CUmodule own;

        OK(cuLibraryLoadData(&a, image, NULL, NULL, 0, NULL, NULL, 0));
        OK(cuLibraryGetModule(&own, a));
        look("held");
        OK(cuLibraryUnload(a));
}

/* What is not given back goes with the context. */
static void second_context(void)
{
        CUDA_ARRAY_DESCRIPTOR flat = { 64, 64, CU_AD_FORMAT_FLOAT, 1 };
        CUcontext second;
        CUdeviceptr a;
        CUmodule code;
        CUarray b;

        OK(cuCtxCreate_v2(&second, 0, 0));
        look("made");
        OK(cuMemAlloc_v2(&a, 2 * MIB));
        OK(cuArrayCreate_v2(&b, &flat));
        OK(cuModuleLoadData(&code, image));
        look("filled");
        OK(cuCtxDestroy_v2(second));
        OK(cuCtxSetCurrent(context));
}

static void primary(void)
{
        CUcontext own, again;
        CUdeviceptr a;

        OK(cuDevicePrimaryCtxRetain(&own, 0));
        OK(cuDevicePrimaryCtxRetain(&again, 0));
        look("retained");
        OK(cuCtxPushCurrent_v2(own));
        OK(cuMemAlloc_v2(&a, 1 * MIB));
        look("filled");
        OK(cuCtxPopCurrent_v2(&again));
        OK(cuDevicePrimaryCtxRelease_v2(0));
        look("released once");
        OK(cuDevicePrimaryCtxReset_v2(0));
        look("reset");
        OK(cuDevicePrimaryCtxRetain(&own, 0));
        look("retained again");
        OK(cuDevicePrimaryCtxRelease_v2(0));
}

static const struct {
        const char *name;
        void (*run)(void);
} families[] = {
        { "alloc", alloc },      { "pitch", pitch },
        { "managed", managed },  { "host", host },
        { "array", array },      { "mipmap", mipmap },
        { "async", async },      { "pool", pool },
        { "vmm", vmm },          { "vmm_run", vmm_run },
        { "shared", shared },    { "graph", graph },
        { "capture", captured }, { "module", module },
        { "library", library },  { "context", second_context },
        { "primary", primary },
};

static int is_wanted(const char *name, char **names)
{
        if (!*names)
                return 1;
        for (; *names; names++) {
                if (strcmp(*names, name) == 0)
                        return 1;
        }
        return 0;
}

int main(int argc, char **argv)
{
        (void)argc;
        family = "start";
        OK(cuInit(0));
        OK(cuDeviceGetUuid_v2(&uuid, 0));
        look("initialised");
        OK(cuCtxCreate_v2(&context, 0, 0));
        look("context");
        for (unsigned i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
                family = families[i].name;
                if (!is_wanted(family, argv + 1))
                        continue;
                families[i].run();
                look("end");
        }
        family = "end";
        OK(cuCtxDestroy_v2(context));
        look("empty");
        return 0;
}
