/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that make a context, fill it, and end it with what is in it; beside them others that take
 * whatever is free at once.
 *
 *      contexts PAIRS ROUNDS
 *
 * prints the most that was ever granted.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "watch.h"

#define PAIRS 16
#define MIB (UINT64_C(1) << 20)

static unsigned rounds;

struct worker {
        pthread_t thread;
        unsigned seed;
};

static uint64_t size_next(struct worker *w)
{
        return (1 + (uint64_t)rand_r(&w->seed) % 150) * MIB;
}

static void *fill_contexts(void *argument)
{
        CUcontext context;
        CUdeviceptr block;

        for (unsigned i = 0; i < rounds; i++) {
                if (cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS)
                        continue;
                cuMemAlloc_v2(&block, size_next(argument));
                OK(cuCtxDestroy_v2(context));
        }
        return NULL;
}

static void *take_blocks(void *argument)
{
        CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
        CUmemGenericAllocationHandle block;

        for (unsigned i = 0; i < rounds; i++)
                if (cuMemCreate(&block, 2 * size_next(argument), &prop, 0) == CUDA_SUCCESS)
                        OK(cuMemRelease(block));
        return NULL;
}

int main(int argc, char **argv)
{
        unsigned pairs = argc == 3 ? (unsigned)atoi(argv[1]) : 0;
        struct worker workers[2 * PAIRS];
        CUuuid uuid;

        if (pairs < 1 || pairs > PAIRS)
                return 2;
        rounds = (unsigned)atoi(argv[2]);
        OK(cuInit(0));
        OK(cuDeviceGetUuid_v2(&uuid, 0));
        for (unsigned i = 0; i < 2 * pairs; i++) {
                workers[i].seed = i + 1;
                pthread_create(&workers[i].thread, NULL, i % 2 ? take_blocks : fill_contexts,
                               &workers[i]);
        }
        for (unsigned i = 0; i < 2 * pairs; i++)
                pthread_join(workers[i].thread, NULL);
        printf("%llu\n", (unsigned long long)watch_high(&uuid));
        return 0;
}
