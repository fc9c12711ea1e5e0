/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Utilisation that is told for whole periods, as hardware does: late, and of nothing but the last
 * period that is over.
 */
#include "nvml_tenant.h"

#include "sim/node/clock.h"
#include "sim/node/node.h"

#define SECOND_NS UINT64_C(1000000000)

/* All of the even seconds, from the one before the last on, and into those that a late reader
 * sees. */
static void work_in_even_seconds(void)
{
        uint64_t now = sim_now_ns() / SECOND_NS;

        tenant_allocate(0, MIB);
        for (uint64_t second = now - 1; second <= now + 1; second++) {
                if (second % 2 == 0)
                        node_busy_add(0, ENGINE_COMPUTE, second * SECOND_NS,
                                      (second + 1) * SECOND_NS);
        }
}

static void a_card_tells_its_last_whole_period(void **state)
{
        pid_t tenant = tenant_start(work_in_even_seconds);
        nvmlUtilization_t rates;
        uint64_t before, after;

        /* As often as it takes to be asked within one second. */
        do {
                before = sim_now_ns() / SECOND_NS;
                assert_int_equal(nvmlDeviceGetUtilizationRates(card(0), &rates), NVML_SUCCESS);
                after = sim_now_ns() / SECOND_NS;
        } while (before != after);
        assert_int_equal(rates.gpu, (before - 1) % 2 == 0 ? 100 : 0);
        assert_int_equal(rates.memory, 0);
        tenant_kill(tenant);
}

static int prepare(void **state)
{
        if (node_prepare("gpus=1,memory=1GiB,model=h200,utilization=1s") != 0)
                return -1;
        return nvmlInit_v2();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_card_tells_its_last_whole_period),
        };

        return cmocka_run_group_tests(tests, prepare, node_finish);
}
