/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of ALIQUOT_SIM: what it may say, and that a mistake is named and not guessed at.
 */
#include "memory_stage.h"

#include <string.h>

#include "sim/context/device.h"
#include "sim/node/config.h"

static void sizes_rates_and_times_have_units(void **state)
{
        struct sim_config config;
        char why[256];

        assert_int_equal(
                config_parse(
                        "gpus=3, memory=1.5GiB\nmodel=h200 # a comment\nalloc=10us,"
                        "context_time=1ms,draining=2s,host=25GB/s,peer=max,driver=12020,ptx=noop",
                        &config, why, sizeof(why)),
                0);
        assert_int_equal(config.device_count, 3);
        assert_int_equal(config.memory_bytes, GIB + GIB / 2);
        assert_int_equal(config.model, MODEL_H200);
        assert_int_equal(config.alloc_ns, 10000);
        assert_int_equal(config.context_ns, 1000000);
        assert_int_equal(config.drain_ns, 2000000000);
        assert_int_equal(config.host_rate, 25000000000);
        assert_int_equal(config.peer_rate, 0);
        assert_int_equal(config.driver_version, 12020);
        assert_true(config.is_ptx_accepted);
}

static void what_is_unset_comes_from_the_model(void **state)
{
        struct sim_config config;
        char why[256];

        assert_int_equal(config_parse("model=a100", &config, why, sizeof(why)), 0);
        assert_int_equal(config.memory_bytes, model_spec(MODEL_A100)->memory_bytes);
        assert_int_equal(config.context_bytes, model_spec(MODEL_A100)->context_bytes);
        assert_int_equal(config_parse("", &config, why, sizeof(why)), 0);
        assert_int_equal(config.device_count, 1);
        assert_int_equal(config.wake_ns, 0);
        assert_int_equal(config.wake_spread_ns, 0);
}

static void a_call_costs_nothing_or_what_a_driver_charges_or_what_is_said(void **state)
{
        struct sim_config config;
        char why[256];

        assert_int_equal(config_parse("memory=1GiB", &config, why, sizeof(why)), 0);
        assert_int_equal(config.launch_ns + config.event_ns + config.event_record_ns, 0);
        assert_int_equal(config.reserved_bytes, 0);
        assert_int_equal(config_parse("memory=1GiB,event_query=7us,costs=real,switch=0", &config,
                                      why, sizeof(why)),
                         0);
        assert_int_equal(config.launch_ns, 3000);
        assert_int_equal(config.graph_launch_ns, 3000);
        assert_int_equal(config.event_ns, 2000);
        assert_int_equal(config.event_record_ns, 2000);
        assert_int_equal(config.event_query_ns, 7000);
        assert_int_equal(config.switch_ns, 0);
        assert_true(config.is_current_needed);
        assert_true(config.is_ended_fatal);
        assert_int_equal(config.event_step_ns, 32);
        assert_int_equal(config.queues, 8);
        assert_int_equal(config.utilization_ns, 1000000000);
        assert_int_equal(config.sample_ns, 1000000000);
        assert_int_equal(config.reserved_bytes, GIB / 64);
}

static void a_fault_names_call_and_result(void **state)
{
        struct sim_config config;
        char why[256];

        assert_int_equal(
                config_parse("fail=cuMemCreate:3:2,fail=cuInit:1:999:5", &config, why, sizeof(why)),
                0);
        assert_int_equal(config.fault_count, 2);
        assert_string_equal(config.faults[0].name, "cuMemCreate");
        assert_int_equal(config.faults[0].first_call, 3);
        assert_int_equal(config.faults[0].result, 2);
        assert_int_equal(config.faults[1].call_count, 5);
}

static void a_mistake_is_refused_and_named(void **state)
{
        static const char *const wrong[] = {
                "gpus",
                "gpus=",
                "gpus=17",
                "gpus=-1",
                "gpus=1.5",
                "memory=0",
                "memory=12XB",
                "memory=2TiB",
                "model=v100",
                "draining=1h",
                "draining=-1s",
                "fail=cuInit",
                "fail=cuInit:0:2",
                "fail=cuInit:1:x",
                "fail=:1:2",
                "driver=9",
                "ptx=yes",
                "fatbin=yes",
                "kernels=",
                "clock=odd",
                "wake=2s",
                "wake_spread=odd",
                "state=",
                "colour=red",
                "memory=99999999999999999999GiB",
                "memory=17179869200GiB", /* 16 GiB beyond 64 bits */
                "host=0",
                "pin=0",
                "duplex=99",
                "duplex=201",
                "vmm_lock=101",
                "vmm_create=2s",
                "slice=0",
                "drift=10001",
                "sample=10ms",
                "sample=2s",
                "event_step=2s",
                "event_record=2s",
                "costs=yes",
                "queues=33",
                "utilization=2s",
                "utilization=160ms",
                "multiprocessors=0",
                "multiprocessors=257",
        };
        struct sim_config config;
        char why[256];

        for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                why[0] = '\0';
                if (config_parse(wrong[i], &config, why, sizeof(why)) == 0)
                        fail_msg("'%s' was accepted", wrong[i]);
                assert_true(why[0] != '\0');
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sizes_rates_and_times_have_units),
                cmocka_unit_test(what_is_unset_comes_from_the_model),
                cmocka_unit_test(a_call_costs_nothing_or_what_a_driver_charges_or_what_is_said),
                cmocka_unit_test(a_fault_names_call_and_result),
                cmocka_unit_test(a_mistake_is_refused_and_named),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
