/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that take and give memory in every way at the same time, near the limit.
 *
 *      threads COUNT ROUNDS SEED
 *
 * prints bytes charged and granted at the end, when all was given back but the context, and the
 * most that was ever granted. Ends with 1 if a call answered what it must not.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "watch.h"

#define SLOTS 8
#define MIB (UINT64_C(1) << 20)

static CUcontext context;
static CUmemoryPool common;
static unsigned rounds;

struct worker {
        pthread_t thread;
        unsigned seed;
        CUstream stream;
        CUdeviceptr plain[SLOTS], ordered[SLOTS];
        CUmemGenericAllocationHandle block[SLOTS];
};

/* Granted or refused; nothing else may come back. */
static int is_granted(CUresult rc, const char *call)
{
        if (rc == CUDA_SUCCESS)
                return 1;
        if (rc == CUDA_ERROR_OUT_OF_MEMORY)
                return 0;
        fprintf(stderr, "%s answered %d\n", call, rc);
        exit(1);
}

static void plain(struct worker *w, unsigned slot, uint64_t bytes)
{
        if (w->plain[slot]) {
                OK(cuMemFree_v2(w->plain[slot]));
                w->plain[slot] = 0;
        } else if (!is_granted(cuMemAlloc_v2(&w->plain[slot], bytes), "cuMemAlloc")) {
                w->plain[slot] = 0;
        }
}

static void ordered(struct worker *w, unsigned slot, uint64_t bytes)
{
        CUresult rc;

        if (w->ordered[slot]) {
                OK(cuMemFreeAsync(w->ordered[slot], w->stream));
                w->ordered[slot] = 0;
                return;
        }
        if (slot % 2)
                rc = cuMemAllocAsync(&w->ordered[slot], bytes, w->stream);
        else
                rc = cuMemAllocFromPoolAsync(&w->ordered[slot], bytes, common, w->stream);
        if (!is_granted(rc, "cuMemAllocAsync"))
                w->ordered[slot] = 0;
}

static void block(struct worker *w, unsigned slot)
{
        CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };

        if (w->block[slot]) {
                OK(cuMemRelease(w->block[slot]));
                w->block[slot] = 0;
        } else if (!is_granted(cuMemCreate(&w->block[slot], 2 * MIB, &prop, 0), "cuMemCreate")) {
                w->block[slot] = 0;
        }
}

static void primary(void)
{
        CUcontext own;

        if (is_granted(cuDevicePrimaryCtxRetain(&own, 0), "cuDevicePrimaryCtxRetain"))
                OK(cuDevicePrimaryCtxRelease_v2(0));
}

static void *work(void *argument)
{
        struct worker *w = argument;

        OK(cuCtxSetCurrent(context));
        OK(cuStreamCreate(&w->stream, CU_STREAM_NON_BLOCKING));
        for (unsigned i = 0; i < rounds; i++) {
                unsigned slot = (unsigned)rand_r(&w->seed) % SLOTS;
                uint64_t bytes = (uint64_t)rand_r(&w->seed) % (4 * MIB) + 1;

                switch (rand_r(&w->seed) % 8) {
                case 0:
                        block(w, slot);
                        break;
                case 1:
                        if (i % 16 == 0)
                                primary();
                        break;
                case 2:
                        if (i % 8 == 0)
                                OK(cuStreamSynchronize(w->stream));
                        break;
                case 3:
                case 4:
                        plain(w, slot, bytes);
                        break;
                default:
                        ordered(w, slot, bytes);
                }
        }
        for (unsigned slot = 0; slot < SLOTS; slot++) {
                if (w->plain[slot])
                        plain(w, slot, 0);
                if (w->ordered[slot])
                        ordered(w, slot, 0);
                if (w->block[slot])
                        block(w, slot);
        }
        OK(cuStreamSynchronize(w->stream));
        OK(cuStreamDestroy_v2(w->stream));
        return NULL;
}

int main(int argc, char **argv)
{
        CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
        unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
        struct worker *workers = calloc(count, sizeof(*workers));
        CUmemoryPool pool;
        CUuuid uuid;

        rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;
        OK(cuInit(0));
        OK(cuDeviceGetUuid_v2(&uuid, 0));
        /* Others may have filled the session before this one came. */
        while (!is_granted(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate"))
                usleep(1000);
        OK(cuMemPoolCreate(&common, &props));
        for (unsigned i = 0; i < count; i++) {
                workers[i].seed = (argc > 3 ? (unsigned)atoi(argv[3]) : 1) * 100 + i;
                pthread_create(&workers[i].thread, NULL, work, &workers[i]);
        }
        for (unsigned i = 0; i < count; i++)
                pthread_join(workers[i].thread, NULL);
        free(workers);
        OK(cuCtxSynchronize());
        OK(cuMemPoolDestroy(common));
        OK(cuDeviceGetDefaultMemPool(&pool, 0));
        OK(cuMemPoolTrimTo(pool, 0));
        printf("%llu %llu %llu\n", (unsigned long long)watch_charged(&uuid),
               (unsigned long long)watch_granted(&uuid), (unsigned long long)watch_high(&uuid));
        return 0;
}
