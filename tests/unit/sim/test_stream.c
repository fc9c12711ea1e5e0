/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams and events: what waits for what, and what time it took.
 */
#include "exec_stage.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static void open_gate(CUdeviceptr gate)
{
        atomic_store((_Atomic uint32_t *)gate, 1);
}

/* A word that a stream can wait for and the test can write. */
static CUdeviceptr make_gate(void)
{
        uint32_t *gate;

        ok(cuMemHostAlloc((void **)&gate, 64, CU_MEMHOSTALLOC_DEVICEMAP));
        *gate = 0;
        return (CUdeviceptr)gate;
}

static void work_in_a_stream_is_in_order(void **state)
{
        CUdeviceptr to = stage_alloc(64);
        CUstream stream;

        ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        for (uint32_t i = 1; i <= 3000; i++)
                stage_fill(stream, to, i, 16);
        ok(cuStreamSynchronize(stream));
        assert_int_equal(stage_word(to, 15), 3000);
        ok(cuStreamDestroy_v2(stream));
        ok(cuMemFree_v2(to));
}

static void a_stream_is_asynchronous(void **state)
{
        CUdeviceptr gate = make_gate();
        CUstream stream;

        ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        ok(cuStreamQuery(stream));
        ok(cuStreamWaitValue32_v2(stream, gate, 1, CU_STREAM_WAIT_VALUE_EQ));
        assert_int_equal(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
        open_gate(gate);
        ok(cuStreamSynchronize(stream));
        ok(cuStreamQuery(stream));
        ok(cuStreamDestroy_v2(stream));
        ok(cuMemFreeHost((void *)gate));
}

/* As the real push buffer does, a stream takes a thousand launches before it holds up the caller.
 */
static void a_thousand_launches_do_not_block(void **state)
{
        CUdeviceptr gate = make_gate();
        CUstream stream;

        ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        ok(cuStreamWaitValue32_v2(stream, gate, 1, CU_STREAM_WAIT_VALUE_EQ));
        for (int i = 0; i < 1000; i++)
                stage_spin(stream, 0);
        open_gate(gate);
        ok(cuStreamSynchronize(stream));
        ok(cuStreamDestroy_v2(stream));
        ok(cuMemFreeHost((void *)gate));
}

static void an_event_orders_two_streams(void **state)
{
        CUdeviceptr gate = make_gate(), to = stage_alloc(64);
        CUstream first, second;
        CUevent event;

        ok(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
        ok(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
        ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        ok(cuEventQuery(event));
        ok(cuStreamWaitValue32_v2(first, gate, 1, CU_STREAM_WAIT_VALUE_GEQ));
        stage_fill(first, to, 1, 16);
        ok(cuEventRecord(event, first));
        ok(cuStreamWaitEvent(second, event, 0));
        stage_fill(second, to, 2, 16);
        assert_int_equal(cuEventQuery(event), CUDA_ERROR_NOT_READY);
        assert_int_equal(cuStreamQuery(second), CUDA_ERROR_NOT_READY);
        open_gate(gate);
        ok(cuStreamSynchronize(second));
        ok(cuEventQuery(event));
        assert_int_equal(stage_word(to, 0), 2);
        ok(cuEventDestroy_v2(event));
        ok(cuStreamDestroy_v2(first));
        ok(cuStreamDestroy_v2(second));
        ok(cuMemFree_v2(to));
        ok(cuMemFreeHost((void *)gate));
}

static void a_wait_is_for_the_record_of_its_time(void **state)
{
        CUdeviceptr gate = make_gate(), to = stage_alloc(64);
        CUstream first, second, other;
        CUevent event;

        ok(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
        ok(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
        ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
        ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        ok(cuStreamWaitValue32_v2(first, gate, 1, CU_STREAM_WAIT_VALUE_GEQ));
        stage_fill(first, to, 1, 16);
        for (int i = 0; i < 10; i++)
                ok(cuEventRecord(event, first));
        ok(cuStreamWaitEvent(second, event, 0));
        stage_fill(second, to, 2, 16);
        stage_spin(other, 1000);
        ok(cuEventRecord(event, other));
        ok(cuEventSynchronize(event));
        ok(cuStreamSynchronize(other));
        assert_int_equal(cuStreamQuery(second), CUDA_ERROR_NOT_READY);
        open_gate(gate);
        ok(cuStreamSynchronize(second));
        assert_int_equal(stage_word(to, 0), 2);
        ok(cuEventDestroy_v2(event));
        ok(cuStreamDestroy_v2(first));
        ok(cuStreamDestroy_v2(second));
        ok(cuStreamDestroy_v2(other));
        ok(cuMemFree_v2(to));
        ok(cuMemFreeHost((void *)gate));
}

/* The legacy default stream waits for blocking streams, and they for it; others do not care. */
static void the_legacy_stream_is_a_barrier(void **state)
{
        CUdeviceptr gate = make_gate(), to = stage_alloc(64);
        CUstream blocking, free_running;

        ok(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
        ok(cuStreamCreate(&free_running, CU_STREAM_NON_BLOCKING));
        ok(cuStreamWaitValue32_v2(blocking, gate, 1, CU_STREAM_WAIT_VALUE_GEQ));
        stage_fill(blocking, to, 1, 16);
        stage_fill(NULL, to, 2, 16);
        stage_spin(blocking, 1000);
        stage_spin(free_running, 1000);
        ok(cuStreamSynchronize(free_running));
        assert_int_equal(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
        open_gate(gate);
        ok(cuStreamSynchronize(NULL));
        assert_int_equal(stage_word(to, 0), 2);
        ok(cuStreamSynchronize(blocking));
        ok(cuStreamDestroy_v2(blocking));
        ok(cuStreamDestroy_v2(free_running));
        ok(cuMemFree_v2(to));
        ok(cuMemFreeHost((void *)gate));
}

static void work_given_later_waits_for_the_legacy_stream(void **state)
{
        CUdeviceptr gate = make_gate(), to = stage_alloc(64);
        CUstream blocking, free_running;

        ok(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
        ok(cuStreamCreate(&free_running, CU_STREAM_NON_BLOCKING));
        ok(cuStreamWaitValue32_v2(NULL, gate, 1, CU_STREAM_WAIT_VALUE_GEQ));
        stage_fill(NULL, to, 2, 16);
        stage_fill(blocking, to, 3, 16);
        /* Time enough for one that does not wait. */
        stage_spin(free_running, 20000000);
        ok(cuStreamSynchronize(free_running));
        assert_int_equal(cuStreamQuery(blocking), CUDA_ERROR_NOT_READY);
        open_gate(gate);
        ok(cuStreamSynchronize(blocking));
        assert_int_equal(stage_word(to, 0), 3);
        ok(cuStreamDestroy_v2(blocking));
        ok(cuStreamDestroy_v2(free_running));
        ok(cuMemFree_v2(to));
        ok(cuMemFreeHost((void *)gate));
}

static void *other_thread(void *argument)
{
        CUdeviceptr to = *(CUdeviceptr *)argument;
        uint32_t value = 7;
        uint64_t count = 16;
        void *params[] = { &to, &value, &count };
        unsigned long long id = 0;

        ok(cuCtxSetCurrent(stage.context));
        /* Another thread's per-thread stream is not held up by ours. */
        ok(cuLaunchKernel_ptsz(stage.fill, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        ok(cuStreamSynchronize_ptsz(NULL));
        ok(cuStreamGetId(CU_STREAM_PER_THREAD, &id));
        return (void *)(uintptr_t)id;
}

static void each_thread_has_its_own_default_stream(void **state)
{
        CUdeviceptr gate = make_gate(), to = stage_alloc(64);
        unsigned long long own = 0;
        pthread_t thread;
        void *other;

        ok(cuStreamWaitValue32_v2(CU_STREAM_PER_THREAD, gate, 1, CU_STREAM_WAIT_VALUE_GEQ));
        ok(cuStreamGetId(CU_STREAM_PER_THREAD, &own));
        assert_int_equal(pthread_create(&thread, NULL, other_thread, &to), 0);
        pthread_join(thread, &other);
        assert_int_not_equal(own, (uintptr_t)other);
        assert_int_equal(cuStreamQuery_ptsz(NULL), CUDA_ERROR_NOT_READY);
        open_gate(gate);
        ok(cuStreamSynchronize_ptsz(NULL));
        assert_int_equal(stage_word(to, 0), 7);
        ok(cuMemFree_v2(to));
        ok(cuMemFreeHost((void *)gate));
}

static void spin_takes_what_it_says(void **state)
{
        CUevent start, end;
        CUstream stream;
        float ms = 0;

        ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        ok(cuEventCreate(&start, 0));
        ok(cuEventCreate(&end, 0));
        ok(cuEventRecord(start, stream));
        for (int i = 0; i < 20; i++)
                stage_spin(stream, 500000);
        ok(cuEventRecord(end, stream));
        assert_int_equal(cuEventElapsedTime(&ms, start, end), CUDA_ERROR_NOT_READY);
        ok(cuEventSynchronize(end));
        ok(cuEventElapsedTime(&ms, start, end));
        assert_true(ms >= 10.0f && ms < 11.0f);
        ok(cuEventDestroy_v2(start));
        ok(cuEventDestroy_v2(end));
        ok(cuStreamDestroy_v2(stream));
}

static void elapsed_time_needs_two_timed_records(void **state)
{
        CUevent timed, untimed;
        float ms;

        ok(cuEventCreate(&timed, 0));
        ok(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
        assert_int_equal(cuEventElapsedTime(&ms, timed, timed), CUDA_ERROR_INVALID_HANDLE);
        ok(cuEventRecord(timed, NULL));
        ok(cuEventRecord(untimed, NULL));
        ok(cuEventSynchronize(untimed));
        assert_int_equal(cuEventElapsedTime(&ms, timed, untimed), CUDA_ERROR_INVALID_HANDLE);
        ok(cuEventElapsedTime(&ms, timed, timed));
        ok(cuEventDestroy_v2(timed));
        assert_int_equal(cuEventRecord(timed, NULL), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        ok(cuEventDestroy_v2(untimed));
}

static _Atomic int called;
static _Atomic int inner_result;

static void host_function(void *argument)
{
        atomic_store(&inner_result, (int)cuStreamQuery(NULL));
        atomic_fetch_add(&called, *(int *)argument);
}

static void callback(CUstream stream, CUresult status, void *argument)
{
        if (status == CUDA_SUCCESS)
                atomic_fetch_add(&called, *(int *)argument);
}

static void host_functions_run_in_order_and_may_not_call_back(void **state)
{
        int one = 1, ten = 10;
        CUstream stream;

        ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        ok(cuLaunchHostFunc(stream, host_function, &one));
        ok(cuStreamAddCallback(stream, callback, &ten, 0));
        ok(cuStreamSynchronize(stream));
        assert_int_equal(atomic_load(&called), 11);
        assert_int_equal(atomic_load(&inner_result), CUDA_ERROR_NOT_PERMITTED);
        assert_int_equal(cuLaunchHostFunc(stream, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuStreamAddCallback(stream, callback, &ten, 1), CUDA_ERROR_INVALID_VALUE);
        ok(cuStreamDestroy_v2(stream));
}

static void streams_know_themselves(void **state)
{
        unsigned long long id = 0, legacy = 0;
        CUcontext context = NULL;
        unsigned flags = 9;
        int priority = 9;
        CUdevice device = -1;
        CUstream stream;

        ok(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -100));
        ok(cuStreamGetPriority(stream, &priority));
        assert_int_equal(priority, -5);
        ok(cuStreamGetFlags(stream, &flags));
        assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
        ok(cuStreamGetCtx(stream, &context));
        assert_ptr_equal(context, stage.context);
        ok(cuStreamGetDevice(stream, &device));
        assert_int_equal(device, 0);
        ok(cuStreamGetId(stream, &id));
        ok(cuStreamGetId(NULL, &legacy));
        assert_int_not_equal(id, legacy);
        ok(cuStreamDestroy_v2(stream));
        assert_int_equal(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
        assert_int_equal(cuStreamCreate(&stream, 2), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuStreamDestroy_v2(NULL), CUDA_ERROR_INVALID_HANDLE);
}

static void a_destroyed_stream_finishes_its_work(void **state)
{
        CUdeviceptr gate = make_gate(), to = stage_alloc(64);
        CUstream stream;

        ok(cuMemsetD32_v2(to, 0, 16));
        ok(cuCtxSynchronize());
        ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        ok(cuStreamWaitValue32_v2(stream, gate, 1, CU_STREAM_WAIT_VALUE_GEQ));
        stage_fill(stream, to, 5, 16);
        ok(cuStreamDestroy_v2(stream));
        open_gate(gate);
        ok(cuCtxSynchronize());
        assert_int_equal(stage_word(to, 3), 5);
        ok(cuMemFree_v2(to));
        ok(cuMemFreeHost((void *)gate));
}

static void values_are_waited_for_and_written(void **state)
{
        CUdeviceptr gate = make_gate(), word = stage_alloc(64);
        CUstreamBatchMemOpParams batch[3] = { 0 };
        CUstream stream;
        uint64_t wide = 0;

        batch[0].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
        batch[0].waitValue.address = gate;
        batch[0].waitValue.value = 1;
        batch[0].waitValue.flags = CU_STREAM_WAIT_VALUE_AND;
        batch[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        batch[1].writeValue.address = word;
        batch[1].writeValue.value = 77;
        batch[2].memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
        ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        ok(cuStreamBatchMemOp_v2(stream, 3, batch, 0));
        ok(cuStreamWriteValue64_v2(stream, word + 8, 1ULL << 40, 0));
        assert_int_equal(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
        open_gate(gate);
        ok(cuStreamSynchronize(stream));
        assert_int_equal(stage_word(word, 0), 77);
        ok(cuMemcpyDtoH_v2(&wide, word + 8, 8));
        assert_true(wide == 1ULL << 40);
        assert_int_equal(cuStreamWriteValue32_v2(stream, word + 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuStreamWaitValue32_v2(stream, 64, 0, 0), CUDA_ERROR_INVALID_VALUE);
        ok(cuStreamDestroy_v2(stream));
        ok(cuMemFree_v2(word));
        ok(cuMemFreeHost((void *)gate));
}

/* Freed in stream order: what was queued before may use it, what comes after may not. */
static void stream_ordered_memory_lives_in_the_stream(void **state)
{
        CUdeviceptr to;
        CUstream stream;

        ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        ok(cuMemAllocAsync(&to, 1 << 20, stream));
        stage_fill(stream, to, 3, 1 << 18);
        ok(cuStreamSynchronize(stream));
        assert_int_equal(stage_word(to, (1 << 18) - 1), 3);
        ok(cuMemFreeAsync(to, stream));
        ok(cuStreamSynchronize(stream));
        assert_int_not_equal(cuMemFreeAsync(to, stream), CUDA_SUCCESS);
        ok(cuStreamDestroy_v2(stream));
}

/* Destroying a context waits for its work; its streams are then no more. */
static void a_context_ends_after_its_work(void **state)
{
        uint32_t *word;
        CUcontext context;
        CUstream stream;

        ok(cuMemHostAlloc((void **)&word, 64, CU_MEMHOSTALLOC_PORTABLE));
        *word = 0;
        ok(cuCtxCreate_v2(&context, 0, 0));
        ok(cuStreamCreate(&stream, 0));
        ok(cuStreamWriteValue32_v2(stream, (CUdeviceptr)word, 5, 0));
        ok(cuCtxDestroy_v2(context));
        ok(cuCtxSetCurrent(stage.context));
        assert_int_equal(*word, 5);
        assert_int_not_equal(cuStreamQuery(stream), CUDA_SUCCESS);
        ok(cuMemFreeHost(word));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(work_in_a_stream_is_in_order),
                cmocka_unit_test(a_stream_is_asynchronous),
                cmocka_unit_test(a_thousand_launches_do_not_block),
                cmocka_unit_test(an_event_orders_two_streams),
                cmocka_unit_test(a_wait_is_for_the_record_of_its_time),
                cmocka_unit_test(the_legacy_stream_is_a_barrier),
                cmocka_unit_test(work_given_later_waits_for_the_legacy_stream),
                cmocka_unit_test(each_thread_has_its_own_default_stream),
                cmocka_unit_test(spin_takes_what_it_says),
                cmocka_unit_test(elapsed_time_needs_two_timed_records),
                cmocka_unit_test(host_functions_run_in_order_and_may_not_call_back),
                cmocka_unit_test(streams_know_themselves),
                cmocka_unit_test(a_destroyed_stream_finishes_its_work),
                cmocka_unit_test(values_are_waited_for_and_written),
                cmocka_unit_test(stream_ordered_memory_lives_in_the_stream),
                cmocka_unit_test(a_context_ends_after_its_work),
        };

        return cmocka_run_group_tests(tests, stage_open_usual, stage_close);
}
