/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program leaves behind when it ends a primary context, or a stream, with work in it.
 *
 *      ended CAP_PPM release|reset|green|poison|streams ROUNDS        0: none
 *
 * Each round makes streams, fills them with kernels and a graph with memory, and ends all of that
 * at once: by the last release of the primary context, by its reset, or by the end of a green
 * context that was the last to hold it. poison: a stream is destroyed with its kernels under way,
 * and then a kernel of another one makes the context fail. streams: threads make streams, submit to
 * them, capture in them, and destroy them at once. Says "done": with ended=crash the simulated
 * driver ends a process that asks about any of it afterwards.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spin.h"
#include "watch.h"

#define STREAMS 4
#define LAUNCHES 40
#define KERNEL_NS 200000
#define BLOCK_BYTES ((size_t)2 << 20)
#define WHILE_US 20000

static CUuuid uuid;
static uint32_t cap_ppm;

static CUgraphExec graph_with_memory(void)
{
        CUDA_MEM_ALLOC_NODE_PARAMS memory = {
                .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                               .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } },
                .bytesize = BLOCK_BYTES,
        };
        CUgraphNode block, end;
        CUgraphExec ready;
        CUgraph graph;

        OK(cuGraphCreate(&graph, 0));
        OK(cuGraphAddMemAllocNode(&block, graph, NULL, 0, &memory));
        OK(cuGraphAddMemFreeNode(&end, graph, &block, 1, memory.dptr));
        OK(cuGraphInstantiateWithFlags(&ready, graph, 0));
        OK(cuGraphDestroy(graph));
        return ready;
}

static CUstream fill(CUfunction spin)
{
        CUstream stream;

        OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        for (unsigned i = 0; i < LAUNCHES; i++)
                spin_launch(spin, stream, KERNEL_NS);
        return stream;
}

static void live(bool is_green)
{
        CUgreenCtx green = NULL;
        CUdevResource resource;
        CUdevResourceDesc desc;
        CUcontext context;
        CUfunction spin;

        if (is_green) {
                OK(cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM));
                OK(cuDevResourceGenerateDesc(&desc, &resource, 1));
                OK(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
        }
        OK(cuDevicePrimaryCtxRetain(&context, 0));
        OK(cuCtxSetCurrent(context));
        spin = spin_find();
        if (cap_ppm)
                watch_set_cap(&uuid, cap_ppm);
        for (unsigned i = 0; i < STREAMS; i++)
                OK(cuGraphLaunch(graph_with_memory(), fill(spin)));
        if (!is_green)
                return;
        OK(cuDevicePrimaryCtxRelease_v2(0));
        OK(cuGreenCtxDestroy(green));
}

static void poison(void)
{
        CUcontext context;
        CUfunction fault;
        CUmodule module;
        CUstream stream, other;
        CUdeviceptr nowhere = 64;
        uint64_t count = 1;
        uint32_t value = 0;
        void *params[] = { &nowhere, &value, &count };

        OK(cuCtxCreate_v2(&context, 0, 0));
        OK(cuModuleLoadData(&module, "aliquot-sim builtin"));
        OK(cuModuleGetFunction(&fault, module, "fill_u32"));
        if (cap_ppm)
                watch_set_cap(&uuid, cap_ppm);
        stream = fill(spin_find());
        OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
        OK(cuStreamDestroy_v2(stream));
        OK(cuLaunchKernel(fault, 1, 1, 1, 1, 1, 1, 0, other, params, NULL));
        usleep(5 * WHILE_US);
        OK(cuCtxDestroy_v2(context));
}

#define THREADS 4
#define TURNS 20

static CUcontext shared;
static CUfunction shared_spin;

/* Every other stream ends after a capture, one in the midst of it. */
static void *make_and_end(void *unused)
{
        OK(cuCtxSetCurrent(shared));
        for (unsigned i = 0; i < TURNS; i++) {
                CUstream stream;
                CUgraph graph;

                OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
                spin_launch(shared_spin, stream, KERNEL_NS);
                if (i % 2) {
                        OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
                        spin_launch(shared_spin, stream, KERNEL_NS);
                }
                if (i % 2 && i > 1) {
                        OK(cuStreamEndCapture(stream, &graph));
                        OK(cuGraphDestroy(graph));
                }
                OK(cuStreamDestroy_v2(stream));
        }
        return NULL;
}

static void streams(void)
{
        pthread_t thread[THREADS];

        OK(cuCtxCreate_v2(&shared, 0, 0));
        shared_spin = spin_find();
        if (cap_ppm)
                watch_set_cap(&uuid, cap_ppm);
        for (unsigned i = 0; i < THREADS; i++)
                pthread_create(&thread[i], NULL, make_and_end, NULL);
        for (unsigned i = 0; i < THREADS; i++)
                pthread_join(thread[i], NULL);
        OK(cuCtxDestroy_v2(shared));
}

int main(int argc, char **argv)
{
        unsigned rounds = argc == 4 ? (unsigned)atoi(argv[3]) : 0;

        if (!rounds)
                return 2;
        cap_ppm = (uint32_t)strtoul(argv[1], NULL, 10);
        OK(cuInit(0));
        OK(cuDeviceGetUuid(&uuid, 0));
        for (unsigned i = 0; i < rounds; i++) {
                if (strcmp(argv[2], "poison") == 0) {
                        poison();
                        continue;
                }
                if (strcmp(argv[2], "streams") == 0) {
                        streams();
                        continue;
                }
                live(strcmp(argv[2], "green") == 0);
                if (strcmp(argv[2], "release") == 0)
                        OK(cuDevicePrimaryCtxRelease_v2(0));
                if (strcmp(argv[2], "reset") == 0)
                        OK(cuDevicePrimaryCtxReset_v2(0));
                usleep(WHILE_US);
        }
        puts("done");
        return 0;
}
