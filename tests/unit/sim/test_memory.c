/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each family of memory in one process: what it is granted is what it is said to take, the data is
 * there, the addresses are known, and all of it comes back.
 */
#include "memory_stage.h"
#include <pthread.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static CUcontext context;

static int setup(void **state)
{
        stage_open("gpus=2,memory=1GiB,model=t4,context=100MiB", "here");
        context = stage_context();
        return 0;
}

static void plain_memory_counts_the_bytes_asked_for(void **state)
{
        CUdeviceptr a, b, base;
        size_t bytes, free_before, free_now, total;

        assert_ok(cuMemGetInfo_v2(&free_before, &total));
        assert_int_equal(total, GIB);
        assert_ok(cuMemAlloc_v2(&a, 1000));
        assert_ok(cuMemAlloc_v2(&b, 5 * MIB + 1));
        assert_int_equal(a % 256, 0);
        assert_int_equal(stage_granted(0, FAMILY_ALLOC), 1000 + 5 * MIB + 1);
        assert_ok(cuMemGetInfo_v2(&free_now, &total));
        assert_int_equal(free_before - free_now, 1000 + 5 * MIB + 1);
        assert_ok(cuMemGetAddressRange_v2(&base, &bytes, b + 4 * MIB));
        assert_int_equal(base, b);
        assert_int_equal(bytes, 5 * MIB + 1);
        assert_ok(cuMemFree_v2(a));
        assert_ok(cuMemFree_v2(b));
        assert_int_equal(stage_granted(0, FAMILY_ALLOC), 0);
}

static void a_block_is_freed_once_and_only_at_its_start(void **state)
{
        CUdeviceptr a;

        assert_ok(cuMemAlloc_v2(&a, 4096));
        assert_int_equal(cuMemFree_v2(a + 512), CUDA_ERROR_INVALID_VALUE);
        assert_ok(cuMemFree_v2(a));
        assert_int_equal(cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE);
        assert_ok(cuMemFree_v2(0));
        assert_int_equal(cuMemAlloc_v2(&a, 0), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuMemAlloc_v2(NULL, 1), CUDA_ERROR_INVALID_VALUE);
}

static void the_device_holds_exactly_its_memory(void **state)
{
        CUdeviceptr all, more = 7;
        size_t left, total;

        assert_ok(cuMemGetInfo_v2(&left, &total));
        assert_int_equal(cuMemAlloc_v2(&more, left + 1), CUDA_ERROR_OUT_OF_MEMORY);
        assert_int_equal(more, 7);
        assert_ok(cuMemAlloc_v2(&all, left));
        assert_int_equal(cuMemAlloc_v2(&more, 1), CUDA_ERROR_OUT_OF_MEMORY);
        assert_ok(cuMemFree_v2(all));
        assert_int_equal(cuMemAlloc_v2(&more, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
}

static void many_small_blocks_keep_their_own_bytes(void **state)
{
        enum { COUNT = 20000 };
        CUdeviceptr *blocks = calloc(COUNT, sizeof(*blocks));
        uint64_t sum = 0;

        for (unsigned i = 0; i < COUNT; i++) {
                size_t bytes = 1 + (i * 7919) % 9000;

                assert_ok(cuMemAlloc_v2(&blocks[i], bytes));
                memset((void *)(uintptr_t)blocks[i], (int)(i & 0xff), bytes);
                sum += bytes;
        }
        assert_int_equal(stage_granted(0, FAMILY_ALLOC), sum);
        for (unsigned i = 0; i < COUNT; i++) {
                size_t bytes = 1 + (i * 7919) % 9000;
                const unsigned char *at = (const unsigned char *)(uintptr_t)blocks[i];

                assert_int_equal(at[0], i & 0xff);
                assert_int_equal(at[bytes - 1], i & 0xff);
        }
        for (unsigned i = 0; i < COUNT; i++)
                assert_ok(cuMemFree_v2(blocks[(i * 7717) % COUNT]));
        assert_int_equal(stage_granted(0, FAMILY_ALLOC), 0);
        free(blocks);
}

static void pitched_memory_counts_pitch_times_height(void **state)
{
        CUdeviceptr a;
        size_t pitch;

        assert_ok(cuMemAllocPitch_v2(&a, &pitch, 1000, 33, 4));
        assert_true(pitch >= 1000 && pitch % 512 == 0);
        assert_int_equal(stage_granted(0, FAMILY_ALLOC), pitch * 33);
        assert_ok(cuMemFree_v2(a));
        assert_int_equal(cuMemAllocPitch_v2(&a, &pitch, 1000, 33, 5), CUDA_ERROR_INVALID_VALUE);
}

static void managed_memory_may_exceed_the_device_and_gives_way(void **state)
{
        CUdeviceptr managed, plain;
        size_t left, total;
        CUmemLocation here = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 };
        int where;

        assert_ok(cuMemAllocManaged(&managed, 2 * GIB, CU_MEM_ATTACH_GLOBAL));
        assert_int_equal(stage_granted(0, FAMILY_MANAGED), 2 * GIB);
        assert_ok(cuMemGetInfo_v2(&left, &total));
        assert_int_equal(left, 0);
        assert_ok(cuMemAlloc_v2(&plain, 64 * MIB));
        assert_ok(cuMemAdvise_v2(managed, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, here));
        assert_ok(cuMemRangeGetAttribute(&where, sizeof(where),
                                         CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, managed, 4096));
        assert_int_equal(where, 1);
        assert_ok(cuMemFree_v2(plain));
        assert_ok(cuMemFree_v2(managed));
        assert_int_equal(stage_granted(0, FAMILY_MANAGED), 0);
}

static void an_array_counts_what_its_requirements_say(void **state)
{
        CUDA_ARRAY3D_DESCRIPTOR cube = { 100, 50, 20, CU_AD_FORMAT_FLOAT, 4, 0 };
        CUDA_ARRAY3D_DESCRIPTOR back;
        CUDA_ARRAY_MEMORY_REQUIREMENTS needs;
        CUarray array;

        assert_ok(cuArray3DCreate_v2(&array, &cube));
        assert_ok(cuArrayGetMemoryRequirements(&needs, array, 0));
        assert_true(needs.size >= 100 * 50 * 20 * 16);
        assert_int_equal(stage_granted(0, FAMILY_ARRAY), needs.size);
        assert_ok(cuArray3DGetDescriptor_v2(&back, array));
        assert_memory_equal(&back, &cube, sizeof(cube));
        assert_ok(cuArrayDestroy(array));
        assert_int_equal(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
        assert_int_equal(stage_granted(0, FAMILY_ARRAY), 0);
        cube.NumChannels = 3;
        assert_int_equal(cuArray3DCreate_v2(&array, &cube), CUDA_ERROR_INVALID_VALUE);
}

static void a_mipmap_counts_once_and_its_levels_halve(void **state)
{
        CUDA_ARRAY3D_DESCRIPTOR flat = { 256, 64, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0 };
        CUDA_ARRAY_MEMORY_REQUIREMENTS needs;
        CUDA_ARRAY_DESCRIPTOR third;
        CUmipmappedArray mipmap;
        CUarray level;

        assert_ok(cuMipmappedArrayCreate(&mipmap, &flat, 4));
        assert_ok(cuMipmappedArrayGetMemoryRequirements(&needs, mipmap, 0));
        assert_int_equal(stage_granted(0, FAMILY_ARRAY), needs.size);
        assert_ok(cuMipmappedArrayGetLevel(&level, mipmap, 2));
        assert_ok(cuArrayGetDescriptor_v2(&third, level));
        assert_int_equal(third.Width, 64);
        assert_int_equal(third.Height, 16);
        assert_int_equal(cuMipmappedArrayGetLevel(&level, mipmap, 4), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuArrayDestroy(level), CUDA_ERROR_INVALID_HANDLE);
        assert_ok(cuMipmappedArrayDestroy(mipmap));
        assert_int_equal(stage_granted(0, FAMILY_ARRAY), 0);
}

static void pinned_host_memory_takes_nothing_of_a_device(void **state)
{
        uint64_t before = stage_device_current(0);
        void *pinned, *own;
        CUdeviceptr address;
        unsigned type, flags;

        assert_ok(cuMemHostAlloc(&pinned, 10000, CU_MEMHOSTALLOC_PORTABLE));
        memset(pinned, 3, 10000);
        assert_ok(cuMemHostGetDevicePointer_v2(&address, pinned, 0));
        assert_int_equal(address, (uintptr_t)pinned);
        assert_ok(cuMemHostGetFlags(&flags, pinned));
        assert_true(flags & CU_MEMHOSTALLOC_PORTABLE);
        assert_ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 100));
        assert_int_equal(type, CU_MEMORYTYPE_HOST);
        own = malloc(3 * MIB);
        assert_ok(cuMemHostRegister_v2(own, 3 * MIB, 0));
        assert_int_equal(cuMemHostRegister_v2((char *)own + 4096, 4096, 0),
                         CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        assert_int_equal(stage_device_current(0), before);
        assert_ok(cuMemHostUnregister(own));
        assert_int_equal(cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        assert_ok(cuMemFreeHost(pinned));
        assert_int_equal(cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
        free(own);
}

static void pointer_attributes_tell_whose_it_is(void **state)
{
        CUdeviceptr a;
        CUcontext owner;
        unsigned type;
        int ordinal, unknown_ordinal = 5;
        size_t bytes;
        void *out[] = { &type, &unknown_ordinal };
        CUpointer_attribute asked[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL };

        assert_ok(cuMemAlloc_v2(&a, 777));
        assert_ok(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, a + 5));
        assert_ptr_equal(owner, context);
        assert_ok(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, a));
        assert_int_equal(ordinal, 0);
        assert_ok(cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, a));
        assert_int_equal(bytes, 777);
        assert_int_equal(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                               (CUdeviceptr)(uintptr_t)&a),
                         CUDA_ERROR_INVALID_VALUE);
        assert_ok(cuPointerGetAttributes(2, asked, out, (CUdeviceptr)(uintptr_t)&a));
        assert_int_equal(type, 0);
        assert_int_equal(unknown_ordinal, CU_DEVICE_INVALID);
        assert_ok(cuMemFree_v2(a));
}

static void a_context_takes_its_constant_and_returns_all_it_held(void **state)
{
        uint64_t before = stage_device_current(1);
        CUcontext other;
        CUdeviceptr a;
        CUarray array;
        CUDA_ARRAY_DESCRIPTOR flat = { 64, 64, CU_AD_FORMAT_FLOAT, 1 };

        assert_ok(cuCtxCreate_v2(&other, 0, 1));
        assert_int_equal(stage_granted(1, FAMILY_CONTEXT), 100 * MIB);
        assert_ok(cuMemAlloc_v2(&a, 5 * MIB));
        assert_ok(cuArrayCreate_v2(&array, &flat));
        assert_ok(cuCtxDestroy_v2(other));
        assert_int_equal(stage_device_current(1), before);
        assert_int_equal(cuCtxSetCurrent(other), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        assert_int_equal(cuCtxDestroy_v2(other), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

static void primary_contexts_count_retains(void **state)
{
        CUcontext first, second;
        unsigned flags;
        int is_active;

        assert_ok(cuDevicePrimaryCtxRetain(&first, 1));
        assert_ok(cuDevicePrimaryCtxRetain(&second, 1));
        assert_ptr_equal(first, second);
        assert_int_equal(stage_granted(1, FAMILY_CONTEXT), 100 * MIB);
        assert_ok(cuDevicePrimaryCtxRelease_v2(1));
        assert_ok(cuDevicePrimaryCtxGetState(1, &flags, &is_active));
        assert_true(is_active);
        assert_ok(cuDevicePrimaryCtxRelease_v2(1));
        assert_ok(cuDevicePrimaryCtxGetState(1, &flags, &is_active));
        assert_false(is_active);
        assert_int_equal(stage_granted(1, FAMILY_CONTEXT), 0);
        assert_int_equal(cuDevicePrimaryCtxRelease_v2(1), CUDA_ERROR_INVALID_CONTEXT);
}

/* All that it had is gone, though the handle is what it was. */
static void a_primary_context_comes_back_under_its_handle(void **state)
{
        CUcontext first, second;
        unsigned long long id, later_id;
        CUstream stream;
        CUevent event;
        CUmodule module;
        CUdeviceptr a, b;
        size_t heap;

        for (int is_reset = 0; is_reset < 2; is_reset++) {
                assert_ok(cuDevicePrimaryCtxRetain(&first, 1));
                assert_ok(cuCtxPushCurrent_v2(first));
                assert_ok(cuCtxGetId(first, &id));
                assert_ok(cuMemAlloc_v2(&a, 5 * MIB));
                assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
                assert_ok(cuEventCreate(&event, 0));
                assert_ok(cuEventRecord(event, stream));
                assert_ok(cuModuleLoadData(&module, "aliquot-sim builtin"));
                assert_ok(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 32 * MIB));
                assert_ok(is_reset ? cuDevicePrimaryCtxReset_v2(1)
                                   : cuDevicePrimaryCtxRelease_v2(1));
                assert_int_equal(stage_device_current(1), 0);
                assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
                assert_int_equal(cuEventQuery(event), CUDA_ERROR_CONTEXT_IS_DESTROYED);
                assert_ok(cuCtxSetCurrent(first));
                assert_int_equal(cuMemAlloc_v2(&b, 1), CUDA_ERROR_CONTEXT_IS_DESTROYED);

                assert_ok(cuDevicePrimaryCtxRetain(&second, 1));
                assert_ptr_equal(first, second);
                assert_int_equal(stage_device_current(1), 100 * MIB);
                assert_ok(cuCtxSynchronize()); /* it is still current */
                assert_ok(cuCtxGetId(second, &later_id));
                assert_int_not_equal(id, later_id);
                assert_ok(cuCtxGetLimit(&heap, CU_LIMIT_MALLOC_HEAP_SIZE));
                assert_int_equal(heap, 8 * MIB);

                assert_int_equal(cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE);
                assert_int_equal(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
                assert_int_equal(cuEventQuery(event), CUDA_ERROR_CONTEXT_IS_DESTROYED);
                assert_int_equal(cuEventRecord(event, NULL), CUDA_ERROR_CONTEXT_IS_DESTROYED);
                assert_int_equal(cuStreamWaitEvent(NULL, event, 0),
                                 CUDA_ERROR_CONTEXT_IS_DESTROYED);
                assert_int_equal(cuEventDestroy_v2(event), CUDA_ERROR_CONTEXT_IS_DESTROYED);
                assert_int_equal(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
                assert_ok(cuCtxPopCurrent_v2(NULL));
                assert_ok(cuDevicePrimaryCtxRelease_v2(1));
        }
}

/* Whoever retains it while it ends waits for the end. */
static void *retain_often(void *failed)
{
        CUcontext primary;

        for (int i = 0; i < 200; i++) {
                if (cuDevicePrimaryCtxRetain(&primary, 1) != CUDA_SUCCESS)
                        return failed;
                cuDevicePrimaryCtxRelease_v2(1);
        }
        return NULL;
}

static void a_primary_context_is_retained_while_it_is_reset(void **state)
{
        pthread_t threads[2];
        void *failed;

        for (unsigned i = 0; i < 2; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, retain_often, &failed), 0);
        for (int i = 0; i < 200; i++)
                assert_ok(cuDevicePrimaryCtxReset_v2(1));
        for (unsigned i = 0; i < 2; i++) {
                pthread_join(threads[i], &failed);
                assert_null(failed);
        }
        assert_ok(cuDevicePrimaryCtxReset_v2(1));
        assert_int_equal(stage_device_current(1), 0);
}

static void each_call_without_a_context_says_so(void **state)
{
        CUdeviceptr a;
        CUcontext was;
        size_t left, total;

        assert_ok(cuCtxPopCurrent_v2(&was));
        assert_int_equal(cuMemAlloc_v2(&a, 1), CUDA_ERROR_INVALID_CONTEXT);
        assert_int_equal(cuMemGetInfo_v2(&left, &total), CUDA_ERROR_INVALID_CONTEXT);
        assert_int_equal(cuCtxPopCurrent_v2(NULL), CUDA_ERROR_INVALID_CONTEXT);
        assert_ok(cuCtxPushCurrent_v2(was));
}

static void a_checkpointed_process_holds_nothing(void **state)
{
        CUdeviceptr a;
        CUprocessState now;
        uint64_t before;

        assert_ok(cuMemAlloc_v2(&a, 9 * MIB));
        memset((void *)(uintptr_t)a, 0x5a, 9 * MIB);
        before = stage_device_current(0);
        assert_int_equal(cuCheckpointProcessCheckpoint(getpid(), NULL), CUDA_ERROR_ILLEGAL_STATE);
        assert_ok(cuCheckpointProcessLock(getpid(), NULL));
        assert_ok(cuCheckpointProcessCheckpoint(getpid(), NULL));
        assert_int_equal(stage_device_current(0), 0);
        assert_ok(cuCheckpointProcessGetState(getpid(), &now));
        assert_int_equal(now, CU_PROCESS_STATE_CHECKPOINTED);
        assert_ok(cuCheckpointProcessRestore(getpid(), NULL));
        assert_ok(cuCheckpointProcessUnlock(getpid(), NULL));
        assert_int_equal(stage_device_current(0), before);
        assert_int_equal(*(unsigned char *)(uintptr_t)(a + MIB), 0x5a);
        assert_ok(cuMemFree_v2(a));
}

static uint64_t address_space(void)
{
        unsigned long pages = 0;
        FILE *file = fopen("/proc/self/statm", "re");

        assert_non_null(file);
        assert_int_equal(fscanf(file, "%lu", &pages), 1);
        fclose(file);
        return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* An emulator may keep no limit of the address space. */
static bool is_limit_kept(void)
{
        struct rlimit usual, tight;
        void *more;

        assert_int_equal(getrlimit(RLIMIT_AS, &usual), 0);
        tight = usual;
        tight.rlim_cur = address_space() + GIB;
        assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
        more = mmap(NULL, 2 * GIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        assert_int_equal(setrlimit(RLIMIT_AS, &usual), 0);
        if (more != MAP_FAILED)
                munmap(more, 2 * GIB);
        return more == MAP_FAILED;
}

/* There is room for the mapping that is tried first, and none for what goes with it: a smaller one
 * does, and nothing is left of the first. */
static void address_space_that_does_not_suffice_is_given_back(void **state)
{
        struct rlimit usual, tight;
        CUcontext second;
        uint64_t before;
        CUdeviceptr a;

        if (!is_limit_kept())
                skip();
        assert_ok(cuCtxCreate_v2(&second, 0, 1));
        assert_int_equal(getrlimit(RLIMIT_AS, &usual), 0);
        before = address_space();
        tight = usual;
        tight.rlim_cur = before + 64 * GIB + 2 * MIB + MIB / 4;
        assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
        assert_ok(cuMemAlloc_v2(&a, 3 * MIB));
        assert_int_equal(setrlimit(RLIMIT_AS, &usual), 0);
        assert_true(address_space() < before + 33 * GIB);
        memset((void *)(uintptr_t)a, 0x5a, 3 * MIB);
        assert_ok(cuMemFree_v2(a));
        assert_ok(cuCtxDestroy_v2(second));
        assert_ok(cuCtxSetCurrent(context));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(address_space_that_does_not_suffice_is_given_back),
                cmocka_unit_test(plain_memory_counts_the_bytes_asked_for),
                cmocka_unit_test(a_block_is_freed_once_and_only_at_its_start),
                cmocka_unit_test(the_device_holds_exactly_its_memory),
                cmocka_unit_test(many_small_blocks_keep_their_own_bytes),
                cmocka_unit_test(pitched_memory_counts_pitch_times_height),
                cmocka_unit_test(managed_memory_may_exceed_the_device_and_gives_way),
                cmocka_unit_test(an_array_counts_what_its_requirements_say),
                cmocka_unit_test(a_mipmap_counts_once_and_its_levels_halve),
                cmocka_unit_test(pinned_host_memory_takes_nothing_of_a_device),
                cmocka_unit_test(pointer_attributes_tell_whose_it_is),
                cmocka_unit_test(a_context_takes_its_constant_and_returns_all_it_held),
                cmocka_unit_test(primary_contexts_count_retains),
                cmocka_unit_test(a_primary_context_comes_back_under_its_handle),
                cmocka_unit_test(a_primary_context_is_retained_while_it_is_reset),
                cmocka_unit_test(each_call_without_a_context_says_so),
                cmocka_unit_test(a_checkpointed_process_holds_nothing),
        };

        return cmocka_run_group_tests(tests, setup, stage_close);
}
