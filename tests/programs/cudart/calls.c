/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stories of calls of the CUDA runtime, each named by the first argument; built against either
 * version of the stand-in, without a toolkit.
 */
#include "cudart/types.h"

#if CUDART_MAJOR == 12
#include "cudart/so12/prototypes.h"
#else
#include "cudart/so13/prototypes.h"
#endif

#include "../hooks/watch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
int cudaGraphAddNode(void); /* not modelled: without its parameters */
struct cudaChannelFormatDesc cudaCreateChannelDesc(int, int, int, int, int);

#define MIB ((size_t)1 << 20)

static void require(bool is_true, const char *what, int line)
{
        if (is_true)
                return;
        fprintf(stderr, "line %d: not so: %s\n", line, what);
        exit(1);
}

#define REQUIRE(what) require((what), #what, __LINE__)

/* With a limit, what is charged is what is granted. */
static void books_agree(int line)
{
        CUuuid uuid;

        if (!getenv("ALIQUOT_MEMORY"))
                return;
        REQUIRE(watch_device(0, &uuid));
        if (watch_charged(&uuid) == watch_granted(&uuid))
                return;
        fprintf(stderr, "line %d: charged %zu, granted %zu\n", line, (size_t)watch_charged(&uuid),
                (size_t)watch_granted(&uuid));
        exit(1);
}

#define BOOKS() books_agree(__LINE__)

/* One block of each kind. */
struct blocks {
        void *plain, *pitched, *managed, *host, *async;
        size_t pitch;
        struct cudaPitchedPtr box;
        cudaArray_t array;
};

static void blocks_make(struct blocks *blocks)
{
        struct cudaChannelFormatDesc channel = cudaCreateChannelDesc(32, 0, 0, 0, 2);

        OK(cudaMalloc(&blocks->plain, 4 * MIB));
        BOOKS();
        OK(cudaMallocPitch(&blocks->pitched, &blocks->pitch, 1000, 100));
        REQUIRE(blocks->pitch >= 1000 && blocks->pitch % 4 == 0);
        BOOKS();
        OK(cudaMalloc3D(&blocks->box, (struct cudaExtent){ 300, 20, 10 }));
        REQUIRE(blocks->box.xsize == 300 && blocks->box.ysize == 20 && blocks->box.pitch >= 300);
        BOOKS();
        OK(cudaMallocArray(&blocks->array, &channel, 64, 64, 0));
        BOOKS();
        OK(cudaMallocManaged(&blocks->managed, MIB, 1));
        BOOKS();
        OK(cudaMallocHost(&blocks->host, MIB));
        OK(cudaMallocAsync(&blocks->async, MIB, NULL));
        OK(cudaStreamSynchronize(NULL));
        BOOKS();
}

static void blocks_free(struct blocks *blocks)
{
        OK(cudaFreeAsync(blocks->async, NULL));
        OK(cudaDeviceSynchronize());
        OK(cudaFreeHost(blocks->host));
        OK(cudaFree(blocks->managed));
        OK(cudaFreeArray(blocks->array));
        OK(cudaFree(blocks->box.ptr));
        OK(cudaFree(blocks->pitched));
        OK(cudaFree(blocks->plain));
        OK(cudaDeviceSynchronize());
        BOOKS();
}

static void copies(const struct blocks *blocks)
{
        char text[8] = "";

        OK(cudaMemcpy(blocks->plain, "runtime", 8, cudaMemcpyHostToDevice));
        OK(cudaMemcpy2DToArray(blocks->array, 0, 0, blocks->plain, 8, 8, 1,
                               cudaMemcpyDeviceToDevice));
        OK(cudaMemcpy2DFromArray(blocks->pitched, blocks->pitch, blocks->array, 0, 0, 8, 1,
                                 cudaMemcpyDeviceToDevice));
        OK(cudaMemcpy(text, blocks->pitched, 8, cudaMemcpyDefault));
        REQUIRE(strcmp(text, "runtime") == 0);
        OK(cudaMemset3D(blocks->box, 7, (struct cudaExtent){ 300, 10, 10 }));
        OK(cudaMemcpy(text, (char *)blocks->box.ptr + 9 * blocks->box.pitch, 1,
                      cudaMemcpyDeviceToHost));
        REQUIRE(text[0] == 7);
}

static void kinds_of_memory(const struct blocks *blocks)
{
        struct cudaPointerAttributes of;

        OK(cudaPointerGetAttributes(&of, blocks->plain));
        REQUIRE(of.type == cudaMemoryTypeDevice && of.device == 0);
        REQUIRE(of.devicePointer == blocks->plain);
        OK(cudaPointerGetAttributes(&of, blocks->managed));
        REQUIRE(of.type == cudaMemoryTypeManaged);
        OK(cudaPointerGetAttributes(&of, blocks->host));
        REQUIRE(of.type == cudaMemoryTypeHost && of.hostPointer == blocks->host);
        OK(cudaPointerGetAttributes(&of, blocks));
        REQUIRE(of.type == cudaMemoryTypeUnregistered && of.hostPointer == blocks);
}

static void memory(void)
{
        size_t free_bytes, total_bytes, before;
        struct blocks blocks;

        OK(cudaFree(NULL));
        OK(cudaMemGetInfo(&before, &total_bytes));
        blocks_make(&blocks);
        OK(cudaMemGetInfo(&free_bytes, &total_bytes));
        REQUIRE(free_bytes < before);
        copies(&blocks);
        kinds_of_memory(&blocks);
        blocks_free(&blocks);
        OK(cudaMemGetInfo(&free_bytes, &total_bytes));
        REQUIRE(free_bytes == before);
}

static void *other_thread(void *ret)
{
        *(int *)ret = cudaGetLastError();
        return NULL;
}

static void errors(void)
{
        void *ptr = &ptr;
        int elsewhere = -1, count;
        pthread_t thread;

        REQUIRE(cudaMalloc(&ptr, (size_t)1 << 50) == 2);
        REQUIRE(ptr == NULL);
        OK(cudaGetDeviceCount(&count)); /* a call that works leaves the last error */
        REQUIRE(cudaPeekAtLastError() == 2);
        OK(pthread_create(&thread, NULL, other_thread, &elsewhere));
        pthread_join(thread, NULL);
        REQUIRE(elsewhere == 0);
        REQUIRE(cudaGetLastError() == 2 && cudaGetLastError() == 0);
        REQUIRE(cudaMalloc(NULL, 1) == 1);
        REQUIRE(cudaSetDevice(count) == 101);
        REQUIRE(cudaMemcpy(NULL, NULL, 1, 9) == 21);
        REQUIRE(cudaGetLastError() == 21); /* the latest */
        REQUIRE(strcmp(cudaGetErrorName(2), "cudaErrorMemoryAllocation") == 0);
        REQUIRE(strcmp(cudaGetErrorString(2), "out of memory") == 0);
        REQUIRE(strcmp(cudaGetErrorString(400), "invalid resource handle") == 0);
        REQUIRE(strcmp(cudaGetErrorName(12345), "unrecognized error code") == 0);
}

/* Run where every context fails soon: an error that reading does not clear. */
static void sticky(void)
{
        OK(cudaFree(NULL));
        while (cudaDeviceSynchronize() == 0)
                ;
        REQUIRE(cudaGetLastError() == 46);
        REQUIRE(cudaDeviceSynchronize() == 46 && cudaGetLastError() == 46);
        REQUIRE(cudaFree((void *)0x1000) == 46);
}

static void default_streams(void)
{
        cudaGraph_t graph;
        size_t nodes = 0;
        int status = -1;
        void *ptr;

        OK(cudaMalloc(&ptr, MIB));
        /* The legacy stream cannot be captured, a thread's own can. */
        REQUIRE(cudaStreamBeginCapture(NULL, 2) == 900);
        OK(cudaStreamBeginCapture_ptsz(NULL, 2));
        OK(cudaStreamIsCapturing_ptsz(NULL, &status));
        REQUIRE(status == 1);
        OK(cudaMemsetAsync_ptsz(ptr, 1, MIB, NULL));
        OK(cudaStreamEndCapture_ptsz(NULL, &graph));
        OK(cudaGraphGetNodes(graph, NULL, &nodes));
        REQUIRE(nodes == 1);
        OK(cudaGraphDestroy(graph));
        OK(cudaMemset_ptds(ptr, 2, MIB));
        OK(cudaStreamSynchronize_ptsz(NULL));
        OK(cudaFree(ptr));
}

static void devices(void)
{
        struct cudaDeviceProp prop;
        char bus[32];
        int value, count, device = -1;

        OK(cudaGetDeviceCount(&count));
        OK(cudaGetDevice(&device));
        REQUIRE(device == 0);
#if CUDART_MAJOR == 12
        OK(cudaGetDeviceProperties_v2(&prop, 0));
        REQUIRE(prop.clockRate > 0 && prop.memoryClockRate > 0);
#else
        OK(cudaGetDeviceProperties(&prop, 0));
#endif
        OK(cudaDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
        REQUIRE(prop.multiProcessorCount == value && prop.warpSize == 32);
        REQUIRE(prop.unifiedAddressing == 1 && prop.name[0] && prop.totalGlobalMem > 0);
        OK(cudaDeviceGetPCIBusId(bus, (int)sizeof(bus), count - 1));
        OK(cudaDeviceGetByPCIBusId(&device, bus));
        REQUIRE(device == count - 1);
        OK(cudaSetDevice(count - 1));
        OK(cudaGetDevice(&device));
        REQUIRE(device == count - 1);
}

static void reset(void)
{
        size_t free_bytes, before, total_bytes;
        void *ptr;

        OK(cudaMemGetInfo(&before, &total_bytes));
        OK(cudaMalloc(&ptr, 8 * MIB));
        OK(cudaDeviceReset());
        OK(cudaMemGetInfo(&free_bytes, &total_bytes));
        REQUIRE(free_bytes == before);
        BOOKS();
        OK(cudaMalloc(&ptr, 8 * MIB));
        OK(cudaFree(ptr));
}

static void entry_points(void)
{
        CUresult (*alloc)(CUdeviceptr *, size_t) = NULL;
        CUdeviceptr address = 0;
        void *found = NULL;
        int status = -1, driver_version = 0, version = 0;

        OK(cudaDriverGetVersion(&driver_version));
        OK(cudaRuntimeGetVersion(&version));
        REQUIRE(version / 1000 == CUDART_MAJOR && driver_version >= version);
        OK(cudaFree(NULL));
        OK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &found, 12000, 0, &status));
        REQUIRE(status == 0 && found);
        memcpy(&alloc, &found, sizeof(alloc));
        OK(alloc(&address, MIB));
        BOOKS();
        OK(cudaFree((void *)address));
        OK(cudaGetDriverEntryPointByVersion("cuNoSuchCall", &found, 12000, 0, &status));
        REQUIRE(status == 1);
}

static void *worker(void *failed)
{
        for (int i = 0; i < 100; i++) {
                void *ptr;
                int last = 0;

                if (cudaMalloc(&ptr, 4096) || cudaMemsetAsync_ptsz(ptr, i, 4096, NULL) ||
                    cudaMemcpyAsync_ptsz(&last, ptr, 1, cudaMemcpyDeviceToHost, NULL) ||
                    cudaStreamSynchronize_ptsz(NULL) || last != i || cudaFree(ptr))
                        *(int *)failed = 1;
        }
        return NULL;
}

/* The first calls of all of them open the driver and make the context. */
static void threads(void)
{
        int failed[8] = { 0 };
        pthread_t thread[8];

        for (int i = 0; i < 8; i++)
                OK(pthread_create(&thread[i], NULL, worker, &failed[i]));
        for (int i = 0; i < 8; i++) {
                pthread_join(thread[i], NULL);
                REQUIRE(!failed[i]);
        }
        BOOKS();
}

/* Needs two cards; with one there is nobody to be a peer. */
static void peers(void)
{
        char text[8] = "";
        int count, is_possible = 0;
        void *here, *there;

        OK(cudaGetDeviceCount(&count));
        if (count < 2)
                return;
        OK(cudaMalloc(&here, MIB));
        OK(cudaMemcpy(here, "between", 8, cudaMemcpyHostToDevice));
        OK(cudaSetDevice(1));
        OK(cudaMalloc(&there, MIB));
        OK(cudaDeviceCanAccessPeer(&is_possible, 1, 0));
        REQUIRE(is_possible);
        OK(cudaDeviceEnablePeerAccess(0, 0));
        REQUIRE(cudaDeviceEnablePeerAccess(0, 0) == 704);
        OK(cudaMemcpyPeer(there, 1, here, 0, 8));
        OK(cudaMemcpy(text, there, 8, cudaMemcpyDeviceToHost));
        REQUIRE(strcmp(text, "between") == 0);
        OK(cudaDeviceDisablePeerAccess(0));
        OK(cudaFree(there));
        OK(cudaFree(here));
}

static void missing(void)
{
        REQUIRE(cudaGraphAddNode() == 801 && cudaGraphAddNode() == 801);
        REQUIRE(cudaGetLastError() == 801);
}

int main(int argc, char **argv)
{
        static const struct {
                const char *name;
                void (*tell)(void);
        } stories[] = {
                { "memory", memory },   { "errors", errors },
                { "sticky", sticky },   { "devices", devices },
                { "reset", reset },     { "default-streams", default_streams },
                { "threads", threads }, { "peers", peers },
                { "missing", missing }, { "entry-points", entry_points },
        };

        for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
                if (argc == 2 && strcmp(stories[i].name, argv[1]) == 0) {
                        stories[i].tell();
                        return 0;
                }
        }
        return 2;
}
