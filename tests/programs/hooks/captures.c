/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that takes memory in a stream, while another one begins and ends captures of it.
 *
 *      captures alloc|launch end|destroy|context SECONDS
 *
 * takes blocks, or launches graphs whose nodes take them, and never gives one back; a capture ends
 * with cuStreamEndCapture, or with the stream in which it began, or with that one's context. Prints
 * how many captures there were, how often memory was given and how often refused, and what is
 * charged, granted and was granted at most.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "watch.h"

#define GRAPHS 32
#define BYTES (UINT64_C(48) << 20)

static CUcontext context;
static CUstream stream;
static CUgraphExec execs[GRAPHS];
static atomic_bool is_over;
static unsigned long captures;

/* So that no step of the two threads stays in step with the other's. */
static void pause_a_little(unsigned *seed)
{
        for (volatile int i = rand_r(seed) % 3000; i > 0;)
                i--;
}

static void capture_and_end(unsigned *seed)
{
        CUgraph graph = NULL;

        if (cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED) != CUDA_SUCCESS)
                return;
        pause_a_little(seed);
        cuStreamEndCapture(stream, &graph);
        captures++;
        if (graph)
                cuGraphDestroy(graph);
}

/* The stream joins the capture of another one, for a moment. */
static void join(CUstream *origin, CUevent *event, unsigned *seed)
{
        OK(cuStreamCreate(origin, CU_STREAM_NON_BLOCKING));
        OK(cuEventCreate(event, CU_EVENT_DISABLE_TIMING));
        OK(cuStreamBeginCapture_v2(*origin, CU_STREAM_CAPTURE_MODE_RELAXED));
        OK(cuEventRecord(*event, *origin));
        OK(cuStreamWaitEvent(stream, *event, 0));
        pause_a_little(seed);
}

/* The other one is destroyed. */
static void capture_and_destroy(unsigned *seed)
{
        CUstream origin;
        CUevent event;

        join(&origin, &event, seed);
        OK(cuStreamDestroy_v2(origin));
        captures++;
        OK(cuEventDestroy_v2(event));
}

/* The same in a context of its own, which is destroyed, where the limit has room for one. */
static void capture_and_end_context(unsigned *seed)
{
        CUcontext own;
        CUstream origin;
        CUevent event;

        if (cuCtxCreate_v2(&own, 0, 0) != CUDA_SUCCESS)
                return;
        join(&origin, &event, seed);
        OK(cuCtxDestroy_v2(own));
        captures++;
        OK(cuCtxSetCurrent(context));
}

static void *capture(void *step)
{
        unsigned seed = 1;

        OK(cuCtxSetCurrent(context));
        while (!is_over) {
                (*(void (**)(unsigned *))step)(&seed);
                pause_a_little(&seed);
        }
        return NULL;
}

static void make_graphs(void)
{
        for (unsigned i = 0; i < GRAPHS; i++) {
                CUDA_MEM_ALLOC_NODE_PARAMS params = {
                        .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } },
                        .bytesize = BYTES,
                };
                CUgraphNode node;
                CUgraph graph;

                OK(cuGraphCreate(&graph, 0));
                OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
                OK(cuGraphInstantiateWithFlags(&execs[i], graph, 0));
        }
}

static CUresult take(bool is_launch, unsigned long taken)
{
        CUdeviceptr block;

        if (is_launch)
                return cuGraphLaunch(execs[taken % GRAPHS], stream);
        return cuMemAllocAsync(&block, BYTES, stream);
}

int main(int argc, char **argv)
{
        bool is_launch = argc == 4 && !strcmp(argv[1], "launch");
        void (*step)(unsigned *) = capture_and_end;
        unsigned long taken = 0, refused = 0;
        pthread_t thread;
        CUuuid uuid;
        time_t end;

        if (argc != 4)
                return 2;
        if (!strcmp(argv[2], "destroy"))
                step = capture_and_destroy;
        else if (!strcmp(argv[2], "context"))
                step = capture_and_end_context;
        OK(cuInit(0));
        OK(cuDeviceGetUuid_v2(&uuid, 0));
        OK(cuCtxCreate_v2(&context, 0, 0));
        OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        if (is_launch)
                make_graphs();
        pthread_create(&thread, NULL, capture, &step);
        end = time(NULL) + atoi(argv[3]);
        while (time(NULL) < end) {
                CUresult rc = take(is_launch, taken);

                taken += rc == CUDA_SUCCESS;
                refused += rc == CUDA_ERROR_OUT_OF_MEMORY;
        }
        is_over = true;
        pthread_join(thread, NULL);
        OK(cuCtxSynchronize());
        printf("%lu %lu %lu %llu %llu %llu\n", captures, taken, refused,
               (unsigned long long)watch_charged(&uuid), (unsigned long long)watch_granted(&uuid),
               (unsigned long long)watch_high(&uuid));
        return 0;
}
