/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divided cards: instances under their card, with their own memory, name and processes.
 */
#include "nvml_tenant.h"

#include <signal.h>
#include <string.h>

static nvmlDevice_t instance(unsigned card_index, unsigned index)
{
        nvmlDevice_t handle;

        assert_int_equal(nvmlDeviceGetMigDeviceHandleByIndex(card(card_index), index, &handle),
                         NVML_SUCCESS);
        return handle;
}

static void cards_are_counted_whole(void **state)
{
        unsigned count, current, pending, is_instance;
        nvmlDevice_t handle;

        assert_int_equal(nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
        assert_int_equal(count, 2);
        assert_int_equal(nvmlDeviceGetMigMode(card(1), &current, &pending), NVML_SUCCESS);
        assert_int_equal(current, NVML_DEVICE_MIG_ENABLE);
        assert_int_equal(nvmlDeviceGetMaxMigDeviceCount(card(1), &count), NVML_SUCCESS);
        assert_int_equal(count, 7);
        assert_int_equal(nvmlDeviceIsMigDeviceHandle(card(1), &is_instance), NVML_SUCCESS);
        assert_int_equal(is_instance, 0);
        assert_int_equal(nvmlDeviceGetMigDeviceHandleByIndex(card(1), 2, &handle),
                         NVML_ERROR_NOT_FOUND);
}

static void an_instance_knows_its_card_and_its_part(void **state)
{
        nvmlDevice_t handle = instance(1, 1), found;
        char uuid[96], card_uuid[96];
        nvmlMemory_t memory;
        nvmlDeviceAttributes_t attributes;
        unsigned id, is_instance;

        assert_int_equal(nvmlDeviceIsMigDeviceHandle(handle, &is_instance), NVML_SUCCESS);
        assert_int_equal(is_instance, 1);
        assert_int_equal(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle, &found),
                         NVML_SUCCESS);
        assert_ptr_equal(found, card(1));
        assert_int_equal(nvmlDeviceGetUUID(handle, uuid, sizeof(uuid)), NVML_SUCCESS);
        assert_memory_equal(uuid, "MIG-", 4);
        assert_int_equal(nvmlDeviceGetUUID(card(1), card_uuid, sizeof(card_uuid)), NVML_SUCCESS);
        assert_memory_equal(card_uuid, "GPU-", 4);
        assert_int_equal(nvmlDeviceGetHandleByUUID(uuid, &found), NVML_SUCCESS);
        assert_ptr_equal(found, handle);
        assert_int_equal(nvmlDeviceGetGpuInstanceId(handle, &id), NVML_SUCCESS);
        assert_int_equal(id, 2);
        assert_int_equal(nvmlDeviceGetMemoryInfo(handle, &memory), NVML_SUCCESS);
        assert_int_equal(memory.total, 512 * MIB);
        assert_int_equal(nvmlDeviceGetMemoryInfo(card(1), &memory), NVML_SUCCESS);
        assert_int_equal(memory.total, 1024 * MIB);
        assert_int_equal(nvmlDeviceGetAttributes_v2(handle, &attributes), NVML_SUCCESS);
        assert_int_equal(attributes.memorySizeMB, 512);
        assert_int_equal(attributes.multiprocessorCount, 54);
        assert_int_equal(nvmlDeviceGetAttributes_v2(card(1), &attributes),
                         NVML_ERROR_NOT_SUPPORTED);
}

static void what_only_a_card_has_an_instance_refuses(void **state)
{
        unsigned value;
        nvmlUtilization_t rates;

        assert_int_equal(nvmlDeviceGetPowerUsage(instance(0, 0), &value), NVML_ERROR_NOT_SUPPORTED);
        assert_int_equal(nvmlDeviceGetUtilizationRates(instance(0, 0), &rates),
                         NVML_ERROR_NOT_SUPPORTED);
        assert_int_equal(nvmlDeviceGetUtilizationRates(card(0), &rates), NVML_ERROR_NOT_SUPPORTED);
        assert_int_equal(nvmlDeviceGetPowerUsage(card(0), &value), NVML_SUCCESS);
}

static void tenant_work(void)
{
        tenant_allocate(3, 9 * MIB); /* the second instance of the second card */
}

static void a_process_is_on_its_instance_and_its_card(void **state)
{
        nvmlProcessInfo_t info;
        unsigned count = 1;
        pid_t tenant = tenant_start(tenant_work);

        assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(card(1), &count, &info),
                         NVML_SUCCESS);
        assert_int_equal(count, 1);
        assert_int_equal(info.pid, tenant);
        assert_int_equal(info.gpuInstanceId, 2);
        assert_int_equal(info.computeInstanceId, 0);
        assert_int_equal(info.usedGpuMemory, 10 * MIB);
        count = 1;
        assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(instance(1, 0), &count, &info),
                         NVML_SUCCESS);
        assert_int_equal(count, 0);
        count = 1;
        assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(instance(1, 1), &count, &info),
                         NVML_SUCCESS);
        assert_int_equal(count, 1);
        tenant_kill(tenant);
}

static int prepare(void **state)
{
        if (node_prepare("gpus=2,memory=1GiB,model=a100,mig=2") != 0)
                return -1;
        return nvmlInit_v2();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(cards_are_counted_whole),
                cmocka_unit_test(an_instance_knows_its_card_and_its_part),
                cmocka_unit_test(what_only_a_card_has_an_instance_refuses),
                cmocka_unit_test(a_process_is_on_its_instance_and_its_card),
        };

        return cmocka_run_group_tests(tests, prepare, node_finish);
}
