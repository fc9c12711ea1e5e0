/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that go from card to card, and take and give memory wherever they are.
 *
 *      cards THREADS ROUNDS SEED
 *
 * prints a line for each card: bytes charged and granted at the end, when all was given back but a
 * context on each, the most that was ever granted there, and how many requests were refused.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "watch.h"

#define CARDS 4
#define SLOTS 12
#define MIB (UINT64_C(1) << 20)

static CUcontext contexts[CARDS];
static _Atomic unsigned long refused[CARDS];
static int cards;
static unsigned rounds;

struct held {
        CUdeviceptr address;
        CUmemGenericAllocationHandle handle;
        int card;
};

struct worker {
        pthread_t thread;
        unsigned seed;
        struct held held[SLOTS];
};

/* On the card of the thread's own context, or, as cuMemCreate and pools can, on another one. */
static void take(struct held *held, int here, int card, unsigned bytes)
{
        CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
                                                   .id = card } };
        int is_block = bytes % 3 == 0;
        CUresult rc;

        *held = (struct held){ .card = is_block ? card : here };
        if (is_block)
                rc = cuMemCreate(&held->handle, 2 * MIB, &prop, 0);
        else
                rc = bytes % 2 ? cuMemAlloc_v2(&held->address, bytes)
                               : cuMemAllocAsync(&held->address, bytes, NULL);
        if (rc == CUDA_SUCCESS)
                return;
        EXPECT(rc, CUDA_ERROR_OUT_OF_MEMORY);
        refused[held->card]++;
        *held = (struct held){ 0 };
}

/* Whatever card is current. */
static void give(struct held *held)
{
        if (held->handle)
                OK(cuMemRelease(held->handle));
        if (held->address)
                OK(cuMemFree_v2(held->address));
        *held = (struct held){ 0 };
}

static void *work(void *argument)
{
        struct worker *w = argument;
        int here = 0;

        OK(cuCtxSetCurrent(contexts[here]));
        for (unsigned i = 0; i < rounds; i++) {
                struct held *held = &w->held[(unsigned)rand_r(&w->seed) % SLOTS];

                if (rand_r(&w->seed) % 4 == 0) {
                        here = rand_r(&w->seed) % cards;
                        OK(cuCtxSetCurrent(contexts[here]));
                }
                if (held->handle || held->address)
                        give(held);
                else
                        take(held, here, rand_r(&w->seed) % cards,
                             1 + (unsigned)rand_r(&w->seed) % (3 * (unsigned)MIB));
        }
        for (unsigned i = 0; i < SLOTS; i++)
                give(&w->held[i]);
        return NULL;
}

/* Others may have filled the session before this one came. */
static int begin(int card)
{
        CUresult rc = cuCtxCreate_v2(&contexts[card], 0, card);

        if (rc != CUDA_ERROR_OUT_OF_MEMORY)
                OK(rc);
        return rc == CUDA_SUCCESS;
}

static void finish(int card)
{
        CUmemoryPool pool;
        CUuuid uuid;

        OK(cuCtxSetCurrent(contexts[card]));
        OK(cuCtxSynchronize());
        OK(cuDeviceGetDefaultMemPool(&pool, card));
        OK(cuMemPoolTrimTo(pool, 0));
        OK(cuDeviceGetUuid_v2(&uuid, card));
        printf("%llu %llu %llu %lu\n", (unsigned long long)watch_charged(&uuid),
               (unsigned long long)watch_granted(&uuid), (unsigned long long)watch_high(&uuid),
               refused[card]);
}

int main(int argc, char **argv)
{
        unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
        struct worker *workers = calloc(count, sizeof(*workers));

        rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;
        OK(cuInit(0));
        OK(cuDeviceGetCount(&cards));
        cards = cards > CARDS ? CARDS : cards;
        for (int i = 0; i < cards; i++)
                while (!begin(i))
                        usleep(1000);
        for (unsigned i = 0; i < count; i++) {
                workers[i].seed = (argc > 3 ? (unsigned)atoi(argv[3]) : 1) * 100 + i;
                pthread_create(&workers[i].thread, NULL, work, &workers[i]);
        }
        for (unsigned i = 0; i < count; i++)
                pthread_join(workers[i].thread, NULL);
        for (int i = 0; i < cards; i++)
                finish(i);
        free(workers);
        return 0;
}
