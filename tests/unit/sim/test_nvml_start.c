/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML's beginning and end, its names, and what it answers where it has no answer.
 */
#include "nvml_tenant.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void nothing_answers_before_init(void **state)
{
        unsigned count;
        char text[80];
        nvmlDevice_t handle;
        nvmlMemory_t memory;
        nvmlEventSet_t set;

        assert_int_equal(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
        assert_int_equal(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
        assert_int_equal(nvmlDeviceGetHandleByIndex_v2(0, &handle), NVML_ERROR_UNINITIALIZED);
        assert_int_equal(nvmlDeviceGetMemoryInfo(NULL, &memory), NVML_ERROR_UNINITIALIZED);
        assert_int_equal(nvmlSystemGetDriverVersion(text, sizeof(text)), NVML_ERROR_UNINITIALIZED);
        assert_int_equal(nvmlDeviceGetMaxPcieLinkWidth(NULL, &count), NVML_ERROR_UNINITIALIZED);
        assert_int_equal(nvmlEventSetCreate(&set), NVML_ERROR_UNINITIALIZED);
}

static void the_cuda_version_is_known_before_init(void **state)
{
        int version;

        assert_int_equal(nvmlSystemGetCudaDriverVersion(&version), NVML_SUCCESS);
        assert_int_equal(version, 12020);
        assert_int_equal(nvmlSystemGetCudaDriverVersion_v2(&version), NVML_SUCCESS);
        assert_int_equal(version, 12020);
}

static void init_and_shutdown_are_counted(void **state)
{
        unsigned count;

        assert_int_equal(nvmlInit_v2(), NVML_SUCCESS);
        assert_int_equal(nvmlInitWithFlags(0), NVML_SUCCESS);
        assert_int_equal(nvmlShutdown(), NVML_SUCCESS);
        assert_int_equal(nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
        assert_int_equal(count, 2);
        assert_int_equal(nvmlShutdown(), NVML_SUCCESS);
        assert_int_equal(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
        assert_int_equal(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
        assert_int_equal(nvmlInitWithFlags(1u << 20), NVML_ERROR_INVALID_ARGUMENT);
}

static void versions_are_those_of_the_configured_driver(void **state)
{
        char text[80];

        assert_int_equal(nvmlSystemGetDriverVersion(text, sizeof(text)), NVML_SUCCESS);
        assert_string_equal(text, "535.104.05");
        assert_int_equal(nvmlSystemGetNVMLVersion(text, sizeof(text)), NVML_SUCCESS);
        assert_string_equal(text, "12.535.104.05");
        assert_int_equal(nvmlSystemGetDriverVersion(text, 4), NVML_ERROR_INSUFFICIENT_SIZE);
        assert_int_equal(nvmlSystemGetDriverVersion(NULL, 80), NVML_ERROR_INVALID_ARGUMENT);
}

static void errors_have_names(void **state)
{
        assert_string_equal(nvmlErrorString(NVML_SUCCESS), "Success");
        assert_string_equal(nvmlErrorString(NVML_ERROR_GPU_IS_LOST), "GPU is lost");
        assert_string_equal(nvmlErrorString(NVML_ERROR_UNKNOWN), "Unknown Error");
        assert_string_equal(nvmlErrorString((nvmlReturn_t)-5), "Unknown Error");
}

/* Every tool finds every name: what the table lists is exported, and what is not modelled says so.
 */
static void every_name_of_the_table_is_there(void **state)
{
        FILE *table = fopen(getenv("NVML_API"), "re");
        void *library = dlopen(getenv("NVML_LIBRARY"), RTLD_NOW);
        char line[256], name[128];
        unsigned found = 0;

        assert_non_null(table);
        assert_non_null(library);
        while (fgets(line, sizeof(line), table)) {
                if (sscanf(line, "%127s", name) != 1 || strncmp(name, "nvml", 4) != 0)
                        continue;
                if (!dlsym(library, name))
                        fail_msg("%s is not exported", name);
                found++;
        }
        fclose(table);
        assert_true(found >= 332);
}

static void what_is_not_modelled_is_not_supported(void **state)
{
        nvmlEnableState_t is_active;

        assert_int_equal(nvmlDeviceGetNvLinkState(card(0), 0, &is_active),
                         NVML_ERROR_NOT_SUPPORTED);
        assert_int_equal(nvmlDeviceSetPersistenceMode(card(0), NVML_FEATURE_DISABLED),
                         NVML_ERROR_NOT_SUPPORTED);
}

/* nvidia-smi refuses to work without this table; it calls slots 25, 71, 80 and 212. */
static void the_private_table_supports_nothing(void **state)
{
        static const unsigned char known[16] = { 0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e,
                                                 0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4 };
        static const unsigned char unknown[16] = { 1 };
        nvmlReturn_t (*get)(const void **, const void *) =
                (nvmlReturn_t(*)(const void **, const void *))dlsym(RTLD_DEFAULT,
                                                                    "nvmlInternalGetExportTable");
        const void *table;

        assert_non_null(get);
        assert_int_equal(get(&table, known), NVML_SUCCESS);
        for (unsigned slot = 0; slot < 256; slot++)
                assert_int_equal(((int (*const *)(void))table)[slot](), NVML_ERROR_NOT_SUPPORTED);
        assert_int_equal(get(&table, unknown), NVML_ERROR_NOT_FOUND);
}

static void a_foreign_handle_is_refused(void **state)
{
        unsigned value;
        nvmlDevice_t inside = (nvmlDevice_t)((uintptr_t)card(0) + 1);

        assert_int_equal(nvmlDeviceGetIndex(NULL, &value), NVML_ERROR_INVALID_ARGUMENT);
        assert_int_equal(nvmlDeviceGetIndex((nvmlDevice_t)&value, &value),
                         NVML_ERROR_INVALID_ARGUMENT);
        assert_int_equal(nvmlDeviceGetIndex(inside, &value), NVML_ERROR_INVALID_ARGUMENT);
        assert_int_equal(nvmlDeviceGetIndex(card(0), NULL), NVML_ERROR_INVALID_ARGUMENT);
}

/* fail=nvmlDeviceGetTemperature:2:15 */
static void a_fault_rule_hits_its_call(void **state)
{
        unsigned celsius;
        nvmlDevice_t handle = card(0);

        assert_int_equal(nvmlDeviceGetTemperature(handle, NVML_TEMPERATURE_GPU, &celsius),
                         NVML_SUCCESS);
        assert_int_equal(nvmlDeviceGetTemperature(handle, NVML_TEMPERATURE_GPU, &celsius),
                         NVML_ERROR_GPU_IS_LOST);
        assert_int_equal(nvmlDeviceGetTemperature(handle, NVML_TEMPERATURE_GPU, &celsius),
                         NVML_SUCCESS);
}

static int prepare(void **state)
{
        return node_prepare("gpus=2,memory=1GiB,driver=12020,fail=nvmlDeviceGetTemperature:2:15");
}

static int init(void **state)
{
        return nvmlInit_v2();
}

static int shutdown(void **state)
{
        return nvmlShutdown();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(nothing_answers_before_init),
                cmocka_unit_test(the_cuda_version_is_known_before_init),
                cmocka_unit_test(init_and_shutdown_are_counted),
                cmocka_unit_test(errors_have_names),
                cmocka_unit_test(every_name_of_the_table_is_there),
                cmocka_unit_test(the_private_table_supports_nothing),
                cmocka_unit_test_setup_teardown(versions_are_those_of_the_configured_driver, init,
                                                shutdown),
                cmocka_unit_test_setup_teardown(what_is_not_modelled_is_not_supported, init,
                                                shutdown),
                cmocka_unit_test_setup_teardown(a_foreign_handle_is_refused, init, shutdown),
                cmocka_unit_test_setup_teardown(a_fault_rule_hits_its_call, init, shutdown),
        };

        return cmocka_run_group_tests(tests, prepare, node_discard);
}
