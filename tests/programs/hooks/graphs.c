/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that launch graphs with memory and only ask for events, beside one that makes and
 * destroys contexts with such graphs.
 *
 *      graphs COUNT ROUNDS SEED
 *
 * What is refused is tried again until there is room, for each thread has at most one graph that
 * runs. Prints bytes charged and granted at the end, when all is over, and the most that
 * was ever granted.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "watch.h"

#define THREADS 64
#define KEPT 1000u
#define MIB (UINT64_C(1) << 20)
#define MOST (40 * MIB)

static CUcontext context;
static unsigned rounds;
static volatile CUgraphExec left[KEPT]; /* not destroyed, and no leak for who looks for leaks */

/* A graph that frees what it takes. */
static CUgraphExec make(unsigned *seed)
{
        CUDA_MEM_ALLOC_NODE_PARAMS params = {
                .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                               .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } },
                .bytesize = 1 + (uint64_t)rand_r(seed) % MOST
        };
        CUgraphNode node, end;
        CUgraphExec exec;
        CUgraph graph;

        OK(cuGraphCreate(&graph, 0));
        OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
        OK(cuGraphAddMemFreeNode(&end, graph, &node, 1, params.dptr));
        OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
        OK(cuGraphDestroy(graph));
        return exec;
}

static void launch(CUgraphExec exec, CUstream stream)
{
        CUresult rc;

        while ((rc = cuGraphLaunch(exec, stream)) == CUDA_ERROR_OUT_OF_MEMORY)
                sched_yield();
        EXPECT(rc, CUDA_SUCCESS);
}

static void await(CUevent event, CUstream stream)
{
        CUresult rc;

        OK(cuEventRecord(event, stream));
        while ((rc = cuEventQuery(event)) == CUDA_ERROR_NOT_READY)
                sched_yield();
        EXPECT(rc, CUDA_SUCCESS);
}

static void *work(void *argument)
{
        unsigned seed = *(unsigned *)argument;
        CUgraphExec exec;
        CUstream stream;
        CUevent event;

        OK(cuCtxSetCurrent(context));
        OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        exec = make(&seed);
        for (unsigned i = 0; i < rounds; i++) {
                OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
                launch(exec, stream);
                if (rand_r(&seed) % 2) { /* over or not: it stays promised until it is */
                        OK(cuGraphExecDestroy(exec));
                        exec = make(&seed);
                }
                await(event, stream);
                OK(cuStreamDestroy_v2(stream));
        }
        OK(cuGraphExecDestroy(exec));
        return NULL;
}

static void *churn(void *argument)
{
        unsigned seed = *(unsigned *)argument;

        for (unsigned i = 0; i < rounds / 8; i++) {
                CUcontext own;
                CUgraphExec exec;
                CUresult rc;

                while ((rc = cuCtxCreate_v2(&own, 0, 0)) == CUDA_ERROR_OUT_OF_MEMORY)
                        sched_yield();
                EXPECT(rc, CUDA_SUCCESS);
                exec = make(&seed);
                launch(exec, NULL);
                if (rand_r(&seed) % 2)
                        OK(cuGraphExecDestroy(exec));
                else
                        left[i % KEPT] = exec;
                OK(cuCtxDestroy_v2(own));
        }
        return NULL;
}

int main(int argc, char **argv)
{
        unsigned count = argc == 4 ? (unsigned)atoi(argv[1]) : 0;
        pthread_t threads[THREADS];
        unsigned seeds[THREADS];
        CUuuid uuid;

        if (count < 1 || count > THREADS)
                return 2;
        rounds = (unsigned)atoi(argv[2]);
        OK(cuInit(0));
        OK(cuCtxCreate_v2(&context, 0, 0));
        OK(cuDeviceGetUuid(&uuid, 0));
        for (unsigned i = 0; i < count; i++) {
                seeds[i] = (unsigned)atoi(argv[3]) + i;
                pthread_create(&threads[i], NULL, i ? work : churn, &seeds[i]);
        }
        for (unsigned i = 0; i < count; i++)
                pthread_join(threads[i], NULL);
        OK(cuCtxSynchronize());
        OK(cuDeviceGraphMemTrim(0));
        printf("%llu %llu %llu\n", (unsigned long long)watch_charged(&uuid),
               (unsigned long long)watch_granted(&uuid), (unsigned long long)watch_high(&uuid));
        return 0;
}
