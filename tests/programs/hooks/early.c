/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that launches graphs as soon as it sees their handles, while another one makes them.
 *
 *      early COUNT
 *
 * Each graph takes a block that nobody gives back. Prints how often a launch was made and refused,
 * and the most that was ever granted.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "watch.h"

#define BYTES (UINT64_C(48) << 20)
#define KEPT 1000u
#define EMPTY_NODES 200 /* so that it takes a while to look through the graph */

static CUcontext context;
static _Atomic(CUgraphExec) exec;
static atomic_bool is_over;
/* Not destroyed, and no leak for who looks for leaks. */
static volatile CUgraphExec execs[KEPT];
static volatile CUgraph graphs[KEPT];
static unsigned kept;
static _Atomic unsigned long made, refused;

static void *launch(void *unused)
{
        OK(cuCtxSetCurrent(context));
        while (!is_over) {
                CUgraphExec seen = exec;

                if (!seen)
                        continue;
                if (cuGraphLaunch(seen, CU_STREAM_LEGACY) == CUDA_SUCCESS)
                        made++;
                else
                        refused++;
                while (exec == seen && !is_over)
                        ;
        }
        return unused;
}

static void make_graph(void)
{

        CUDA_MEM_ALLOC_NODE_PARAMS params = {
                .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                               .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } },
                .bytesize = BYTES,
        };
        unsigned long answered;
        CUgraphNode node;
        CUgraph graph;

        OK(cuGraphCreate(&graph, 0));
        for (unsigned i = 0; i < EMPTY_NODES; i++)
                OK(cuGraphAddEmptyNode(&node, graph, NULL, 0));
        OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
        answered = made + refused;
        exec = NULL;
        OK(cuGraphInstantiateWithFlags((CUgraphExec *)&exec, graph, 0));
        while (made + refused == answered)
                ;
        graphs[kept % KEPT] = graph;
        execs[kept++ % KEPT] = exec;
}

int main(int argc, char **argv)
{
        int count = argc == 2 ? atoi(argv[1]) : 0;
        pthread_t thread;
        CUuuid uuid;

        OK(cuInit(0));
        OK(cuDeviceGetUuid_v2(&uuid, 0));
        OK(cuCtxCreate_v2(&context, 0, 0));
        pthread_create(&thread, NULL, launch, NULL);
        for (int i = 0; i < count; i++)
                make_graph();
        is_over = true;
        pthread_join(thread, NULL);
        OK(cuCtxSynchronize());
        printf("%lu %lu %llu\n", made, refused, (unsigned long long)watch_high(&uuid));
        return 0;
}
