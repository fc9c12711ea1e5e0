/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that allocate, fill, look at and free blocks by chance, until standard input ends: each
 * word is what it was filled with, whatever is done to the session meanwhile.
 *
 *      swapped THREADS SEED MAX_MIB
 *
 * Prints how often all words of a block were looked at, how many were wrong, and how many requests
 * were refused. Anything else that a call answers ends it with 1.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "abi/cuda.h"
#include "common/atomic.h"

#define BLOCKS 6
#define MIB (UINT64_C(1) << 20)

static CUcontext context;
static CUfunction fill, wrong;
static uint64_t max_mib, seed;
static _Atomic uint64_t looks, wrongs, refusals;
static _Atomic bool is_over;

#define OK(call) must((call), #call)
static void must(CUresult rc, const char *what)
{
        if (rc == CUDA_SUCCESS)
                return;
        fprintf(stderr, "%s: %d\n", what, rc);
        _exit(1);
}

struct block {
        CUdeviceptr at;
        uint64_t words, seed;
};

static uint64_t chance(uint64_t *state)
{
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return *state >> 33;
}

static void launch(CUstream stream, CUfunction function, const struct block *block, void *found)
{
        uint64_t result = (uint64_t)(uintptr_t)found;
        void *params[] = { (void *)(uintptr_t)&block->at, (void *)(uintptr_t)&block->words,
                           (void *)(uintptr_t)&block->seed, &result };

        OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

/* Some blocks are too small to leave. */
static void make(CUstream stream, struct block *block, uint64_t *state)
{
        uint64_t bytes = chance(state) % 4 ? chance(state) % (max_mib * MIB) + 8 : 4096;
        CUresult rc = cuMemAlloc_v2(&block->at, bytes);

        if (rc == CUDA_ERROR_OUT_OF_MEMORY) {
                add_relaxed(&refusals, 1);
                return;
        }
        OK(rc);
        block->words = bytes / sizeof(uint64_t);
        block->seed = chance(state);
        launch(stream, fill, block, NULL);
}

static void look(CUstream stream, const struct block *block, uint64_t *found)
{
        *found = UINT64_MAX;
        launch(stream, wrong, block, found);
        OK(cuStreamSynchronize(stream));
        add_relaxed(&wrongs, *found);
        add_relaxed(&looks, 1);
}

static void end(CUstream stream, struct block *block, uint64_t *state)
{
        OK(chance(state) % 2 ? cuMemFree_v2(block->at) : cuMemFreeAsync(block->at, stream));
        *block = (struct block){ 0 };
}

static void *work(void *number)
{
        uint64_t state = seed + (uint64_t)(uintptr_t)number * 977, *found;
        struct block block[BLOCKS] = { 0 };
        CUstream stream;

        OK(cuCtxSetCurrent(context));
        OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        OK(cuMemHostAlloc((void **)&found, sizeof(*found), 0));
        while (!load_relaxed(&is_over)) {
                struct block *one = &block[chance(&state) % BLOCKS];

                if (!one->at) {
                        make(stream, one, &state);
                } else if (chance(&state) % 3) {
                        look(stream, one, found);
                } else {
                        look(stream, one, found);
                        end(stream, one, &state);
                }
        }
        for (unsigned i = 0; i < BLOCKS; i++) {
                if (block[i].at)
                        look(stream, &block[i], found);
        }
        return NULL;
}

int main(int argc, char **argv)
{
        CUmodule module;
        pthread_t thread[16];
        unsigned threads = argc == 4 ? (unsigned)atoi(argv[1]) % 17 : 0;
        char byte;

        if (!threads)
                return 2;
        seed = strtoull(argv[2], NULL, 10);
        max_mib = strtoull(argv[3], NULL, 10);
        OK(cuInit(0));
        OK(cuCtxCreate_v2(&context, 0, 0));
        OK(cuModuleLoad(&module, getenv("BYTES_KERNELS")));
        OK(cuModuleGetFunction(&fill, module, "fill"));
        OK(cuModuleGetFunction(&wrong, module, "wrong"));
        puts("ready");
        fflush(stdout);
        for (uintptr_t i = 0; i < threads; i++)
                pthread_create(&thread[i], NULL, work, (void *)i);
        while (read(0, &byte, 1) > 0)
                ;
        store_relaxed(&is_over, true);
        for (unsigned i = 0; i < threads; i++)
                pthread_join(thread[i], NULL);
        printf("{\"looks\": %llu, \"wrong\": %llu, \"refused\": %llu}\n", (unsigned long long)looks,
               (unsigned long long)wrongs, (unsigned long long)refusals);
        return 0;
}
