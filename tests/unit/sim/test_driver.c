/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver as a library: what it exports, how entry points are found, which devices are seen, and
 * faults on demand. Each story that needs another configuration runs in a child of its own.
 */
#include "memory_child.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/context/device.h"

static int setup(void **state)
{
        stage_open("gpus=4,memory=1GiB,model=a100,context=16MiB", "");
        return 0;
}

/* Runs the story in a child with these words added to ALIQUOT_SIM; its result must be 0. */
static void in_child(const char *more, int (*story)(void))
{
        pid_t child = fork();

        if (child == 0) {
                char text[512];

                snprintf(text, sizeof(text), "%s%s", getenv("ALIQUOT_SIM"), more);
                setenv("ALIQUOT_SIM", text, 1);
                _exit(story());
        }
        child_ends(child);
}

static void *proc(const char *name, int version, cuuint64_t flags)
{
        void *address = (void *)1;
        CUdriverProcAddressQueryResult status = 77;

        assert_int_equal(cuGetProcAddress_v2(name, &address, version, flags, &status),
                         CUDA_SUCCESS);
        assert_int_equal(status == CU_GET_PROC_ADDRESS_SUCCESS, address != NULL);
        return address;
}

static void an_entry_point_follows_name_version_and_flags(void **state)
{
        assert_ptr_equal(proc("cuMemAlloc", 2000, 0), cuMemAlloc);
        assert_ptr_equal(proc("cuMemAlloc", 12000, 0), cuMemAlloc_v2);
        assert_ptr_equal(proc("cuGetProcAddress", 11030, 0), cuGetProcAddress);
        assert_ptr_equal(proc("cuGetProcAddress", 12000, 0), cuGetProcAddress_v2);
        assert_ptr_equal(proc("cuMemcpyHtoD", 12000, 0), cuMemcpyHtoD_v2);
        assert_ptr_equal(proc("cuMemcpyHtoD", 12000, 2), cuMemcpyHtoD_v2_ptds);
        assert_ptr_equal(proc("cuMemAllocAsync", 12000, 2), cuMemAllocAsync_ptsz);
        assert_ptr_equal(proc("cuMemAllocAsync", 12000, 3), cuMemAllocAsync_ptsz);
        assert_ptr_equal(proc("cuMemAlloc", 12000, 2), cuMemAlloc_v2);
        assert_ptr_equal(proc("cuMemAlloc", -1, 0), cuMemAlloc_v2);
        assert_ptr_equal(proc("cuGraphInstantiate", 11040, 0), cuGraphInstantiate_v2);
        assert_ptr_equal(proc("cuGraphInstantiate", 12000, 0), cuGraphInstantiateWithFlags);
}

/* As libcuda.so of the drivers 535 to 595 says it: the newer form tells why, and answers well. */
static void what_is_not_there_is_said_to_be_so(void **state)
{
        void *untouched = &untouched, *address = untouched;
        CUdriverProcAddressQueryResult status;
        CUuuid table = { { 0 } };
        const void *found;

        assert_int_equal(cuGetProcAddress_v2("cuNoSuch", &address, 13000, 0, &status),
                         CUDA_SUCCESS);
        assert_null(address);
        assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
        assert_int_equal(cuGetProcAddress_v2("cuMemAllocAsync", &address, 11010, 0, &status),
                         CUDA_SUCCESS);
        assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
        address = untouched;
        assert_int_equal(cuGetProcAddress("", &address, 13000, 0), CUDA_ERROR_NOT_FOUND);
        assert_int_equal(cuGetProcAddress_v2("cuInit", &address, 13001, 0, &status),
                         CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuGetProcAddress("cuInit", &address, 13000, 4), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuGetProcAddress(NULL, &address, 13000, 0), CUDA_ERROR_INVALID_VALUE);
        assert_ptr_equal(address, untouched);
        assert_int_equal(cuGetExportTable(&found, &table), CUDA_ERROR_NOT_FOUND);
}

static int older_driver(void)
{
        int version;

        if (cuDriverGetVersion(&version) || version != 12020)
                return 1;
        if (proc("cuCtxCreate", 13000, 0) != (void *)cuCtxCreate_v3)
                return 2;
        return proc("cuCheckpointProcessLock", 13000, 0) ? 3 : 0;
}

static void an_older_driver_lacks_newer_names(void **state)
{
        in_child(",driver=12020", older_driver);
}

/* Every name of the list can be looked up: a program bound to it must at least start. */
static void every_name_of_the_interface_is_exported(void **state)
{
        const char *path = getenv("SIM_CUDA_NAMES");
        char line[256];
        unsigned count = 0;

        assert_non_null(path);
        FILE *names = fopen(path, "r");
        assert_non_null(names);
        while (fgets(line, sizeof(line), names)) {
                line[strcspn(line, " \n")] = '\0';
                if (line[0] == '#')
                        continue;
                if (!dlsym(RTLD_DEFAULT, line))
                        fail_msg("%s is not exported", line);
                count++;
        }
        fclose(names);
        assert_in_range(count, 600, 1000);
}

static void results_have_names_and_texts(void **state)
{
        const char *text;

        assert_ok(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
        assert_string_equal(text, "CUDA_ERROR_OUT_OF_MEMORY");
        assert_ok(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
        assert_string_equal(text, "out of memory");
        assert_int_equal(cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
}

static struct sim_node fake;

static void visible(const char *text, unsigned count, const unsigned *units)
{
        struct device_list list;

        device_list_parse(text, &fake, &list);
        if (list.count != count)
                fail_msg("'%s': %u devices, expected %u", text ? text : "(unset)", list.count,
                         count);
        for (unsigned i = 0; i < count; i++)
                assert_int_equal(list.unit[i], units[i]);
}

static void the_visible_list_takes_every_form(void **state)
{
        fake.device_count = 4;
        for (unsigned i = 0; i < 4; i++)
                memset(fake.device[i].uuid, (int)(0x11 * (i + 1)), 16);
        fake.device[3].uuid[15] = 0x45;
        memcpy(fake.device[2].uuid, fake.device[3].uuid, 15);
        visible(NULL, 4, (unsigned[]){ 0, 1, 2, 3 });
        visible("", 0, NULL);
        visible("2,0", 2, (unsigned[]){ 2, 0 });
        visible(" 1 , 3", 2, (unsigned[]){ 1, 3 });
        visible("0,-1,1", 1, (unsigned[]){ 0 });
        visible("1,9,0", 1, (unsigned[]){ 1 });
        visible("1,1,0", 1, (unsigned[]){ 1 });
        visible("GPU-22", 1, (unsigned[]){ 1 });
        visible("gpu-2222,0", 2, (unsigned[]){ 1, 0 });
        visible("GPU-11111111-1111-1111-1111-111111111111,GPU-22", 2, (unsigned[]){ 0, 1 });
        visible("GPU-44,0", 0, NULL);
        visible("GPU-99", 0, NULL);
        visible("none", 0, NULL);
}

static int two_of_four(void)
{
        CUuuid all, seen;
        int count;

        setenv("CUDA_VISIBLE_DEVICES", "3,1", 1);
        if (cuInit(0) || cuDeviceGetCount(&count) || count != 2)
                return 1;
        struct sim_node *node = node_open_existing(stage_dir());
        memcpy(all.bytes, node->device[3].uuid, 16);
        if (cuDeviceGetUuid_v2(&seen, 0) || memcmp(&seen, &all, 16) != 0)
                return 2;
        CUcontext context;
        CUdeviceptr a;
        if (cuCtxCreate_v2(&context, 0, 1) || cuMemAlloc_v2(&a, MIB))
                return 3;
        return stage_device_current(1) == 17 * MIB && stage_device_current(3) == 0 ? 0 : 4;
}

static int none_of_four(void)
{
        int count;

        setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
        if (cuInit(0) != CUDA_ERROR_NO_DEVICE)
                return 1;
        return cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 2;
}

static void grants_land_on_the_device_that_was_meant(void **state)
{
        in_child("", two_of_four);
        in_child("", none_of_four);
}

static int faults(void)
{
        CUcontext context;
        CUdeviceptr a;

        if (cuMemAlloc_v2(&a, 1) != CUDA_ERROR_NOT_INITIALIZED || cuInit(0) ||
            cuCtxCreate_v2(&context, 0, 0))
                return 1;
        if (cuMemAlloc_v2(&a, 1) || cuMemAlloc_v2(&a, 1) != CUDA_ERROR_OUT_OF_MEMORY ||
            cuMemAlloc_v2(&a, 1) != CUDA_ERROR_OUT_OF_MEMORY || cuMemAlloc_v2(&a, 1))
                return 2;
        return cuDeviceGetCount(NULL) == CUDA_ERROR_UNKNOWN ? 0 : 3;
}

static void the_call_that_shall_fail_fails(void **state)
{
        in_child(",fail=cuMemAlloc:2:2:2,fail=cuDeviceGetCount:1:999", faults);
}

static int loses_its_device(void)
{
        CUcontext context;
        CUdeviceptr a;

        if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuMemAlloc_v2(&a, 1))
                return 1;
        nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
        if (cuMemAlloc_v2(&a, 1) != CUDA_ERROR_DEVICE_UNAVAILABLE)
                return 2;
        if (cuCtxSynchronize() != CUDA_ERROR_DEVICE_UNAVAILABLE)
                return 3;
        if (cuCtxCreate_v2(&context, 0, 0) != CUDA_ERROR_DEVICE_UNAVAILABLE)
                return 4;
        return 0;
}

static void a_lost_device_stays_lost(void **state)
{
        in_child(",lost=200ms", loses_its_device);
}

static int missing(void)
{
        CUresult (*call)(void) = (CUresult(*)(void))dlsym(RTLD_DEFAULT, "cuVDPAUGetDevice");

        return call && call() == CUDA_ERROR_NOT_SUPPORTED ? 0 : 1;
}

static void a_function_that_is_not_modelled_says_not_supported(void **state)
{
        in_child("", missing);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                /* First those with children, which must find the driver untouched. */
                cmocka_unit_test(an_older_driver_lacks_newer_names),
                cmocka_unit_test(grants_land_on_the_device_that_was_meant),
                cmocka_unit_test(the_call_that_shall_fail_fails),
                cmocka_unit_test(a_lost_device_stays_lost),
                cmocka_unit_test(a_function_that_is_not_modelled_says_not_supported),
                cmocka_unit_test(an_entry_point_follows_name_version_and_flags),
                cmocka_unit_test(what_is_not_there_is_said_to_be_so),
                cmocka_unit_test(every_name_of_the_interface_is_exported),
                cmocka_unit_test(results_have_names_and_texts),
                cmocka_unit_test(the_visible_list_takes_every_form),
        };

        return cmocka_run_group_tests(tests, setup, stage_close);
}
