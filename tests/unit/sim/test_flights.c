/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the node says of the time in which a process had work in flight: from the call that asks for
 * the work until its end, in virtual time.
 */
#include "exec_stage.h"

#define US UINT64_C(1000)
#define LAUNCH_US 3

static CUuuid uuid;
static CUstream one, two;
static uint32_t *pinned;

uint64_t aliquot_sim_flight_ns(const unsigned char uuid[16]); /* node/meter_export.c */
uint64_t aliquot_sim_busy_ns(const unsigned char uuid[16]);

/* Since the last call of it. */
static uint64_t in_flight_ns(void)
{
        static uint64_t before_ns;
        uint64_t ns = aliquot_sim_flight_ns((const unsigned char *)uuid.bytes);
        uint64_t since_ns = ns - before_ns;

        before_ns = ns;
        return since_ns;
}

static uint64_t busy_us(void)
{
        return aliquot_sim_busy_ns((const unsigned char *)uuid.bytes) / US;
}

static int open_stage(void **state)
{
        stage_open(",clock=virtual,launch=3us,flights=on,event_record=2us");
        ok(cuDeviceGetUuid(&uuid, 0));
        ok(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
        ok(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
        ok(cuMemHostAlloc((void **)&pinned, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
        return 0;
}

static int from_nothing(void **state)
{
        ok(cuCtxSynchronize());
        in_flight_ns();
        return 0;
}

static void a_launch_counts_from_its_call_to_its_end(void **state)
{
        uint64_t busy = busy_us();

        stage_spin(one, 50 * US);
        ok(cuStreamSynchronize(one));
        assert_int_equal(in_flight_ns(), (LAUNCH_US + 50) * US);
        assert_int_equal(busy_us() - busy, 50);
}

static void two_streams_count_once(void **state)
{
        stage_spin(one, 50 * US);
        stage_spin(two, 50 * US);
        ok(cuCtxSynchronize());
        assert_int_equal(in_flight_ns(), (2 * LAUNCH_US + 50) * US);
}

static void the_host_time_between_two_flights_does_not_count(void **state)
{
        CUevent event;

        ok(cuEventCreate(&event, 0));
        for (int i = 0; i < 10; i++) {
                stage_spin(one, 20 * US);
                ok(cuStreamSynchronize(one));
                for (int record = 0; record < 5; record++)
                        ok(cuEventRecord(event, one));
        }
        assert_int_equal(in_flight_ns(), 10 * (LAUNCH_US + 20) * US);
        ok(cuEventDestroy_v2(event));
}

static void a_backlog_is_one_flight(void **state)
{
        for (int i = 0; i < 100; i++)
                stage_spin(one, 20 * US);
        ok(cuStreamSynchronize(one));
        assert_int_equal(in_flight_ns(), (LAUNCH_US + 100 * 20) * US);
}

static void work_that_waits_is_in_flight(void **state)
{
        *pinned = 0;
        ok(cuStreamWaitValue32_v2(one, (CUdeviceptr)pinned, 1, CU_STREAM_WAIT_VALUE_GEQ));
        stage_spin(one, 10 * US);
        stage_spin(two, 500 * US);
        ok(cuStreamSynchronize(two));
        assert_int_equal(in_flight_ns(), (2 * LAUNCH_US + 500) * US);
        *pinned = 1;
        ok(cuStreamSynchronize(one));
        assert_true(in_flight_ns() >= 10 * US);
}

static void a_copy_over_the_link_is_no_work_of_the_device(void **state)
{
        CUdeviceptr memory = stage_alloc(4096);

        in_flight_ns();
        ok(cuMemcpyHtoDAsync_v2(memory, pinned, 4096, one));
        ok(cuStreamSynchronize(one));
        assert_int_equal(in_flight_ns(), 0);
        ok(cuMemFree_v2(memory));
}

static void fills_copies_within_and_graphs_are(void **state)
{
        CUdeviceptr memory = stage_alloc(2 << 20);
        CUgraph captured;
        CUgraphExec graph;

        in_flight_ns();
        ok(cuMemsetD8Async(memory, 1, 1 << 20, one));
        ok(cuStreamSynchronize(one));
        assert_true(in_flight_ns() > 0);
        ok(cuMemcpyDtoDAsync_v2(memory, memory + (1 << 20), 1 << 20, one));
        ok(cuStreamSynchronize(one));
        assert_true(in_flight_ns() > 0);
        ok(cuStreamBeginCapture_v2(one, CU_STREAM_CAPTURE_MODE_RELAXED));
        stage_spin(one, 30 * US);
        stage_spin(one, 30 * US);
        ok(cuStreamEndCapture(one, &captured));
        ok(cuGraphInstantiateWithFlags(&graph, captured, 0));
        assert_int_equal(in_flight_ns(), 0);
        ok(cuGraphLaunch(graph, one));
        ok(cuStreamSynchronize(one));
        assert_in_range(in_flight_ns(), 60 * US, 62 * US);
        ok(cuGraphExecDestroy(graph));
        ok(cuGraphDestroy(captured));
        ok(cuMemFree_v2(memory));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(a_launch_counts_from_its_call_to_its_end, from_nothing),
                cmocka_unit_test_setup(two_streams_count_once, from_nothing),
                cmocka_unit_test_setup(the_host_time_between_two_flights_does_not_count,
                                       from_nothing),
                cmocka_unit_test_setup(a_backlog_is_one_flight, from_nothing),
                cmocka_unit_test_setup(work_that_waits_is_in_flight, from_nothing),
                cmocka_unit_test_setup(a_copy_over_the_link_is_no_work_of_the_device, from_nothing),
                cmocka_unit_test_setup(fills_copies_within_and_graphs_are, from_nothing),
        };

        return cmocka_run_group_tests(tests, open_stage, stage_close);
}
