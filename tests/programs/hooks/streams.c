/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads with a stream each that take from one pool, and give back in stream order, without ever
 * waiting.
 *
 *      streams COUNT ROUNDS BYTES
 *
 * prints how many requests were refused, and the most that was ever granted.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "watch.h"

#define THREADS 64

static CUcontext context;
static _Atomic unsigned long refused;
static unsigned long rounds;
static size_t bytes;

static void *work(void *unused)
{
        CUdeviceptr block;
        CUstream stream;

        OK(cuCtxSetCurrent(context));
        OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        for (unsigned long i = 0; i < rounds; i++) {
                CUresult rc = cuMemAllocAsync(&block, bytes, stream);

                if (rc == CUDA_SUCCESS)
                        OK(cuMemFreeAsync(block, stream));
                else
                        EXPECT(rc, CUDA_ERROR_OUT_OF_MEMORY);
                refused += rc != CUDA_SUCCESS;
        }
        return NULL;
}

int main(int argc, char **argv)
{
        unsigned count = argc == 4 ? (unsigned)atoi(argv[1]) : 0;
        pthread_t threads[THREADS];
        CUuuid uuid;

        if (count < 1 || count > THREADS)
                return 2;
        rounds = strtoul(argv[2], NULL, 10);
        bytes = strtoull(argv[3], NULL, 10);
        OK(cuInit(0));
        OK(cuCtxCreate_v2(&context, 0, 0));
        OK(cuDeviceGetUuid(&uuid, 0));
        for (unsigned i = 0; i < count; i++)
                pthread_create(&threads[i], NULL, work, NULL);
        for (unsigned i = 0; i < count; i++)
                pthread_join(threads[i], NULL);
        /* What stands in a queue when a program ends is a leak, to who looks for leaks. */
        OK(cuCtxSynchronize());
        printf("%lu %llu\n", refused, (unsigned long long)watch_high(&uuid));
        return 0;
}
