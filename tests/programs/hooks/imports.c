/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that open the same memory at the same moment.
 *
 *      imports ROUNDS HANDLE
 *      imports ROUNDS external
 *
 * HANDLE is a legacy handle in hexadecimal, of a block of another process. External memory is a
 * file, of which each thread states 8 MiB more than the one before it. Prints how often it was
 * opened, and how often that was refused. What was opened is closed again.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "watch.h"

#define THREADS 4
#define STEP_BYTES (UINT64_C(8) << 20)

static CUcontext context;
static CUipcMemHandle handle;
static unsigned rounds;
static pthread_barrier_t barrier;
static unsigned opened[THREADS];
static int file = -1; /* of external memory; -1: a legacy handle */

/* What a thread has opened: one of the two. */
struct held {
        CUexternalMemory external;
        CUdeviceptr address;
};

static CUresult open_external(CUexternalMemory *ret, uint64_t bytes)
{
        const CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {
                .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
                .handle = { .fd = fcntl(file, F_DUPFD_CLOEXEC, 0) },
                .size = bytes
        };
        CUresult rc = cuImportExternalMemory(ret, &desc);

        if (rc != CUDA_SUCCESS)
                close(desc.handle.fd);
        return rc;
}

static CUresult open_one(struct held *ret, uint64_t bytes)
{
        if (file >= 0)
                return open_external(&ret->external, bytes);
        return cuIpcOpenMemHandle_v2(&ret->address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

static CUresult close_one(const struct held *held)
{
        if (file >= 0)
                return cuDestroyExternalMemory(held->external);
        return cuIpcCloseMemHandle(held->address);
}

static void *worker(void *arg)
{
        unsigned *count = arg;
        uint64_t bytes = (uint64_t)(count - opened + 1) * STEP_BYTES;

        OK(cuCtxSetCurrent(context));
        for (unsigned i = 0; i < rounds; i++) {
                struct held held;
                CUresult rc;

                pthread_barrier_wait(&barrier);
                rc = open_one(&held, bytes);
                if (rc != CUDA_ERROR_OUT_OF_MEMORY) {
                        OK(rc);
                        ++*count;
                }
                pthread_barrier_wait(&barrier);
                if (rc == CUDA_SUCCESS)
                        OK(close_one(&held));
        }
        return NULL;
}

static void parse_handle(const char *text)
{
        for (unsigned i = 0; i < sizeof(handle); i++) {
                unsigned value = 0;

                sscanf(text + (size_t)2 * i, "%2x", &value);
                handle.reserved[i] = (char)value;
        }
}

int main(int argc, char **argv)
{
        bool is_external = argc == 3 && strcmp(argv[2], "external") == 0;
        pthread_t thread[THREADS];
        unsigned all = 0;

        if (argc != 3 || (!is_external && strlen(argv[2]) != 2 * sizeof(handle)))
                return 2;
        rounds = (unsigned)strtoul(argv[1], NULL, 10);
        if (is_external)
                file = memfd_create("external", MFD_CLOEXEC);
        else
                parse_handle(argv[2]);
        if (is_external && ftruncate(file, THREADS * STEP_BYTES) != 0)
                return 2;
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
