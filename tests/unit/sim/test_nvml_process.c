/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is on a card, with how many bytes and how busy; and a card that is lost.
 */
#include "nvml_tenant.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "sim/node/clock.h"
#include "sim/node/node.h"

#define DRAIN_NS 300000000ULL
#define HANG_NS 10000000000ULL

static void small_work(void)
{
        tenant_allocate(0, 9 * MIB);
}

static void large_work(void)
{
        tenant_allocate(0, 99 * MIB);
}

static unsigned listed(nvmlDevice_t handle)
{
        nvmlProcessInfo_t infos[8];
        unsigned count = 8;

        assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(handle, &count, infos),
                         NVML_SUCCESS);
        return count;
}

static void wait_until_empty(void)
{
        uint64_t deadline_ns = sim_now_ns() + HANG_NS;

        while (listed(card(0)) > 0 && sim_now_ns() < deadline_ns)
                usleep(20000);
        assert_int_equal(listed(card(0)), 0);
}

static void processes_are_listed_with_their_bytes(void **state)
{
        nvmlProcessInfo_t infos[4];
        unsigned count = 4;
        pid_t small = tenant_start(small_work), large = tenant_start(large_work);

        assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(card(0), &count, infos),
                         NVML_SUCCESS);
        assert_int_equal(count, 2);
        for (unsigned i = 0; i < 2; i++) {
                assert_true(infos[i].pid == (unsigned)small || infos[i].pid == (unsigned)large);
                assert_int_equal(infos[i].usedGpuMemory,
                                 infos[i].pid == (unsigned)small ? 10 * MIB : 100 * MIB);
                assert_int_equal(infos[i].gpuInstanceId, 0xffffffff);
        }
        assert_int_not_equal(infos[0].pid, infos[1].pid);
        assert_int_equal(listed(card(1)), 0);
        tenant_kill(small);
        tenant_kill(large);
        wait_until_empty();
}

/* nvtop asks with the oldest struct, 16 bytes an entry where the later ones have 24. */
static void the_oldest_list_has_small_entries(void **state)
{
        unsigned char bytes[4 * sizeof(nvmlProcessInfo_v1_t)];
        nvmlProcessInfo_v1_t *infos = (nvmlProcessInfo_v1_t *)bytes;
        unsigned count = 3;
        pid_t small = tenant_start(small_work), large = tenant_start(large_work);

        memset(bytes, 0x5a, sizeof(bytes));
        assert_int_equal(nvmlDeviceGetComputeRunningProcesses(card(0), &count, infos),
                         NVML_SUCCESS);
        assert_int_equal(count, 2);
        assert_int_equal(infos[0].usedGpuMemory + infos[1].usedGpuMemory, 110 * MIB);
        for (unsigned i = 2 * sizeof(*infos); i < sizeof(bytes); i++)
                assert_int_equal(bytes[i], 0x5a);
        tenant_kill(small);
        tenant_kill(large);
        wait_until_empty();
}

static void too_little_room_tells_how_much_is_needed(void **state)
{
        nvmlProcessInfo_t info = { .pid = 7 };
        unsigned count = 0;
        pid_t small = tenant_start(small_work), large = tenant_start(large_work);

        assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(card(0), &count, NULL),
                         NVML_ERROR_INSUFFICIENT_SIZE);
        assert_int_equal(count, 2);
        count = 1;
        assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(card(0), &count, &info),
                         NVML_ERROR_INSUFFICIENT_SIZE);
        assert_int_equal(count, 2);
        assert_int_equal(info.pid, 7);
        tenant_kill(small);
        tenant_kill(large);
        wait_until_empty();
}

/* The memory of a killed process is not free at once, and the process is listed as long. */
static void the_dead_stay_until_their_memory_has_drained(void **state)
{
        nvmlMemory_t memory;
        uint64_t began_ns = sim_now_ns();
        pid_t tenant = tenant_start(large_work);

        tenant_kill(tenant);
        unsigned count = listed(card(0));
        assert_int_equal(nvmlDeviceGetMemoryInfo(card(0), &memory), NVML_SUCCESS);
        if (sim_now_ns() - began_ns < DRAIN_NS) {
                assert_int_equal(count, 1);
                assert_int_equal(memory.used, 100 * MIB);
        }
        wait_until_empty();
        assert_true(sim_now_ns() - began_ns >= DRAIN_NS);
        assert_int_equal(nvmlDeviceGetMemoryInfo(card(0), &memory), NVML_SUCCESS);
        assert_int_equal(memory.used, 0);
}

/* Every other bucket of the past two seconds, and of the next one for a reader that is late. */
static void busy_work(void)
{
        uint64_t now = sim_now_ns() / NODE_BUCKET_NS;

        tenant_allocate(1, MIB);
        for (uint64_t bucket = now - 40; bucket < now + 20; bucket += 2) {
                uint64_t start_ns = bucket * NODE_BUCKET_NS;

                node_busy_add(1, ENGINE_COMPUTE, start_ns, start_ns + NODE_BUCKET_NS);
                node_way_add(1, WAY_TO_DEVICE, start_ns, start_ns + NODE_BUCKET_NS);
        }
}

static void shares_follow_from_what_ran(void **state)
{
        nvmlUtilization_t rates;
        nvmlProcessUtilizationSample_t samples[4];
        unsigned count = 0, mhz, mw, kib;
        pid_t tenant = tenant_start(busy_work);
        struct timespec wall;

        assert_int_equal(nvmlDeviceGetUtilizationRates(card(1), &rates), NVML_SUCCESS);
        assert_int_equal(rates.gpu, 50);
        assert_int_equal(nvmlDeviceGetClockInfo(card(1), NVML_CLOCK_SM, &mhz), NVML_SUCCESS);
        assert_int_equal(mhz, 1980);
        assert_int_equal(nvmlDeviceGetPowerUsage(card(1), &mw), NVML_SUCCESS);
        assert_in_range(mw, 300000, 400000);

        assert_int_equal(nvmlDeviceGetPcieThroughput(card(1), NVML_PCIE_UTIL_RX_BYTES, &kib),
                         NVML_SUCCESS);
        assert_int_equal(kib, 512000);
        assert_int_equal(nvmlDeviceGetPcieThroughput(card(1), NVML_PCIE_UTIL_TX_BYTES, &kib),
                         NVML_SUCCESS);
        assert_int_equal(kib, 0);

        clock_gettime(CLOCK_REALTIME, &wall);
        uint64_t now_us = (uint64_t)wall.tv_sec * 1000000 + (uint64_t)wall.tv_nsec / 1000;
        assert_int_equal(nvmlDeviceGetProcessUtilization(card(1), NULL, &count, now_us - 1000000),
                         NVML_ERROR_INSUFFICIENT_SIZE);
        assert_int_equal(count, 1);
        assert_int_equal(
                nvmlDeviceGetProcessUtilization(card(1), samples, &count, now_us - 1000000),
                NVML_SUCCESS);
        assert_int_equal(samples[0].pid, tenant);
        assert_in_range(samples[0].smUtil, 45, 55);
        assert_int_equal(samples[0].encUtil, 0);
        assert_in_range(samples[0].timeStamp, now_us - 200000, now_us + 5000000);
        tenant_kill(tenant);
}

static void samples_are_newer_than_the_last_seen(void **state)
{
        nvmlSample_t samples[64];
        nvmlValueType_t type;
        unsigned count = 64;
        pid_t tenant = tenant_start(busy_work);

        assert_int_equal(nvmlDeviceGetSamples(card(1), NVML_GPU_UTILIZATION_SAMPLES, 0, &type,
                                              &count, samples),
                         NVML_SUCCESS);
        assert_int_equal(type, NVML_VALUE_TYPE_UNSIGNED_INT);
        assert_in_range(count, 20, 64);
        for (unsigned i = 1; i < count; i++)
                assert_true(samples[i].timeStamp > samples[i - 1].timeStamp);
        /* Nothing is newer than what has not happened yet. */
        unsigned long long future_us = samples[count - 1].timeStamp + 60000000;
        assert_int_equal(nvmlDeviceGetSamples(card(1), NVML_GPU_UTILIZATION_SAMPLES, future_us,
                                              &type, &count, samples),
                         NVML_ERROR_NOT_FOUND);
        tenant_kill(tenant);
}

static void accounting_knows_who_is_there(void **state)
{
        nvmlAccountingStats_t stats;
        unsigned pids[4], count = 4;
        pid_t tenant = tenant_start(large_work);

        assert_int_equal(nvmlDeviceGetAccountingPids(card(0), &count, pids), NVML_SUCCESS);
        assert_int_equal(count, 1);
        assert_int_equal(pids[0], tenant);
        assert_int_equal(nvmlDeviceGetAccountingStats(card(0), pids[0], &stats), NVML_SUCCESS);
        assert_int_equal(stats.maxMemoryUsage, 100 * MIB);
        assert_int_equal(stats.isRunning, 1);
        assert_int_equal(nvmlDeviceGetAccountingStats(card(0), 1, &stats), NVML_ERROR_NOT_FOUND);
        tenant_kill(tenant);
        wait_until_empty();
}

static void lose_work(void)
{
        store_release(&node_get()->device[2].is_lost, 1);
}

/* Last of all: a card that is lost stays lost. */
static void a_lost_card_says_so_and_raises_an_event(void **state)
{
        nvmlDevice_t lost = card(2), found;
        nvmlEventSet_t set;
        nvmlEventData_t event;
        nvmlMemory_t memory;
        unsigned count;

        assert_int_equal(nvmlEventSetCreate(&set), NVML_SUCCESS);
        assert_int_equal(nvmlDeviceRegisterEvents(lost, nvmlEventTypeXidCriticalError, set),
                         NVML_SUCCESS);
        assert_int_equal(nvmlEventSetWait_v2(set, &event, 1), NVML_ERROR_TIMEOUT);
        tenant_kill(tenant_start(lose_work));

        assert_int_equal(nvmlDeviceGetMemoryInfo(lost, &memory), NVML_ERROR_GPU_IS_LOST);
        assert_int_equal(nvmlDeviceGetHandleByIndex_v2(2, &found), NVML_ERROR_GPU_IS_LOST);
        assert_int_equal(nvmlDeviceGetMemoryInfo(card(0), &memory), NVML_SUCCESS);
        assert_int_equal(nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
        assert_int_equal(count, 3);
        assert_int_equal(nvmlEventSetWait_v2(set, &event, 5000), NVML_SUCCESS);
        assert_ptr_equal(event.device, lost);
        assert_int_equal(event.eventType, nvmlEventTypeXidCriticalError);
        assert_int_equal(event.eventData, 79);
        assert_int_equal(nvmlEventSetWait_v2(set, &event, 1), NVML_ERROR_TIMEOUT);
        assert_int_equal(nvmlEventSetFree(set), NVML_SUCCESS);
}

static int prepare(void **state)
{
        if (node_prepare("gpus=3,memory=1GiB,model=h200,host=1000MiB,draining=300ms") != 0)
                return -1;
        return nvmlInit_v2();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(processes_are_listed_with_their_bytes),
                cmocka_unit_test(the_oldest_list_has_small_entries),
                cmocka_unit_test(too_little_room_tells_how_much_is_needed),
                cmocka_unit_test(the_dead_stay_until_their_memory_has_drained),
                cmocka_unit_test(shares_follow_from_what_ran),
                cmocka_unit_test(samples_are_newer_than_the_last_seen),
                cmocka_unit_test(accounting_knows_who_is_there),
                cmocka_unit_test(a_lost_card_says_so_and_raises_an_event),
        };

        return cmocka_run_group_tests(tests, prepare, node_finish);
}
