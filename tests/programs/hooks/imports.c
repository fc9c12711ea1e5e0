/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that open the same block of another process at the same moment.
 *
 *      imports ROUNDS HANDLE
 *
 * HANDLE is a legacy handle in hexadecimal. Prints how often it was opened, and how often that was
 * refused. What was opened is closed again.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch.h"

#define THREADS 4

static CUcontext context;
static CUipcMemHandle handle;
static unsigned rounds;
static pthread_barrier_t barrier;
static unsigned opened[THREADS];

static void *worker(void *arg)
{
        unsigned *count = arg;

        OK(cuCtxSetCurrent(context));
        for (unsigned i = 0; i < rounds; i++) {
                CUdeviceptr address;
                CUresult rc;

                pthread_barrier_wait(&barrier);
                rc = cuIpcOpenMemHandle_v2(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
                if (rc != CUDA_ERROR_OUT_OF_MEMORY) {
                        watch_expect(rc, CUDA_SUCCESS, "cuIpcOpenMemHandle", __LINE__);
                        ++*count;
                }
                pthread_barrier_wait(&barrier);
                if (rc == CUDA_SUCCESS)
                        OK(cuIpcCloseMemHandle(address));
        }
        return NULL;
}

int main(int argc, char **argv)
{
        pthread_t thread[THREADS];
        unsigned all = 0;

        if (argc != 3 || strlen(argv[2]) != 2 * sizeof(handle))
                return 2;
        rounds = (unsigned)strtoul(argv[1], NULL, 10);
        for (unsigned i = 0; i < sizeof(handle); i++) {
                unsigned value = 0;

                sscanf(argv[2] + (size_t)2 * i, "%2x", &value);
                handle.reserved[i] = (char)value;
        }
        OK(cuInit(0));
        OK(cuCtxCreate_v2(&context, 0, 0));
        pthread_barrier_init(&barrier, NULL, THREADS);
        for (unsigned i = 0; i < THREADS; i++)
                pthread_create(&thread[i], NULL, worker, &opened[i]);
        for (unsigned i = 0; i < THREADS; i++) {
                pthread_join(thread[i], NULL);
                all += opened[i];
        }
        printf("%u %u\n", all, rounds * THREADS - all);
        return 0;
}
