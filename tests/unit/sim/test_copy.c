/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and fills move the bytes they should and no others, whatever form they are asked in; and
 * refuse what does not fit before anything is touched.
 */
#include "exec_stage.h"

#include <stdatomic.h>

#define WORDS 1024
#define BYTES (WORDS * sizeof(uint32_t))

static uint32_t host[WORDS], result[WORDS];

uint64_t aliquot_sim_busy_ns(const unsigned char uuid[16]); /* node/meter_export.c */

static int number_host(void **state)
{
        for (uint32_t i = 0; i < WORDS; i++) {
                host[i] = i * 2654435761u;
                result[i] = 0;
        }
        return 0;
}

static void linear_copies_go_round(void **state)
{
        CUdeviceptr a = stage_alloc(BYTES), b = stage_alloc(BYTES);

        ok(cuMemcpyHtoD_v2(a, host, BYTES));
        ok(cuMemcpyDtoD_v2(b, a, BYTES));
        ok(cuMemcpyDtoH_v2(result, b, BYTES));
        assert_memory_equal(host, result, BYTES);
        ok(cuMemsetD8_v2(b, 0xab, BYTES));
        ok(cuMemcpy(b + 4, (CUdeviceptr)host, BYTES - 8));
        ok(cuMemcpy((CUdeviceptr)result, b, BYTES));
        assert_int_equal(result[0], 0xabababab);
        assert_int_equal(result[WORDS - 1], 0xabababab);
        assert_memory_equal(host, result + 1, BYTES - 8);
        ok(cuMemFree_v2(a));
        ok(cuMemFree_v2(b));
}

static void what_does_not_fit_is_refused(void **state)
{
        CUdeviceptr a = stage_alloc(BYTES);

        assert_int_equal(cuMemcpyHtoD_v2(a, host, BYTES + 1), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuMemcpyHtoD_v2(a + 1, host, BYTES), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuMemcpyDtoH_v2(result, 0, 4), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuMemcpyHtoD_v2((CUdeviceptr)result, host, 4), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuMemsetD32_v2(a, 0, WORDS + 1), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuMemsetD32_v2(a + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
        ok(cuMemcpyHtoD_v2(a, host, 0));
        ok(cuMemFree_v2(a));
        assert_int_equal(cuMemcpyHtoD_v2(a, host, 4), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuMemcpy(a, (CUdeviceptr)host, 4), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuMemcpy((CUdeviceptr)result, a, 4), CUDA_ERROR_INVALID_VALUE);
}

static void fills_of_every_width(void **state)
{
        CUdeviceptr a = stage_alloc(BYTES);

        ok(cuMemsetD32_v2(a, 1, WORDS));
        ok(cuMemsetD8_v2(a, 0x11, 4));
        ok(cuMemsetD16_v2(a + 4, 0x2222, 2));
        ok(cuMemsetD2D32_v2(a + 64, 64, 0x33333333, 2, 3));
        ok(cuMemsetD2D8Async(a + 512, 16, 0x44, 4, 2, NULL));
        ok(cuMemsetD16Async(a + 640, 0x5555, 2, CU_STREAM_PER_THREAD));
        ok(cuCtxSynchronize());
        ok(cuMemcpyDtoH_v2(result, a, BYTES));
        assert_int_equal(result[0], 0x11111111);
        assert_int_equal(result[1], 0x22222222);
        assert_int_equal(result[2], 1);
        for (int row = 0; row < 3; row++) {
                assert_int_equal(result[16 + 16 * row], 0x33333333);
                assert_int_equal(result[17 + 16 * row], 0x33333333);
                assert_int_equal(result[18 + 16 * row], 1);
        }
        assert_int_equal(result[128], 0x44444444);
        assert_int_equal(result[129], 1);
        assert_int_equal(result[132], 0x44444444);
        assert_int_equal(result[160], 0x55555555);
        ok(cuMemFree_v2(a));
}

static void boxes_keep_their_pitch(void **state)
{
        CUDA_MEMCPY2D flat = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                               .srcHost = host,
                               .srcPitch = 128,
                               .srcXInBytes = 8,
                               .srcY = 1,
                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                               .WidthInBytes = 16,
                               .Height = 4 };
        size_t pitch;

        ok(cuMemAllocPitch_v2(&flat.dstDevice, &pitch, 64, 8, 4));
        flat.dstPitch = pitch;
        flat.dstXInBytes = 4;
        ok(cuMemsetD8_v2(flat.dstDevice, 0, pitch * 8));
        ok(cuMemcpy2D_v2(&flat));
        for (unsigned row = 0; row < 4; row++) {
                ok(cuMemcpyDtoH_v2(result, flat.dstDevice + row * pitch, 32));
                assert_int_equal(result[0], 0);
                assert_memory_equal(result + 1, host + 32 * (row + 1) + 2, 16);
                assert_int_equal(result[5], 0);
        }
        flat.srcPitch = 8;
        assert_int_equal(cuMemcpy2D_v2(&flat), CUDA_ERROR_INVALID_VALUE);
        ok(cuMemFree_v2(flat.dstDevice));
}

static void arrays_take_boxes(void **state)
{
        CUDA_ARRAY3D_DESCRIPTOR shape = { 8, 4, 3, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0 };
        CUDA_MEMCPY3D in = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                             .srcHost = host,
                             .srcPitch = 32,
                             .srcHeight = 4,
                             .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                             .WidthInBytes = 32,
                             .Height = 4,
                             .Depth = 3 };
        CUDA_MEMCPY3D out = { .srcMemoryType = CU_MEMORYTYPE_ARRAY,
                              .srcXInBytes = 4,
                              .srcY = 1,
                              .srcZ = 2,
                              .dstMemoryType = CU_MEMORYTYPE_HOST,
                              .dstHost = result,
                              .dstPitch = 16,
                              .dstHeight = 2,
                              .WidthInBytes = 16,
                              .Height = 2,
                              .Depth = 1 };

        ok(cuArray3DCreate_v2(&in.dstArray, &shape));
        out.srcArray = in.dstArray;
        ok(cuMemcpy3D_v2(&in));
        ok(cuMemcpy3D_v2(&out));
        assert_memory_equal(result, host + 64 + 8 + 1, 16);
        assert_memory_equal(result + 4, host + 64 + 16 + 1, 16);
        in.Depth = 4;
        assert_int_equal(cuMemcpy3D_v2(&in), CUDA_ERROR_INVALID_VALUE);
        out.srcXInBytes = 20;
        assert_int_equal(cuMemcpy3D_v2(&out), CUDA_ERROR_INVALID_VALUE);
        ok(cuArrayDestroy(in.dstArray));
        assert_int_not_equal(cuMemcpy3D_v2(&out), CUDA_SUCCESS);
}

static void one_dimensional_arrays_take_bytes(void **state)
{
        CUDA_ARRAY_DESCRIPTOR shape = { 64, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4 };
        CUdeviceptr a = stage_alloc(256);
        CUarray one, two;

        ok(cuArrayCreate_v2(&one, &shape));
        ok(cuArrayCreate_v2(&two, &shape));
        ok(cuMemcpyHtoA_v2(one, 0, host, 256));
        ok(cuMemcpyAtoA_v2(two, 16, one, 0, 64));
        ok(cuMemcpyAtoD_v2(a, two, 16, 64));
        ok(cuMemcpyDtoA_v2(one, 128, a, 64));
        ok(cuMemcpyAtoH_v2(result, one, 128, 64));
        assert_memory_equal(result, host, 64);
        assert_int_equal(cuMemcpyAtoH_v2(result, one, 200, 64), CUDA_ERROR_INVALID_VALUE);
        ok(cuArrayDestroy(one));
        ok(cuArrayDestroy(two));
        ok(cuMemFree_v2(a));
}

static void a_copy_crosses_devices(void **state)
{
        CUdeviceptr here = stage_alloc(BYTES), there;
        CUcontext other;

        ok(cuDevicePrimaryCtxRetain(&other, 1));
        ok(cuCtxPushCurrent_v2(other));
        ok(cuMemAlloc_v2(&there, BYTES));
        ok(cuCtxPopCurrent_v2(NULL));
        ok(cuMemcpyHtoD_v2(here, host, BYTES));
        ok(cuMemcpyPeer(there, other, here, stage.context, BYTES));
        ok(cuMemsetD8_v2(here, 0, BYTES));
        ok(cuMemcpyDtoD_v2(here, there, BYTES));
        ok(cuMemcpyDtoH_v2(result, here, BYTES));
        assert_memory_equal(host, result, BYTES);
        assert_int_not_equal(cuMemcpyPeer(there, NULL, here, stage.context, 4), CUDA_SUCCESS);
        ok(cuMemFree_v2(here));
        ok(cuMemFree_v2(there));
        ok(cuDevicePrimaryCtxRelease_v2(1));
}

/* From pinned memory a copy waits in the stream; pageable memory is read before the call returns.
 */
static void pinned_copies_are_asynchronous(void **state)
{
        CUdeviceptr a = stage_alloc(64);
        uint32_t *gate, *pinned;
        CUstream stream;

        ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        ok(cuMemAllocHost_v2((void **)&gate, 64));
        ok(cuMemAllocHost_v2((void **)&pinned, 64));
        *gate = 0;
        *pinned = 1;
        ok(cuStreamWaitValue32_v2(stream, (CUdeviceptr)gate, 1, CU_STREAM_WAIT_VALUE_GEQ));
        ok(cuMemcpyHtoDAsync_v2(a, pinned, 4, stream));
        *pinned = 2;
        atomic_store((_Atomic uint32_t *)gate, 1);
        ok(cuStreamSynchronize(stream));
        assert_int_equal(stage_word(a, 0), 2);
        ok(cuMemcpyHtoDAsync_v2(a, host, 64, stream));
        host[0] = 99;
        ok(cuStreamSynchronize(stream));
        assert_int_equal(stage_word(a, 0), 0);
        ok(cuMemFreeHost(gate));
        ok(cuMemFreeHost(pinned));
        ok(cuStreamDestroy_v2(stream));
        ok(cuMemFree_v2(a));
}

static void a_batch_says_which_copy_failed(void **state)
{
        CUdeviceptr a = stage_alloc(64);
        CUdeviceptr to[2] = { a, a + 32 }, from[2] = { (CUdeviceptr)host, (CUdeviceptr)(host + 8) };
        CUmemcpyAttributes attributes = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
        size_t sizes[2] = { 32, 32 }, index = 0, failed = 77;
        CUstream stream;

        ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        ok(cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, &index, 1, &failed, stream));
        ok(cuStreamSynchronize(stream));
        ok(cuMemcpyDtoH_v2(result, a, 64));
        assert_memory_equal(result, host, 64);
        sizes[1] = 64;
        assert_int_equal(
                cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, &index, 1, &failed, stream),
                CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(failed, 1);
        assert_int_equal(
                cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, &index, 1, &failed, NULL),
                CUDA_ERROR_INVALID_VALUE);
        assert_true(failed == SIZE_MAX);
        ok(cuStreamDestroy_v2(stream));
        ok(cuMemFree_v2(a));
}

/* The model's links: 64 MiB at 1 GB/s is 67.1 ms of device time, however fast the host is. */
static void a_link_has_its_speed(void **state)
{
        size_t bytes = (size_t)64 << 20;
        CUdeviceptr a = stage_alloc(bytes);
        CUevent start, end;
        void *pinned;
        float ms;

        ok(cuMemAllocHost_v2(&pinned, bytes));
        ok(cuEventCreate(&start, 0));
        ok(cuEventCreate(&end, 0));
        ok(cuEventRecord(start, NULL));
        ok(cuMemcpyHtoDAsync_v2(a, pinned, bytes, NULL));
        ok(cuEventRecord(end, NULL));
        ok(cuEventSynchronize(end));
        ok(cuEventElapsedTime(&ms, start, end));
        assert_true(ms >= 67.0f);
        ok(cuEventDestroy_v2(start));
        ok(cuEventDestroy_v2(end));
        ok(cuMemFreeHost(pinned));
        ok(cuMemFree_v2(a));
}

static uint64_t busy_ns(void)
{
        CUuuid uuid;

        ok(cuCtxSynchronize());
        ok(cuDeviceGetUuid(&uuid, 0));
        return aliquot_sim_busy_ns((const unsigned char *)uuid.bytes);
}

/* 64 KiB at 1 GB/s are 65.5 us of it; a link takes none, and an array is on the device. */
static void what_is_copied_within_a_device_is_its_engines_work(void **state)
{
        CUDA_ARRAY_DESCRIPTOR words = { .Width = 16384,
                                        .Format = CU_AD_FORMAT_UNSIGNED_INT32,
                                        .NumChannels = 1 };
        size_t bytes = 65536;
        CUdeviceptr a = stage_alloc(bytes), b = stage_alloc(bytes);
        uint64_t before_ns = busy_ns();
        CUarray array;
        void *pinned;

        ok(cuArrayCreate_v2(&array, &words));
        ok(cuMemAllocHost_v2(&pinned, bytes));
        ok(cuMemcpyHtoDAsync_v2(a, pinned, bytes, NULL));
        ok(cuMemcpyHtoA_v2(array, 0, pinned, bytes));
        assert_true(busy_ns() == before_ns);
        ok(cuMemcpyAsync(b, a, bytes, NULL));
        assert_true(busy_ns() >= before_ns + 65000);
        ok(cuMemcpyAtoD_v2(a, array, 0, bytes));
        assert_true(busy_ns() >= before_ns + 130000);
        ok(cuArrayDestroy(array));
        ok(cuMemFreeHost(pinned));
        ok(cuMemFree_v2(a));
        ok(cuMemFree_v2(b));
}

static int open_all(void **state)
{
        stage_open(",host=1GB/s,device=1GB/s");
        return 0;
}

#define story(name) cmocka_unit_test_setup(name, number_host)

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(linear_copies_go_round),
                story(what_does_not_fit_is_refused),
                story(fills_of_every_width),
                story(boxes_keep_their_pitch),
                story(arrays_take_boxes),
                story(one_dimensional_arrays_take_bytes),
                story(a_copy_crosses_devices),
                story(pinned_copies_are_asynchronous),
                story(a_batch_says_which_copy_failed),
                story(a_link_has_its_speed),
                story(what_is_copied_within_a_device_is_its_engines_work),
        };

        return cmocka_run_group_tests(tests, open_all, stage_close);
}
