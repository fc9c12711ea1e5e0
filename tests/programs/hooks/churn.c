/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools in use for long: a million stream-ordered allocations and frees, then a trim.
 *
 *      churn THREADS OPERATIONS SEED
 *
 * Each thread has a stream of its own and takes from the default pool and from one that all share,
 * in blocks from a few bytes to some MiB. Prints what is charged and granted with only the context,
 * the same after the last block was freed and the pools were trimmed, the most that was ever
 * granted, and how many operations there were and how many of them were refused.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "watch.h"

#define SLOTS 32
#define SYNC_EVERY 4096
#define SMALL_BYTES 4096u
#define LARGE_BYTES (2u << 20)

static CUcontext context;
static CUmemoryPool common;
static unsigned operations;

struct worker {
        pthread_t thread;
        unsigned seed;
        unsigned long refused;
        CUstream stream;
        CUdeviceptr block[SLOTS];
};

static void take(struct worker *w, unsigned slot)
{
        unsigned most = rand_r(&w->seed) % 16 ? SMALL_BYTES : LARGE_BYTES;
        size_t bytes = 1 + (unsigned)rand_r(&w->seed) % most;
        CUresult rc = slot % 2 ? cuMemAllocAsync(&w->block[slot], bytes, w->stream)
                               : cuMemAllocFromPoolAsync(&w->block[slot], bytes, common, w->stream);

        if (rc == CUDA_SUCCESS)
                return;
        w->block[slot] = 0;
        w->refused++;
        if (rc != CUDA_ERROR_OUT_OF_MEMORY) {
                fprintf(stderr, "an allocation answered %d\n", rc);
                exit(1);
        }
}

static void give(struct worker *w, unsigned slot)
{
        if (rand_r(&w->seed) % 64)
                OK(cuMemFreeAsync(w->block[slot], w->stream));
        else
                OK(cuMemFree_v2(w->block[slot]));
        w->block[slot] = 0;
}

static void *work(void *argument)
{
        struct worker *w = argument;

        OK(cuCtxSetCurrent(context));
        OK(cuStreamCreate(&w->stream, CU_STREAM_NON_BLOCKING));
        for (unsigned i = 0; i < operations; i++) {
                unsigned slot = (unsigned)rand_r(&w->seed) % SLOTS;

                if (w->block[slot])
                        give(w, slot);
                else
                        take(w, slot);
                if (i % SYNC_EVERY == SYNC_EVERY - 1)
                        OK(cuStreamSynchronize(w->stream));
        }
        for (unsigned slot = 0; slot < SLOTS; slot++)
                if (w->block[slot])
                        give(w, slot);
        OK(cuStreamSynchronize(w->stream));
        OK(cuStreamDestroy_v2(w->stream));
        return NULL;
}

static unsigned long run(unsigned count, unsigned seed)
{
        struct worker *workers = calloc(count, sizeof(*workers));
        unsigned long refused = 0;

        for (unsigned i = 0; i < count; i++) {
                workers[i].seed = seed * 1000 + i;
                pthread_create(&workers[i].thread, NULL, work, &workers[i]);
        }
        for (unsigned i = 0; i < count; i++) {
                pthread_join(workers[i].thread, NULL);
                refused += workers[i].refused;
        }
        free(workers);
        return refused;
}

static void look(const CUuuid *uuid)
{
        printf("%llu %llu ", (unsigned long long)watch_charged(uuid),
               (unsigned long long)watch_granted(uuid));
}

int main(int argc, char **argv)
{
        CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
        unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
        unsigned long refused;
        CUmemoryPool own;
        CUuuid uuid;

        operations = (argc > 2 ? (unsigned)atoi(argv[2]) : 10000) / count;
        OK(cuInit(0));
        OK(cuDeviceGetUuid_v2(&uuid, 0));
        OK(cuCtxCreate_v2(&context, 0, 0));
        look(&uuid);
        OK(cuMemPoolCreate(&common, &props));
        refused = run(count, argc > 3 ? (unsigned)atoi(argv[3]) : 1);
        OK(cuDeviceGetDefaultMemPool(&own, 0));
        OK(cuMemPoolTrimTo(own, 0));
        OK(cuMemPoolTrimTo(common, 0));
        look(&uuid);
        printf("%llu %u %lu\n", (unsigned long long)watch_high(&uuid), operations * count, refused);
        OK(cuMemPoolDestroy(common));
        OK(cuCtxDestroy_v2(context));
        return 0;
}
