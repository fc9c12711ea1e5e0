/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVML tells of a card: one card by every name, both generations of every struct, its memory,
 * and that looking leaves no trace.
 */
#include "nvml_tenant.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void a_card_is_the_same_by_every_name(void **state)
{
        for (unsigned i = 0; i < 3; i++) {
                char uuid[96], serial[30];
                nvmlPciInfo_t pci;
                nvmlDevice_t found;
                unsigned index;

                assert_int_equal(nvmlDeviceGetUUID(card(i), uuid, sizeof(uuid)), NVML_SUCCESS);
                assert_int_equal(nvmlDeviceGetHandleByUUID(uuid, &found), NVML_SUCCESS);
                assert_ptr_equal(found, card(i));
                assert_int_equal(nvmlDeviceGetPciInfo_v3(card(i), &pci), NVML_SUCCESS);
                assert_int_equal(nvmlDeviceGetHandleByPciBusId_v2(pci.busId, &found), NVML_SUCCESS);
                assert_ptr_equal(found, card(i));
                assert_int_equal(nvmlDeviceGetHandleByPciBusId_v2(pci.busIdLegacy, &found),
                                 NVML_SUCCESS);
                assert_ptr_equal(found, card(i));
                assert_int_equal(nvmlDeviceGetSerial(card(i), serial, sizeof(serial)),
                                 NVML_SUCCESS);
                assert_int_equal(nvmlDeviceGetHandleBySerial(serial, &found), NVML_SUCCESS);
                assert_ptr_equal(found, card(i));
                assert_int_equal(nvmlDeviceGetIndex(found, &index), NVML_SUCCESS);
                assert_int_equal(index, i);
        }
}

static void what_does_not_exist_is_not_found(void **state)
{
        nvmlDevice_t found;

        assert_int_equal(nvmlDeviceGetHandleByIndex_v2(3, &found), NVML_ERROR_INVALID_ARGUMENT);
        assert_int_equal(
                nvmlDeviceGetHandleByUUID("GPU-00000000-0000-0000-0000-000000000000", &found),
                NVML_ERROR_NOT_FOUND);
        assert_int_equal(nvmlDeviceGetHandleByPciBusId_v2("00000000:fe:00.0", &found),
                         NVML_ERROR_NOT_FOUND);
        assert_int_equal(nvmlDeviceGetHandleByPciBusId_v2("no address", &found),
                         NVML_ERROR_INVALID_ARGUMENT);
        assert_int_equal(nvmlDeviceGetHandleBySerial("0", &found), NVML_ERROR_NOT_FOUND);
}

/* A program built with the old header has a struct that ends before busId. */
static void the_old_pci_call_stays_within_the_old_struct(void **state)
{
        nvmlPciInfo_t pci;
        char untouched[sizeof(pci.busId)];

        memset(&pci, 0x5a, sizeof(pci));
        memset(untouched, 0x5a, sizeof(untouched));
        assert_int_equal(nvmlDeviceGetPciInfo(card(1), &pci), NVML_SUCCESS);
        assert_string_equal(pci.busIdLegacy, "0000:03:00.0");
        assert_memory_equal(pci.busId, untouched, sizeof(untouched));
        assert_int_equal(nvmlDeviceGetPciInfo_v2(card(1), &pci), NVML_SUCCESS);
        assert_memory_equal(pci.busId, untouched, sizeof(untouched));
        assert_int_equal(nvmlDeviceGetPciInfo_v3(card(1), &pci), NVML_SUCCESS);
        assert_string_equal(pci.busId, "00000000:03:00.0");
        assert_int_equal(pci.pciDeviceId & 0xffff, 0x10de);
}

static void a_text_that_does_not_fit_is_not_cut(void **state)
{
        char name[96] = "before";

        assert_int_equal(nvmlDeviceGetName(card(0), name, 5), NVML_ERROR_INSUFFICIENT_SIZE);
        assert_string_equal(name, "before");
        assert_int_equal(nvmlDeviceGetName(card(0), name, sizeof(name)), NVML_SUCCESS);
        assert_string_equal(name, "NVIDIA A100-SXM4-80GB");
}

static void a_struct_of_another_version_is_refused(void **state)
{
        nvmlMemory_v2_t memory = { .version = nvmlMemory_v2 + (1u << 24) };
        nvmlTemperature_t temperature = { .version = 0 };

        assert_int_equal(nvmlDeviceGetMemoryInfo_v2(card(0), &memory),
                         NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
        assert_int_equal(nvmlDeviceGetTemperatureV(card(0), &temperature),
                         NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

static void tenant_work(void)
{
        tenant_allocate(1, 99 * MIB);
}

/* The old call counts what is reserved as used, the new one apart; free is CUDA's free. */
static void memory_is_what_was_granted(void **state)
{
        nvmlMemory_t memory;
        nvmlMemory_v2_t memory_v2 = { .version = nvmlMemory_v2 };
        pid_t tenant = tenant_start(tenant_work);

        assert_int_equal(nvmlDeviceGetMemoryInfo(card(1), &memory), NVML_SUCCESS);
        assert_int_equal(memory.total, 1048 * MIB);
        assert_int_equal(memory.used, 124 * MIB);
        assert_int_equal(memory.free, 924 * MIB);
        assert_int_equal(nvmlDeviceGetMemoryInfo_v2(card(1), &memory_v2), NVML_SUCCESS);
        assert_int_equal(memory_v2.total, 1048 * MIB);
        assert_int_equal(memory_v2.reserved, 24 * MIB);
        assert_int_equal(memory_v2.used, 100 * MIB);
        assert_int_equal(memory_v2.free, 924 * MIB);
        assert_int_equal(nvmlDeviceGetMemoryInfo(card(0), &memory), NVML_SUCCESS);
        assert_int_equal(memory.used, 24 * MIB);
        tenant_kill(tenant);
}

/* A reader of NVML is no process on the GPU. */
static void looking_takes_no_row(void **state)
{
        nvmlMemory_t memory;
        unsigned count = 0;

        assert_int_equal(nvmlInit_v2(), NVML_SUCCESS);
        assert_int_equal(nvmlDeviceGetMemoryInfo(card(0), &memory), NVML_SUCCESS);
        assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(card(0), &count, NULL),
                         NVML_SUCCESS);
        assert_int_equal(count, 0);
        assert_int_equal(node_rows_taken(), 0);
        assert_int_equal(nvmlShutdown(), NVML_SUCCESS);
}

static void the_environment_hides_no_card(void **state)
{
        unsigned count;

        assert_int_equal(nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
        assert_int_equal(count, 3);
}

static void an_idle_card_is_cool_slow_and_frugal(void **state)
{
        unsigned celsius, mw, limit_mw, mhz;
        nvmlPstates_t pstate;
        unsigned long long reasons;
        nvmlUtilization_t rates;

        assert_int_equal(nvmlDeviceGetUtilizationRates(card(2), &rates), NVML_SUCCESS);
        assert_int_equal(rates.gpu, 0);
        assert_int_equal(nvmlDeviceGetTemperature(card(2), NVML_TEMPERATURE_GPU, &celsius),
                         NVML_SUCCESS);
        assert_in_range(celsius, 20, 45);
        assert_int_equal(nvmlDeviceGetPowerUsage(card(2), &mw), NVML_SUCCESS);
        assert_int_equal(nvmlDeviceGetEnforcedPowerLimit(card(2), &limit_mw), NVML_SUCCESS);
        assert_true(mw * 4 < limit_mw);
        assert_int_equal(nvmlDeviceGetClockInfo(card(2), NVML_CLOCK_SM, &mhz), NVML_SUCCESS);
        assert_int_equal(mhz, 210);
        assert_int_equal(nvmlDeviceGetPerformanceState(card(2), &pstate), NVML_SUCCESS);
        assert_int_equal(pstate, NVML_PSTATE_0);
        assert_int_equal(nvmlDeviceGetCurrentClocksEventReasons(card(2), &reasons), NVML_SUCCESS);
        assert_int_equal(reasons, nvmlClocksEventReasonGpuIdle);
        assert_int_equal(nvmlDeviceGetFanSpeed(card(2), &mhz), NVML_ERROR_NOT_SUPPORTED);
}

static void an_unknown_field_fails_alone(void **state)
{
        nvmlFieldValue_t fields[3] = { { .fieldId = NVML_FI_DEV_POWER_INSTANT },
                                       { .fieldId = 40000 },
                                       { .fieldId = NVML_FI_DEV_ECC_CURRENT } };

        assert_int_equal(nvmlDeviceGetFieldValues(card(0), 3, fields), NVML_SUCCESS);
        assert_int_equal(fields[0].nvmlReturn, NVML_SUCCESS);
        assert_int_equal(fields[0].value.uiVal, 55000);
        assert_int_equal(fields[1].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
        assert_int_equal(fields[2].nvmlReturn, NVML_SUCCESS);
        assert_int_equal(fields[2].value.uiVal, NVML_FEATURE_ENABLED);
}

static int prepare(void **state)
{
        setenv("CUDA_VISIBLE_DEVICES", "2", 1);
        if (node_prepare("gpus=3,memory=1GiB,reserved=24MiB,model=a100,draining=0") != 0)
                return -1;
        return nvmlInit_v2();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_card_is_the_same_by_every_name),
                cmocka_unit_test(what_does_not_exist_is_not_found),
                cmocka_unit_test(the_old_pci_call_stays_within_the_old_struct),
                cmocka_unit_test(a_text_that_does_not_fit_is_not_cut),
                cmocka_unit_test(a_struct_of_another_version_is_refused),
                cmocka_unit_test(memory_is_what_was_granted),
                cmocka_unit_test(looking_takes_no_row),
                cmocka_unit_test(the_environment_hides_no_card),
                cmocka_unit_test(an_idle_card_is_cool_slow_and_frugal),
                cmocka_unit_test(an_unknown_field_fails_alone),
        };

        return cmocka_run_group_tests(tests, prepare, node_finish);
}
