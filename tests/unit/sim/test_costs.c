/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call takes of its caller's time, each by its own key, in virtual time; and what else a
 * driver asks for that the simulator does not by itself.
 */
#include "exec_stage.h"

static CUevent from, to;
static CUstream stream;
static CUgraphExec graph;

static void record(void)
{
        ok(cuEventRecord(from, stream));
}

static void record_with_flags(void)
{
        ok(cuEventRecordWithFlags(to, stream, CU_EVENT_RECORD_DEFAULT));
}

static void ask_event(void)
{
        (void)cuEventQuery(to);
}

static void ask_stream(void)
{
        (void)cuStreamQuery(stream);
}

static void ask_elapsed(void)
{
        float ms;

        ok(cuStreamSynchronize(stream));
        ok(cuEventElapsedTime(&ms, from, to));
}

static void ask_context(void)
{
        CUcontext context;

        ok(cuStreamGetCtx(stream, &context));
}

static void ask_is_capturing(void)
{
        CUstreamCaptureStatus status;

        ok(cuStreamIsCapturing(stream, &status));
}

static void ask_capture(void)
{
        CUstreamCaptureStatus status;
        cuuint64_t id;

        ok(cuStreamGetCaptureInfo_v2(stream, &status, &id, NULL, NULL, NULL));
}

static void launch(void)
{
        stage_spin(stream, 1);
}

static void launch_graph(void)
{
        ok(cuGraphLaunch(graph, stream));
}

static void make_things(void)
{
        CUgraph captured;

        ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        ok(cuEventCreate(&from, 0));
        ok(cuEventCreate(&to, 0));
        ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        stage_spin(stream, 1);
        ok(cuStreamEndCapture(stream, &captured));
        ok(cuGraphInstantiateWithFlags(&graph, captured, 0));
        launch();
        ok(cuStreamSynchronize(stream));
}

static int open_stage(void **state)
{
        stage_open(",clock=virtual,event_record=11us,event_query=12us,stream_query=13us,"
                   "event_elapsed=14us,stream_context=15us,capture_query=16us,launch=17us,"
                   "graph_launch=18us,current=measured");
        make_things();
        return 0;
}

/* The device is done with everything each time, so nobody waits for it. */
static void each_call_takes_what_its_key_says(void **state)
{
        static const struct {
                void (*call)(void);
                uint64_t us;
        } calls[] = {
                { record, 11 },       { record_with_flags, 11 }, { ask_event, 12 },
                { ask_stream, 13 },   { ask_elapsed, 14 },       { ask_context, 15 },
                { ask_capture, 16 },  { ask_is_capturing, 16 },  { launch, 17 },
                { launch_graph, 18 },
        };

        for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
                uint64_t began_ns = stage_now_ns();

                calls[i].call();
                assert_int_equal(stage_now_ns() - began_ns, calls[i].us * 1000);
                ok(cuStreamSynchronize(stream));
        }
}

/* What a capture takes down is no launch and no record. */
static void what_is_captured_costs_nothing(void **state)
{
        CUgraph captured;
        uint64_t began_ns = stage_now_ns();

        ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        launch();
        record();
        ok(cuStreamEndCapture(stream, &captured));
        assert_int_equal(stage_now_ns(), began_ns);
        ok(cuGraphDestroy(captured));
}

static int without_context(void **state)
{
        ok(cuCtxSetCurrent(NULL));
        return 0;
}

static int with_context(void **state)
{
        ok(cuCtxSetCurrent(stage.context));
        return 0;
}

/* A stream or an event tells which it is. What no driver was asked is by the manual: cuMemcpyAsync.
 */
static void a_current_context_is_needed_where_a_driver_needs_it(void **state)
{
        CUcontext context;
        CUdeviceptr memory = 0;
        CUevent event;
        float ms;

        assert_int_equal(cuMemAlloc_v2(&memory, 64), CUDA_ERROR_INVALID_CONTEXT);
        assert_int_equal(cuEventCreate(&event, 0), CUDA_ERROR_INVALID_CONTEXT);
        assert_int_equal(cuStreamQuery(NULL), CUDA_ERROR_INVALID_CONTEXT);
        assert_int_equal(cuMemcpyAsync(memory, memory, 64, stream), CUDA_ERROR_INVALID_CONTEXT);
        ok(cuEventRecord(from, stream));
        ok(cuEventRecord(to, stream));
        ok(cuEventSynchronize(to));
        ok(cuEventElapsedTime(&ms, from, to));
        ok(cuStreamSynchronize(stream));
        ok(cuStreamQuery(stream));
        ok(cuEventQuery(from));
        ok(cuMemAllocAsync(&memory, 64, stream));
        ok(cuMemFree_v2(memory));
        ok(cuCtxGetCurrent(&context));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_call_takes_what_its_key_says),
                cmocka_unit_test(what_is_captured_costs_nothing),
                cmocka_unit_test_setup_teardown(a_current_context_is_needed_where_a_driver_needs_it,
                                                without_context, with_context),
        };

        return cmocka_run_group_tests(tests, open_stage, stage_close);
}
