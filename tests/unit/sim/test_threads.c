/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many threads of one process: each gets its own bytes and its own context stack, and in the end
 * nothing is left. Run with a thread sanitizer it is the test of the driver's locks.
 */
#include "memory_stage.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 8
#define ROUNDS 400
#define SEGMENT (2 * MIB)

static CUcontext context;

static int setup(void **state)
{
        stage_open("gpus=1,memory=2GiB,model=t4,context=0", "threads");
        context = stage_context();
        return 0;
}

/* What cmocka's own assertions cannot be used for, off the main thread. */
#define check(condition)                                    \
        do {                                                \
                if (!(condition))                           \
                        return (void *)(uintptr_t)__LINE__; \
        } while (0)

static void *plain_user(void *argument)
{
        unsigned seed = (unsigned)(uintptr_t)argument;
        CUdeviceptr held[16] = { 0 };

        check(cuCtxSetCurrent(context) == CUDA_SUCCESS);
        for (unsigned round = 0; round < ROUNDS; round++) {
                unsigned i = (unsigned)rand_r(&seed) % 16;
                size_t bytes = 1 + (size_t)rand_r(&seed) % (round % 10 == 0 ? 3 * MIB : 5000);
                size_t known;

                if (!held[i]) {
                        check(cuMemAlloc_v2(&held[i], bytes) == CUDA_SUCCESS);
                        *(volatile char *)(uintptr_t)held[i] = 1;
                        check(cuMemGetAddressRange_v2(NULL, &known, held[i]) == CUDA_SUCCESS);
                        check(known == bytes);
                } else {
                        check(cuMemFree_v2(held[i]) == CUDA_SUCCESS);
                        held[i] = 0;
                }
        }
        for (unsigned i = 0; i < 16; i++)
                check(cuMemFree_v2(held[i]) == CUDA_SUCCESS);
        return NULL;
}

static void *vmm_user(void *argument)
{
        const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                           .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
                                                         .id = 0 } };
        const CUmemAccessDesc access = { { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
                                         CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
        CUdeviceptr space;

        check(cuCtxSetCurrent(context) == CUDA_SUCCESS);
        check(cuMemAddressReserve(&space, 4 * SEGMENT, 0, 0, 0) == CUDA_SUCCESS);
        for (unsigned round = 0; round < ROUNDS / 4; round++) {
                CUdeviceptr at = space + round % 4 * SEGMENT;
                CUmemGenericAllocationHandle handle;

                check(cuMemCreate(&handle, SEGMENT, &prop, 0) == CUDA_SUCCESS);
                check(cuMemMap(at, SEGMENT, 0, handle, 0) == CUDA_SUCCESS);
                check(cuMemSetAccess(at, SEGMENT, &access, 1) == CUDA_SUCCESS);
                check(cuMemRelease(handle) == CUDA_SUCCESS);
                *(volatile unsigned *)(uintptr_t)at = round;
                check(cuMemUnmap(at, SEGMENT) == CUDA_SUCCESS);
        }
        check(cuMemAddressFree(space, 4 * SEGMENT) == CUDA_SUCCESS);
        return NULL;
}

static void *pool_user(void *argument)
{
        CUstream stream;

        check(cuCtxSetCurrent(context) == CUDA_SUCCESS);
        check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
        for (unsigned round = 0; round < ROUNDS / 4; round++) {
                CUdeviceptr a;

                check(cuMemAllocAsync(&a, 100000, stream) == CUDA_SUCCESS);
                check(cuMemsetD8Async(a, 7, 100000, stream) == CUDA_SUCCESS);
                check(cuMemFreeAsync(a, stream) == CUDA_SUCCESS);
        }
        check(cuStreamSynchronize(stream) == CUDA_SUCCESS);
        check(cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
        return NULL;
}

static void *host_user(void *argument)
{
        check(cuCtxSetCurrent(context) == CUDA_SUCCESS);
        for (unsigned round = 0; round < ROUNDS / 4; round++) {
                void *pinned;

                check(cuMemHostAlloc(&pinned, 10000, 0) == CUDA_SUCCESS);
                memset(pinned, 1, 10000);
                check(cuMemFreeHost(pinned) == CUDA_SUCCESS);
        }
        return NULL;
}

static void threads_do_not_meet(void **state)
{
        static void *(*const users[])(void *) = { plain_user, vmm_user, pool_user, host_user };
        pthread_t threads[THREADS];

        for (unsigned i = 0; i < THREADS; i++)
                assert_int_equal(
                        pthread_create(&threads[i], NULL, users[i % 4], (void *)(uintptr_t)(i + 1)),
                        0);
        for (unsigned i = 0; i < THREADS; i++) {
                void *line;

                assert_int_equal(pthread_join(threads[i], &line), 0);
                if (line)
                        fail_msg("thread %u failed at line %u", i, (unsigned)(uintptr_t)line);
        }
        assert_ok(cuCtxSynchronize());
        assert_int_equal(stage_device_current(0), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(threads_do_not_meet),
        };

        return cmocka_run_group_tests(tests, setup, stage_close);
}
