/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream-ordered memory: a pool's reserve is what it is granted, it grows in steps, what a stream
 * freed the same stream may take again, and waiting gives the rest back down to the threshold.
 */
#include "memory_stage.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEP (32 * MIB)

static CUmemoryPool pool;
static CUstream stream;

static int setup(void **state)
{
        stage_open("gpus=2,memory=1GiB,model=t4,context=16MiB", "pool");
        stage_context();
        assert_ok(cuDeviceGetDefaultMemPool(&pool, 0));
        assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        return 0;
}

static uint64_t attribute(CUmemPool_attribute which)
{
        cuuint64_t value;

        assert_ok(cuMemPoolGetAttribute(pool, which, &value));
        return value;
}

static void the_reserve_is_the_grant(void **state)
{
        CUdeviceptr a, b;

        assert_ok(cuMemAllocAsync(&a, 5 * MIB, stream));
        assert_int_equal(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), STEP);
        assert_int_equal(attribute(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 5 * MIB);
        assert_int_equal(stage_granted(0, FAMILY_POOL), STEP);
        assert_ok(cuMemAllocAsync(&b, 40 * MIB, stream));
        assert_int_equal(stage_granted(0, FAMILY_POOL), 2 * STEP);
        assert_ok(cuMemFreeAsync(a, stream));
        assert_ok(cuMemFreeAsync(b, stream));
        assert_int_equal(cuMemFreeAsync(b, stream), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(attribute(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
        assert_ok(cuStreamSynchronize(stream));
        assert_int_equal(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
        assert_int_equal(stage_granted(0, FAMILY_POOL), 0);
        assert_int_equal(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 2 * STEP);
}

static void take_a_while(void *unused)
{
        nanosleep(&(struct timespec){ .tv_nsec = 30000000 }, NULL);
}

static _Atomic bool may_go_on;

static void wait_until_told(void *unused)
{
        while (!may_go_on)
                nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void memory_is_there_for_the_work_before_its_free(void **state)
{
        CUdeviceptr a, b;

        assert_ok(cuMemAlloc_v2(&b, MIB));
        assert_ok(cuMemAllocAsync(&a, MIB, stream));
        assert_ok(cuLaunchHostFunc(stream, take_a_while, NULL));
        assert_ok(cuMemsetD8Async(a, 1, MIB, stream));
        assert_ok(cuMemsetD8Async(b, 1, MIB, stream));
        assert_ok(cuMemFreeAsync(a, stream));
        assert_int_equal(cuMemFreeAsync(a, stream), CUDA_ERROR_INVALID_VALUE);
        assert_ok(cuMemFree_v2(b));
        assert_ok(cuStreamSynchronize(stream));
        assert_int_equal(stage_granted(0, FAMILY_POOL), 0);
}

static void a_stream_reuses_what_it_freed(void **state)
{
        CUdeviceptr a;

        for (unsigned i = 0; i < 200; i++) {
                assert_ok(cuMemAllocAsync(&a, 20 * MIB, stream));
                assert_ok(cuMemFreeAsync(a, stream));
                assert_int_equal(stage_granted(0, FAMILY_POOL), STEP);
        }
        assert_ok(cuStreamSynchronize(stream));
}

/* However often it was taken again, it is one block's bytes that wait for the stream. */
static void what_another_stream_freed_many_times_is_in_the_way_once(void **state)
{
        CUdeviceptr a, b;
        CUstream other;

        assert_ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
        assert_ok(cuLaunchHostFunc(stream, take_a_while, NULL));
        for (unsigned i = 0; i < 20; i++) {
                assert_ok(cuMemAllocAsync(&a, 20 * MIB, stream));
                assert_ok(cuMemFreeAsync(a, stream));
        }
        assert_ok(cuMemAllocAsync(&b, 20 * MIB, other));
        assert_int_equal(stage_granted(0, FAMILY_POOL), 2 * STEP);
        assert_ok(cuMemFreeAsync(b, other));
        assert_ok(cuStreamSynchronize(other));
        assert_ok(cuStreamSynchronize(stream));
        assert_int_equal(stage_granted(0, FAMILY_POOL), 0);
        assert_ok(cuStreamDestroy_v2(other));
}

/* A driver would use the addresses again. */
static void blocks_that_wait_for_their_stream_do_not_use_up_the_addresses(void **state)
{
        CUdeviceptr a;

        for (unsigned i = 0; i < 3000; i++) {
                assert_ok(cuMemAllocAsync(&a, 200 * MIB, stream));
                assert_ok(cuMemFreeAsync(a, stream));
        }
        assert_ok(cuStreamSynchronize(stream));
}

static void the_threshold_keeps_the_reserve_and_trimming_ends_it(void **state)
{
        CUdeviceptr a;
        cuuint64_t all = UINT64_MAX, none = 0;

        assert_ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
        assert_ok(cuMemAllocAsync(&a, 60 * MIB, stream));
        assert_ok(cuMemPoolTrimTo(pool, 0)); /* what is in use stays */
        assert_int_equal(stage_granted(0, FAMILY_POOL), 2 * STEP);
        assert_ok(cuMemFreeAsync(a, stream));
        assert_ok(cuStreamSynchronize(stream));
        assert_int_equal(stage_granted(0, FAMILY_POOL), 2 * STEP);
        assert_ok(cuMemPoolTrimTo(pool, STEP));
        assert_int_equal(stage_granted(0, FAMILY_POOL), STEP);
        assert_ok(cuMemPoolTrimTo(pool, 0));
        assert_int_equal(stage_granted(0, FAMILY_POOL), 0);
        assert_ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &none));
}

static void trimming_leaves_what_earlier_work_of_the_stream_may_use(void **state)
{
        CUdeviceptr a;
        cuuint64_t all = UINT64_MAX, none = 0;

        assert_ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
        assert_ok(cuMemAllocAsync(&a, 20 * MIB, stream));
        assert_ok(cuLaunchHostFunc(stream, wait_until_told, NULL));
        assert_ok(cuMemsetD8Async(a, 1, 20 * MIB, stream));
        assert_ok(cuMemFreeAsync(a, stream));
        assert_ok(cuMemPoolTrimTo(pool, 0));
        assert_int_equal(stage_granted(0, FAMILY_POOL), STEP);
        may_go_on = true;
        assert_ok(cuStreamSynchronize(stream));
        assert_ok(cuMemPoolTrimTo(pool, 0));
        assert_int_equal(stage_granted(0, FAMILY_POOL), 0);
        assert_ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &none));
}

static void the_last_bytes_of_the_device_come_in_small_steps(void **state)
{
        CUdeviceptr a, b;
        size_t left, total;

        assert_ok(cuMemGetInfo_v2(&left, &total));
        assert_ok(cuMemAlloc_v2(&a, left - 3 * MIB));
        assert_ok(cuMemAllocAsync(&b, MIB, stream));
        assert_int_equal(stage_granted(0, FAMILY_POOL), 2 * MIB);
        assert_ok(cuMemFree_v2(b));
        assert_int_equal(cuMemAllocAsync(&b, 4 * MIB, stream), CUDA_ERROR_OUT_OF_MEMORY);
        assert_ok(cuMemFree_v2(a));
        assert_ok(cuMemPoolTrimTo(pool, 0));
}

/* CUDA Programming Guide: what cudaMalloc() returned may be given to cudaFreeAsync(). */
static void plain_memory_is_freed_when_its_stream_gets_there(void **state)
{
        uint64_t before = stage_granted(0, FAMILY_ALLOC);
        CUdeviceptr a, managed;

        assert_ok(cuMemAlloc_v2(&a, 5 * MIB));
        assert_ok(cuLaunchHostFunc(stream, take_a_while, NULL));
        assert_ok(cuMemsetD8Async(a, 1, 5 * MIB, stream));
        assert_ok(cuMemFreeAsync(a, stream));
        assert_int_equal(cuMemFreeAsync(a, stream), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE);
        assert_ok(cuStreamSynchronize(stream));
        assert_int_equal(stage_granted(0, FAMILY_ALLOC), before);
        assert_ok(cuMemAllocManaged(&managed, MIB, CU_MEM_ATTACH_GLOBAL));
        assert_int_equal(cuMemFreeAsync(managed, stream), CUDA_ERROR_INVALID_VALUE);
        assert_ok(cuMemFree_v2(managed));
}

static void a_pool_of_ones_own_ends_with_its_last_block(void **state)
{
        CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
                                 .maxSize = 8 * MIB };
        CUmemoryPool own, current;
        CUdeviceptr a, b;

        assert_ok(cuMemPoolCreate(&own, &props));
        assert_ok(cuDeviceSetMemPool(0, own));
        assert_ok(cuMemAllocAsync(&a, 6 * MIB, stream));
        assert_int_equal(cuMemAllocFromPoolAsync(&b, 6 * MIB, own, stream),
                         CUDA_ERROR_OUT_OF_MEMORY);
        assert_ok(cuMemPoolDestroy(own));
        assert_ok(cuDeviceGetMemPool(&current, 0));
        assert_ptr_equal(current, pool);
        memset((void *)(uintptr_t)a, 1, 6 * MIB);
        assert_ok(cuMemFreeAsync(a, stream));
        assert_ok(cuStreamSynchronize(stream));
        assert_int_equal(stage_granted(0, FAMILY_POOL), 0);
        assert_int_equal(cuMemPoolTrimTo(own, 0), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
}

static void a_pool_is_open_to_the_devices_it_was_opened_to(void **state)
{
        CUmemAccessDesc access = { { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 },
                                   CU_MEM_ACCESS_FLAGS_PROT_READ };
        CUmemLocation there = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 };
        CUmemAccess_flags flags;

        assert_ok(cuMemPoolGetAccess(&flags, pool, &there));
        assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
        assert_ok(cuMemPoolSetAccess(pool, &access, 1));
        assert_ok(cuMemPoolGetAccess(&flags, pool, &there));
        assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READ);
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        assert_ok(cuMemPoolSetAccess(pool, &access, 1));
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
        assert_ok(cuMemPoolSetAccess(pool, &access, 1));
        assert_ok(cuMemPoolGetAccess(&flags, pool, &there));
        assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
        access.location.id = 0;
        assert_int_equal(cuMemPoolSetAccess(pool, &access, 1), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_reserve_is_the_grant),
                cmocka_unit_test(memory_is_there_for_the_work_before_its_free),
                cmocka_unit_test(a_stream_reuses_what_it_freed),
                cmocka_unit_test(what_another_stream_freed_many_times_is_in_the_way_once),
                cmocka_unit_test(blocks_that_wait_for_their_stream_do_not_use_up_the_addresses),
                cmocka_unit_test(the_threshold_keeps_the_reserve_and_trimming_ends_it),
                cmocka_unit_test(trimming_leaves_what_earlier_work_of_the_stream_may_use),
                cmocka_unit_test(the_last_bytes_of_the_device_come_in_small_steps),
                cmocka_unit_test(plain_memory_is_freed_when_its_stream_gets_there),
                cmocka_unit_test(a_pool_of_ones_own_ends_with_its_last_block),
                cmocka_unit_test(a_pool_is_open_to_the_devices_it_was_opened_to),
        };

        return cmocka_run_group_tests(tests, setup, stage_close);
}
