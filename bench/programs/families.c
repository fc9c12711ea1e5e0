/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes device memory by one family of calls until the driver refuses, gives all back, and does
 * the same again; for bench/peers, whose judge is the simulator.
 *
 *      families            the names of all families, one a line
 *      families NAME BYTES blocks of BYTES, at most BLOCKS of them: prints "COUNT CODE" for each of
 *                          the two times: blocks held, and the answer that ended it (0: all held)
 *
 * Exit: 0, 1 when the driver cannot be used at all, 2 called wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/cuda.h"

#define BLOCKS 16u
#define ROW_BYTES 16384u /* of arrays: 1024 elements of 16 bytes */
#define MIB (UINT64_C(1) << 20)
#define TIMES 2u

static union {
        CUdeviceptr at;
        CUdeviceptr_v1 narrow;
        CUarray array;
        CUmipmappedArray mipmap;
        CUmemGenericAllocationHandle handle;
        CUcontext context;
} held[BLOCKS];
static CUmemoryPool own_pool;
static const CUmemPoolProps pool_props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                           .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };

static CUresult take_alloc(unsigned i, size_t bytes)
{
        return cuMemAlloc_v2(&held[i].at, bytes);
}

static CUresult give_alloc(unsigned i)
{
        return cuMemFree_v2(held[i].at);
}

static CUresult take_narrow(unsigned i, size_t bytes)
{
        return cuMemAlloc(&held[i].narrow, (unsigned)bytes);
}

static CUresult give_narrow(unsigned i)
{
        return cuMemFree(held[i].narrow);
}

static CUresult take_pitch(unsigned i, size_t bytes)
{
        size_t pitch;

        return cuMemAllocPitch_v2(&held[i].at, &pitch, ROW_BYTES, bytes / ROW_BYTES, 4);
}

static CUresult take_managed(unsigned i, size_t bytes)
{
        return cuMemAllocManaged(&held[i].at, bytes, CU_MEM_ATTACH_GLOBAL);
}

static CUresult take_array(unsigned i, size_t bytes)
{
        const CUDA_ARRAY_DESCRIPTOR shape = { 1024, bytes / ROW_BYTES, CU_AD_FORMAT_FLOAT, 4 };

        return cuArrayCreate_v2(&held[i].array, &shape);
}

static CUresult take_array3d(unsigned i, size_t bytes)
{
        const CUDA_ARRAY3D_DESCRIPTOR shape = { .Width = 1024,
                                                .Height = 64,
                                                .Depth = bytes / MIB,
                                                .Format = CU_AD_FORMAT_FLOAT,
                                                .NumChannels = 4 };

        return cuArray3DCreate_v2(&held[i].array, &shape);
}

static CUresult give_array(unsigned i)
{
        return cuArrayDestroy(held[i].array);
}

static CUresult take_mipmap(unsigned i, size_t bytes)
{
        const CUDA_ARRAY3D_DESCRIPTOR shape = { .Width = 1024,
                                                .Height = bytes / ROW_BYTES,
                                                .Format = CU_AD_FORMAT_FLOAT,
                                                .NumChannels = 4 };

        return cuMipmappedArrayCreate(&held[i].mipmap, &shape, 1);
}

static CUresult give_mipmap(unsigned i)
{
        return cuMipmappedArrayDestroy(held[i].mipmap);
}

static CUresult take_vmm(unsigned i, size_t bytes)
{
        const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                           .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };

        return cuMemCreate(&held[i].handle, bytes, &prop, 0);
}

static CUresult give_vmm(unsigned i)
{
        return cuMemRelease(held[i].handle);
}

static CUresult take_async(unsigned i, size_t bytes)
{
        return cuMemAllocAsync(&held[i].at, bytes, NULL);
}

static CUresult take_async_ptsz(unsigned i, size_t bytes)
{
        return cuMemAllocAsync_ptsz(&held[i].at, bytes, NULL);
}

static CUresult take_pool(unsigned i, size_t bytes)
{
        CUresult rc = own_pool ? CUDA_SUCCESS : cuMemPoolCreate(&own_pool, &pool_props);

        return rc == CUDA_SUCCESS ? cuMemAllocFromPoolAsync(&held[i].at, bytes, own_pool, NULL)
                                  : rc;
}

static CUresult give_async(unsigned i)
{
        return cuMemFreeAsync(held[i].at, NULL);
}

/* The graph goes at once; its memory stays until it is freed. */
static CUresult take_graph(unsigned i, size_t bytes)
{
        CUDA_MEM_ALLOC_NODE_PARAMS params = { .poolProps = pool_props, .bytesize = bytes };
        CUgraphExec exec;
        CUgraphNode node;
        CUgraph graph;
        CUresult rc = cuGraphCreate(&graph, 0);

        if (rc == CUDA_SUCCESS)
                rc = cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params);
        if (rc == CUDA_SUCCESS)
                rc = cuGraphInstantiateWithFlags(&exec, graph, 0);
        if (rc == CUDA_SUCCESS)
                rc = cuGraphLaunch(exec, NULL);
        if (rc == CUDA_SUCCESS)
                rc = cuStreamSynchronize(NULL);
        held[i].at = params.dptr;
        return rc;
}

static CUresult take_context(unsigned i, size_t bytes)
{
        (void)bytes; /* what the driver takes for one */
        return cuCtxCreate_v2(&held[i].context, 0, 0);
}

static CUresult give_context(unsigned i)
{
        return cuCtxDestroy_v2(held[i].context);
}

static CUresult take_heap(unsigned i, size_t bytes)
{
        return cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, (i + 1) * bytes);
}

static CUresult give_heap(unsigned i)
{
        return cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 8 * MIB * (i + 1));
}

static const struct family {
        const char *name;
        CUresult (*take)(unsigned i, size_t bytes);
        CUresult (*give)(unsigned i);
} families[] = {
        { "alloc", take_alloc, give_alloc },           { "pitch", take_pitch, give_alloc },
        { "managed", take_managed, give_alloc },       { "array", take_array, give_array },
        { "array3d", take_array3d, give_array },       { "vmm", take_vmm, give_vmm },
        { "async", take_async, give_async },           { "pool", take_pool, give_async },
        { "mipmap", take_mipmap, give_mipmap },        { "graph", take_graph, give_async },
        { "async_ptsz", take_async_ptsz, give_async }, { "context", take_context, give_context },
        { "narrow", take_narrow, give_narrow },        { "heap", take_heap, give_heap },
};

/* Pools and graphs keep what is freed. */
static void trim(void)
{
        CUmemoryPool pool;

        cuCtxSynchronize();
        if (cuDeviceGetMemPool(&pool, 0) == CUDA_SUCCESS)
                cuMemPoolTrimTo(pool, 0);
        if (own_pool)
                cuMemPoolTrimTo(own_pool, 0);
        cuDeviceGraphMemTrim(0);
}

static void fill(const struct family *family, size_t bytes)
{
        CUresult rc = CUDA_SUCCESS;
        unsigned count = 0;

        while (count < BLOCKS && (rc = family->take(count, bytes)) == CUDA_SUCCESS)
                count++;
        printf("%u %d\n", count, (int)rc);
        fflush(stdout);
        while (count)
                family->give(--count);
        trim();
}

static const struct family *find(const char *name)
{
        for (unsigned i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
                if (strcmp(families[i].name, name) == 0)
                        return &families[i];
        }
        return NULL;
}

int main(int argc, char **argv)
{
        const struct family *family = argc == 3 ? find(argv[1]) : NULL;
        CUcontext context;

        for (unsigned i = 0; argc == 1 && i < sizeof(families) / sizeof(families[0]); i++)
                puts(families[i].name);
        if (!family)
                return argc == 1 ? 0 : 2;
        if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS)
                return 1;
        for (unsigned i = 0; i < TIMES; i++)
                fill(family, strtoull(argv[2], NULL, 10));
        return 0;
}
