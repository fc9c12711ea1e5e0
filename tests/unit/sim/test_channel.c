/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that share hardware queues: what is behind in a queue begins after what is before it,
 * whatever the streams are. In virtual time, with launches of 1 us and two queues.
 */
#include "exec_stage.h"

#define US UINT64_C(1000)
#define LAUNCH 1

/* The default stream was the first of the context. */
static CUstream odd[2], even[2];
static uint32_t *word;
static uint64_t began_ns;

static int open_stage(void **state)
{
        stage_open(",clock=virtual,queues=2");
        for (int i = 0; i < 2; i++) {
                ok(cuStreamCreate(&odd[i], CU_STREAM_NON_BLOCKING));
                ok(cuStreamCreate(&even[i], CU_STREAM_NON_BLOCKING));
        }
        ok(cuMemHostAlloc((void **)&word, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
        return 0;
}

static int begin(void **state)
{
        ok(cuCtxSynchronize());
        *word = 0;
        began_ns = stage_now_ns();
        return 0;
}

/* How long after the beginning the stream was done, in us. */
static uint64_t done_us(CUstream stream)
{
        ok(cuStreamSynchronize(stream));
        return (stage_now_ns() - began_ns) / US;
}

static void kernels_of_one_queue_overlap(void **state)
{
        stage_spin(odd[0], 100 * US);
        stage_spin(odd[1], 100 * US);
        assert_int_equal(done_us(odd[0]), LAUNCH + 100);
        assert_int_equal(done_us(odd[1]), 2 * LAUNCH + 100);
}

static void a_kernel_begins_behind_those_before_it_in_the_queue(void **state)
{
        stage_spin(odd[0], 100 * US);
        stage_spin(odd[0], 100 * US);
        stage_spin(odd[1], 20 * US);
        assert_int_equal(done_us(odd[1]), LAUNCH + 100 + 20);
        assert_int_equal(done_us(odd[0]), LAUNCH + 200);
}

static void another_queue_is_not_held_up(void **state)
{
        stage_spin(odd[0], 100 * US);
        stage_spin(odd[0], 100 * US);
        stage_spin(even[0], 20 * US);
        assert_int_equal(done_us(even[0]), 3 * LAUNCH + 20);
        ok(cuStreamSynchronize(odd[0]));
}

static void one_that_waits_holds_up_its_queue(void **state)
{
        CUevent event;

        ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        stage_spin(even[0], 300 * US);
        ok(cuEventRecord(event, even[0]));
        ok(cuStreamWaitEvent(odd[0], event, 0));
        stage_spin(odd[1], 20 * US);
        assert_int_equal(done_us(odd[1]), LAUNCH + 300 + 20);
        ok(cuEventDestroy_v2(event));
}

static void a_stream_that_goes_away_takes_nobody_along(void **state)
{
        CUstream more[2];

        for (int i = 0; i < 2; i++)
                ok(cuStreamCreate(&more[i], CU_STREAM_NON_BLOCKING));
        ok(cuStreamWaitValue32_v2(more[0], (CUdeviceptr)word, 1, CU_STREAM_WAIT_VALUE_GEQ));
        stage_spin(more[0], 10 * US);
        ok(cuStreamDestroy_v2(more[0]));
        stage_spin(odd[0], 10 * US);
        stage_spin(even[0], 10 * US);
        *word = 1;
        ok(cuStreamSynchronize(odd[0]));
        ok(cuStreamSynchronize(even[0]));
        ok(cuStreamDestroy_v2(more[1]));
}

static void a_failed_context_is_left_behind(void **state)
{
        uint64_t nowhere = 64, count = 16;
        void *params[] = { &nowhere, &(uint32_t){ 1 }, &count };

        ok(cuLaunchKernel(stage.fill, 1, 1, 1, 1, 1, 1, 0, odd[0], params, NULL));
        stage_spin(odd[0], 10 * US);
        stage_spin(odd[1], 10 * US);
        assert_int_equal(cuStreamSynchronize(odd[1]), CUDA_ERROR_ILLEGAL_ADDRESS);
        ok(cuDevicePrimaryCtxReset_v2(0));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(kernels_of_one_queue_overlap, begin),
                cmocka_unit_test_setup(a_kernel_begins_behind_those_before_it_in_the_queue, begin),
                cmocka_unit_test_setup(another_queue_is_not_held_up, begin),
                cmocka_unit_test_setup(one_that_waits_holds_up_its_queue, begin),
                cmocka_unit_test_setup(a_stream_that_goes_away_takes_nobody_along, begin),
                cmocka_unit_test_setup(a_failed_context_is_left_behind, begin),
        };

        return cmocka_run_group_tests(tests, open_stage, stage_close);
}
