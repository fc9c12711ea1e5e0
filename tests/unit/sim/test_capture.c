/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture, and its rules: what may not be done answers the driver's error and ruins the
 * capture, which EndCapture then says.
 */
#include "exec_stage.h"

#include <pthread.h>

static CUstream a, b;
static CUevent event_before; /* of a capture */

static int make_streams(void **state)
{
        ok(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
        ok(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
        return 0;
}

static int end_streams(void **state)
{
        ok(cuStreamDestroy_v2(a));
        ok(cuStreamDestroy_v2(b));
        return 0;
}

static void begin(CUstream stream)
{
        ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

/* The capture was ruined: it ends without a graph. */
static void ends_invalid(CUstream stream)
{
        CUstreamCaptureStatus status;
        CUgraph graph = (CUgraph)1;

        ok(cuStreamIsCapturing(stream, &status));
        assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
        assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        assert_null(graph);
        ok(cuStreamIsCapturing(stream, &status));
        assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

static void captured_work_runs_when_launched(void **state)
{
        CUdeviceptr to = stage_alloc(64);
        CUgraphExec exec;
        CUgraph graph;
        size_t count = 0;

        ok(cuMemsetD32_v2(to, 0, 16));
        begin(a);
        stage_fill(a, to, 1, 16);
        ok(cuMemsetD32Async(to, 2, 8, a));
        ok(cuMemcpyDtoDAsync_v2(to + 48, to, 16, a));
        ok(cuStreamEndCapture(a, &graph));
        ok(cuGraphGetNodes(graph, NULL, &count));
        assert_int_equal(count, 3);
        ok(cuGraphGetEdges(graph, NULL, NULL, &count));
        assert_int_equal(count, 2);
        assert_int_equal(stage_word(to, 0), 0);
        ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
        ok(cuGraphLaunch(exec, a));
        ok(cuStreamSynchronize(a));
        assert_int_equal(stage_word(to, 7), 2);
        assert_int_equal(stage_word(to, 8), 1);
        assert_int_equal(stage_word(to, 12), 2);
        ok(cuGraphExecDestroy(exec));
        ok(cuGraphDestroy(graph));
        ok(cuMemFree_v2(to));
}

/* fork by an event, join by another: the graph is a diamond. */
static void a_capture_spreads_by_events(void **state)
{
        CUdeviceptr to = stage_alloc(64);
        CUstreamCaptureStatus status;
        CUevent fork, join;
        size_t roots = 0, edges = 0;
        CUgraph graph;

        ok(cuEventCreate(&fork, 0));
        ok(cuEventCreate(&join, 0));
        begin(a);
        stage_fill(a, to, 1, 16);
        ok(cuEventRecord(fork, a));
        ok(cuStreamWaitEvent(b, fork, 0));
        ok(cuStreamIsCapturing(b, &status));
        assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
        stage_fill(a, to, 2, 4);
        stage_fill(b, to + 32, 3, 4);
        ok(cuEventRecord(join, b));
        ok(cuStreamWaitEvent(a, join, 0));
        stage_fill(a, to, 4, 1);
        ok(cuStreamEndCapture(a, &graph));
        ok(cuGraphGetRootNodes(graph, NULL, &roots));
        ok(cuGraphGetEdges(graph, NULL, NULL, &edges));
        assert_int_equal(roots, 1);
        assert_int_equal(edges, 4);
        ok(cuStreamIsCapturing(b, &status));
        assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
        ok(cuGraphDestroy(graph));
        ok(cuEventDestroy_v2(fork));
        ok(cuEventDestroy_v2(join));
        ok(cuMemFree_v2(to));
}

static void what_forked_must_join(void **state)
{
        CUevent fork;
        CUgraph graph;

        ok(cuEventCreate(&fork, 0));
        begin(a);
        stage_spin(a, 1);
        ok(cuEventRecord(fork, a));
        ok(cuStreamWaitEvent(b, fork, 0));
        stage_spin(b, 1);
        assert_int_equal(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        ok(cuStreamQuery(a));
        ok(cuStreamQuery(b));
        ok(cuEventDestroy_v2(fork));
}

static void a_capture_ends_where_it_began(void **state)
{
        CUevent fork;
        CUgraph graph;

        ok(cuEventCreate(&fork, 0));
        assert_int_equal(cuStreamEndCapture(a, &graph), CUDA_ERROR_ILLEGAL_STATE);
        begin(a);
        assert_int_equal(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL),
                         CUDA_ERROR_ILLEGAL_STATE);
        ok(cuEventRecord(fork, a));
        ok(cuStreamWaitEvent(b, fork, 0));
        assert_int_equal(cuStreamEndCapture(b, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
        ends_invalid(a);
        ok(cuEventDestroy_v2(fork));
}

static void waiting_for_a_capturing_stream_ruins_it(void **state)
{
        begin(a);
        assert_int_equal(cuStreamSynchronize(a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        ends_invalid(a);
        begin(a);
        assert_int_equal(cuStreamQuery(a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        ends_invalid(a);
}

static void a_captured_event_cannot_be_waited_for(void **state)
{
        CUevent event;

        ok(cuEventCreate(&event, 0));
        begin(a);
        ok(cuEventRecord(event, a));
        assert_int_equal(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
        ends_invalid(a);
        begin(a);
        ok(cuEventRecord(event, a));
        assert_int_equal(cuEventSynchronize(event), CUDA_ERROR_CAPTURED_EVENT);
        ends_invalid(a);
        ok(cuEventDestroy_v2(event));
}

/* An event of before the capture would be a dependency out of it. */
static void a_capture_is_isolated(void **state)
{
        CUevent event;

        ok(cuEventCreate(&event, 0));
        ok(cuEventRecord(event, b));
        begin(a);
        assert_int_equal(cuStreamWaitEvent(a, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        ends_invalid(a);
        ok(cuEventDestroy_v2(event));
}

static void two_captures_do_not_merge(void **state)
{
        CUevent event;

        ok(cuEventCreate(&event, 0));
        begin(a);
        begin(b);
        ok(cuEventRecord(event, a));
        assert_int_equal(cuStreamWaitEvent(b, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
        ends_invalid(a);
        ends_invalid(b);
        ok(cuEventDestroy_v2(event));
}

static void the_legacy_stream_may_not_mix_in(void **state)
{
        CUstreamCaptureStatus status;
        CUstream blocking;
        CUgraph graph;

        ok(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
        assert_int_equal(cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
                         CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        begin(blocking);
        /* Only asking does no harm. */
        assert_int_equal(cuStreamIsCapturing(NULL, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
        ok(cuStreamIsCapturing(blocking, &status));
        assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
        assert_int_equal(cuEventQuery(NULL), CUDA_ERROR_INVALID_HANDLE);
        assert_int_equal(cuMemsetD32Async(0, 0, 1, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
        ends_invalid(blocking);
        /* A capture in a non-blocking stream has nothing to do with the legacy stream. */
        begin(a);
        stage_spin(NULL, 1);
        ok(cuStreamEndCapture(a, &graph));
        ok(cuGraphDestroy(graph));
        ok(cuStreamDestroy_v2(blocking));
}

static CUresult allocate(void)
{
        CUdeviceptr address;
        CUresult rc = cuMemAlloc_v2(&address, 64);

        if (rc == CUDA_SUCCESS)
                ok(cuMemFree_v2(address));
        return rc;
}

static void *allocate_elsewhere(void *is_thread_local)
{
        CUstreamCaptureMode mode = is_thread_local ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
                                                   : CU_STREAM_CAPTURE_MODE_GLOBAL;

        ok(cuCtxSetCurrent(stage.context));
        ok(cuThreadExchangeStreamCaptureMode(&mode));
        return (void *)(uintptr_t)allocate();
}

static CUresult allocate_in_thread(bool is_thread_local)
{
        pthread_t thread;
        void *result;

        pthread_create(&thread, NULL, allocate_elsewhere, is_thread_local ? (void *)1 : NULL);
        pthread_join(thread, &result);
        return (CUresult)(uintptr_t)result;
}

/* cuMemAlloc may hide a synchronisation, so a capture forbids it, by mode. */
static void unsafe_calls_obey_the_modes(void **state)
{
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        CUgraph graph;

        begin(a);
        assert_int_equal(allocate(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        ends_invalid(a);
        begin(a);
        assert_int_equal(allocate_in_thread(false), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        ends_invalid(a);
        begin(a);
        assert_int_equal(allocate_in_thread(true), CUDA_SUCCESS);
        ok(cuThreadExchangeStreamCaptureMode(&mode));
        assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
        assert_int_equal(allocate(), CUDA_SUCCESS);
        ok(cuThreadExchangeStreamCaptureMode(&mode));
        ok(cuStreamEndCapture(a, &graph));
        ok(cuGraphDestroy(graph));
        ok(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        assert_int_equal(allocate_in_thread(false), CUDA_SUCCESS);
        assert_int_equal(allocate(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        ends_invalid(a);
        ok(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
        assert_int_equal(allocate(), CUDA_SUCCESS);
        ok(cuStreamEndCapture(a, &graph));
        ok(cuGraphDestroy(graph));
}

static void *query_elsewhere(void *argument)
{
        CUstreamCaptureMode mode = (CUstreamCaptureMode)(uintptr_t)argument;

        ok(cuCtxSetCurrent(stage.context));
        ok(cuThreadExchangeStreamCaptureMode(&mode));
        return (void *)(uintptr_t)cuEventQuery(event_before);
}

static CUresult in_thread(void *(*body)(void *), CUstreamCaptureMode mode)
{
        pthread_t thread;
        void *result;

        pthread_create(&thread, NULL, body, (void *)(uintptr_t)mode);
        pthread_join(thread, &result);
        return (CUresult)(uintptr_t)result;
}

/* Also on an event that has nothing to do with the capture. */
static void asking_an_event_obeys_the_modes(void **state)
{
        CUgraph graph;

        ok(cuEventCreate(&event_before, 0));
        ok(cuEventRecord(event_before, b));
        ok(cuStreamSynchronize(b));
        begin(a);
        assert_int_equal(in_thread(query_elsewhere, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
        ok(cuStreamEndCapture(a, &graph));
        ok(cuGraphDestroy(graph));
        begin(a);
        assert_int_equal(in_thread(query_elsewhere, CU_STREAM_CAPTURE_MODE_GLOBAL),
                         CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        ends_invalid(a);
        ok(cuEventDestroy_v2(event_before));
}

static void *wait_for_context(void *argument)
{
        CUstreamCaptureMode mode = (CUstreamCaptureMode)(uintptr_t)argument;

        ok(cuCtxSetCurrent(stage.context));
        ok(cuThreadExchangeStreamCaptureMode(&mode));
        return (void *)(uintptr_t)cuCtxSynchronize();
}

/* Programming guide: a handle that encompasses an active capture cannot be waited for. */
static void waiting_for_the_context_ruins_its_captures_in_any_mode(void **state)
{
        for (CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
             mode <= CU_STREAM_CAPTURE_MODE_RELAXED; mode++) {
                ok(cuStreamBeginCapture_v2(a, mode));
                assert_int_equal(in_thread(wait_for_context, CU_STREAM_CAPTURE_MODE_RELAXED),
                                 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
                ends_invalid(a);
        }
}

static void a_capture_of_another_context_is_not_ruined_by_a_relaxed_wait(void **state)
{
        CUcontext context;
        CUstream stream;
        CUgraph graph;

        ok(cuCtxCreate_v2(&context, 0, 0));
        ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        assert_int_equal(in_thread(wait_for_context, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
        ok(cuStreamEndCapture(stream, &graph));
        ok(cuGraphDestroy(graph));
        ok(cuCtxDestroy_v2(context));
        ok(cuCtxSetCurrent(stage.context));
}

static void *end_elsewhere(void *argument)
{
        CUgraph graph = NULL;
        CUresult rc = cuStreamEndCapture(a, &graph);

        if (rc == CUDA_SUCCESS)
                ok(cuGraphDestroy(graph));
        return (void *)(uintptr_t)rc;
}

static void only_its_thread_ends_a_strict_capture(void **state)
{
        pthread_t thread;
        void *result;
        CUgraph graph;

        begin(a);
        pthread_create(&thread, NULL, end_elsewhere, NULL);
        pthread_join(thread, &result);
        assert_int_equal((uintptr_t)result, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
        ok(cuStreamEndCapture(a, &graph));
        ok(cuGraphDestroy(graph));
        ok(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
        pthread_create(&thread, NULL, end_elsewhere, NULL);
        pthread_join(thread, &result);
        assert_int_equal((uintptr_t)result, CUDA_SUCCESS);
}

static void never_called(CUstream stream, CUresult result, void *data)
{
}

static void callbacks_cannot_be_captured(void **state)
{
        begin(a);
        assert_int_equal(cuStreamAddCallback(a, never_called, NULL, 0),
                         CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        ends_invalid(a);
}

static void dependencies_are_shown_and_changed(void **state)
{
        CUstreamCaptureStatus status;
        const CUgraphNode *tips;
        CUgraphNode first;
        CUgraph graph, same;
        cuuint64_t id = 0;
        size_t count = 9;

        begin(a);
        ok(cuStreamGetCaptureInfo_v2(a, &status, &id, &graph, &tips, &count));
        assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
        assert_int_not_equal(id, 0);
        assert_int_equal(count, 0);
        stage_spin(a, 1);
        ok(cuStreamGetCaptureInfo_v2(a, &status, &id, &graph, &tips, &count));
        assert_int_equal(count, 1);
        first = tips[0];
        ok(cuStreamUpdateCaptureDependencies(a, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
        stage_spin(a, 2);
        ok(cuStreamUpdateCaptureDependencies(a, &first, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
        ok(cuStreamGetCaptureInfo_v2(a, &status, NULL, NULL, &tips, &count));
        assert_int_equal(count, 2);
        ok(cuStreamEndCapture(a, &same));
        assert_ptr_equal(graph, same);
        ok(cuGraphGetRootNodes(graph, NULL, &count));
        assert_int_equal(count, 2);
        ok(cuStreamGetCaptureInfo(a, &status, &id));
        assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
        ok(cuGraphDestroy(graph));
}

static void a_graph_can_be_captured_into(void **state)
{
        CUgraph graph, same;
        CUgraphNode root;
        size_t count = 0;

        ok(cuGraphCreate(&graph, 0));
        ok(cuGraphAddEmptyNode(&root, graph, NULL, 0));
        ok(cuStreamBeginCaptureToGraph(a, graph, &root, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
        stage_spin(a, 1);
        ok(cuStreamEndCapture(a, &same));
        assert_ptr_equal(graph, same);
        ok(cuGraphNodeGetDependentNodes(root, NULL, &count));
        assert_int_equal(count, 1);
        ok(cuGraphDestroy(graph));
}

/* The nodes stay, what they do is new; a capture of another shape fails. */
static void a_graph_can_be_captured_again(void **state)
{
        CUdeviceptr to = stage_alloc(64);
        CUgraphNode before[2], after[2];
        CUgraph graph, same;
        CUgraphExec exec;
        size_t count = 2;

        begin(a);
        stage_fill(a, to, 1, 16);
        stage_spin(a, 1);
        ok(cuStreamEndCapture(a, &graph));
        ok(cuGraphGetNodes(graph, before, &count));
        ok(cuStreamBeginRecaptureToGraph(a, CU_STREAM_CAPTURE_MODE_GLOBAL, graph, NULL, NULL));
        stage_fill(a, to, 7, 16);
        stage_spin(a, 2);
        ok(cuStreamEndCapture(a, &same));
        assert_ptr_equal(graph, same);
        ok(cuGraphGetNodes(graph, after, &count));
        assert_memory_equal(before, after, sizeof(before));
        ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
        ok(cuGraphLaunch(exec, a));
        ok(cuStreamSynchronize(a));
        assert_int_equal(stage_word(to, 15), 7);
        ok(cuStreamBeginRecaptureToGraph(a, CU_STREAM_CAPTURE_MODE_GLOBAL, graph, NULL, NULL));
        stage_spin(a, 1);
        assert_int_equal(cuStreamEndCapture(a, &same), CUDA_ERROR_GRAPH_RECAPTURE_FAILURE);
        ok(cuGraphExecDestroy(exec));
        ok(cuGraphDestroy(graph));
        ok(cuMemFree_v2(to));
}

/* Allocation in a capture becomes a node; the memory is there while the graph runs. */
static void captured_allocation_is_a_node(void **state)
{
        CUdeviceptr to = stage_alloc(64), temporary;
        CUgraphExec exec;
        CUgraph graph;
        uint32_t word;

        begin(a);
        ok(cuMemAllocAsync(&temporary, 1 << 20, a));
        stage_fill(a, temporary, 6, 16);
        ok(cuMemcpyDtoDAsync_v2(to, temporary, 64, a));
        ok(cuMemFreeAsync(temporary, a));
        ok(cuStreamEndCapture(a, &graph));
        assert_int_equal(cuMemcpyDtoH_v2(&word, temporary, 4), CUDA_ERROR_INVALID_VALUE);
        ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
        ok(cuGraphLaunch(exec, a));
        ok(cuGraphLaunch(exec, a));
        ok(cuStreamSynchronize(a));
        assert_int_equal(stage_word(to, 15), 6);
        ok(cuGraphExecDestroy(exec));
        ok(cuGraphDestroy(graph));
        ok(cuMemFree_v2(to));
}

static void a_capture_ends_with_its_context(void **state)
{
        CUcontext context;
        CUstream stream;

        ok(cuCtxCreate_v2(&context, 0, 0));
        ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        ok(cuCtxDestroy_v2(context));
        ok(cuCtxSetCurrent(stage.context));
        assert_int_equal(allocate(), CUDA_SUCCESS);
}

#define story(name) cmocka_unit_test_setup_teardown(name, make_streams, end_streams)

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(captured_work_runs_when_launched),
                story(a_capture_spreads_by_events),
                story(what_forked_must_join),
                story(a_capture_ends_where_it_began),
                story(waiting_for_a_capturing_stream_ruins_it),
                story(a_captured_event_cannot_be_waited_for),
                story(a_capture_is_isolated),
                story(two_captures_do_not_merge),
                story(the_legacy_stream_may_not_mix_in),
                story(unsafe_calls_obey_the_modes),
                story(asking_an_event_obeys_the_modes),
                story(waiting_for_the_context_ruins_its_captures_in_any_mode),
                story(a_capture_of_another_context_is_not_ruined_by_a_relaxed_wait),
                story(only_its_thread_ends_a_strict_capture),
                story(callbacks_cannot_be_captured),
                story(dependencies_are_shown_and_changed),
                story(a_graph_can_be_captured_into),
                story(a_graph_can_be_captured_again),
                story(captured_allocation_is_a_node),
                story(a_capture_ends_with_its_context),
        };

        return cmocka_run_group_tests(tests, stage_open_usual, stage_close);
}
