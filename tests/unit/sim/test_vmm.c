/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual memory management: physical memory lives until its last handle and its last mapping are
 * gone, access is what was set, and what is shared between processes is one memory, counted once.
 */
#include "memory_child.h"

#include <string.h>
#include <unistd.h>

static int setup(void **state)
{
        stage_open("gpus=2,memory=1GiB,model=t4,context=16MiB", "vmm");
        return 0;
}

static const CUmemAccessDesc open_to_0 = { { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
                                           CU_MEM_ACCESS_FLAGS_PROT_READWRITE };

/* The first story forks before the driver starts. */
static void begin(void)
{
        CUcontext current;

        if (cuCtxGetCurrent(&current) != CUDA_SUCCESS || !current)
                stage_context();
}

static void physical_memory_outlives_its_handle_while_mapped(void **state)
{
        CUdeviceptr space;
        CUmemGenericAllocationHandle handle, again;

        begin();
        assert_ok(cuMemAddressReserve(&space, 4 * SEGMENT, 0, 0, 0));
        assert_int_equal(stage_granted(0, FAMILY_VMM), 0);
        assert_ok(cuMemCreate(&handle, 2 * SEGMENT, &exportable, 0));
        assert_int_equal(stage_granted(0, FAMILY_VMM), 2 * SEGMENT);
        assert_ok(cuMemMap(space, 2 * SEGMENT, 0, handle, 0));
        assert_ok(cuMemRelease(handle));
        assert_int_equal(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(stage_granted(0, FAMILY_VMM), 2 * SEGMENT);
        assert_ok(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(space + 100)));
        assert_ok(cuMemUnmap(space, 2 * SEGMENT));
        assert_int_equal(stage_granted(0, FAMILY_VMM), 2 * SEGMENT);
        assert_ok(cuMemRelease(again));
        assert_int_equal(stage_granted(0, FAMILY_VMM), 0);
        assert_ok(cuMemAddressFree(space, 4 * SEGMENT));
}

static void data_stays_when_the_mapping_moves(void **state)
{
        CUdeviceptr space;
        CUmemGenericAllocationHandle handle;

        begin();
        assert_ok(cuMemAddressReserve(&space, 4 * SEGMENT, 0, 0, 0));
        assert_ok(cuMemCreate(&handle, SEGMENT, &exportable, 0));
        assert_ok(cuMemMap(space, SEGMENT, 0, handle, 0));
        assert_ok(cuMemSetAccess(space, SEGMENT, &open_to_0, 1));
        memset((void *)(uintptr_t)space, 0x77, SEGMENT);
        assert_ok(cuMemMap(space + 2 * SEGMENT, SEGMENT, 0, handle, 0));
        assert_ok(cuMemSetAccess(space + 2 * SEGMENT, SEGMENT, &open_to_0, 1));
        assert_ok(cuMemUnmap(space, SEGMENT));
        assert_int_equal(*(unsigned char *)(uintptr_t)(space + 2 * SEGMENT + 5), 0x77);
        assert_int_equal(cuMemAddressFree(space, 4 * SEGMENT), CUDA_ERROR_INVALID_VALUE);
        assert_ok(cuMemUnmap(space + 2 * SEGMENT, SEGMENT));
        assert_ok(cuMemRelease(handle));
        assert_ok(cuMemAddressFree(space, 4 * SEGMENT));
}

static void access_is_what_was_set_and_nothing_before(void **state)
{
        CUdeviceptr space;
        CUmemGenericAllocationHandle handle;
        CUmemLocation here = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
        CUmemLocation there = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 };
        CUmemAccessDesc read_only = { here, CU_MEM_ACCESS_FLAGS_PROT_READ };
        unsigned long long flags;
        unsigned access;

        begin();
        assert_ok(cuMemAddressReserve(&space, SEGMENT, 0, 0, 0));
        assert_ok(cuMemCreate(&handle, SEGMENT, &exportable, 0));
        assert_int_equal(cuMemSetAccess(space, SEGMENT, &open_to_0, 1), CUDA_ERROR_INVALID_VALUE);
        assert_ok(cuMemMap(space, SEGMENT, 0, handle, 0));
        assert_ok(cuMemGetAccess(&flags, &here, space));
        assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
        assert_ok(cuMemSetAccess(space, SEGMENT, &read_only, 1));
        assert_ok(cuMemGetAccess(&flags, &here, space));
        assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READ);
        assert_ok(cuMemGetAccess(&flags, &there, space));
        assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
        assert_ok(cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, space));
        assert_int_equal(access, CU_MEM_ACCESS_FLAGS_PROT_READ);
        assert_ok(cuMemUnmap(space, SEGMENT));
        assert_ok(cuMemRelease(handle));
        assert_ok(cuMemAddressFree(space, SEGMENT));
}

static void sizes_and_places_follow_the_granularity(void **state)
{
        CUdeviceptr space;
        CUmemGenericAllocationHandle handle;
        size_t grain;

        begin();
        assert_ok(cuMemGetAllocationGranularity(&grain, &exportable,
                                                CU_MEM_ALLOC_GRANULARITY_MINIMUM));
        assert_int_equal(cuMemCreate(&handle, grain + 1, &exportable, 0), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuMemCreate(&handle, 2 * GIB, &exportable, 0), CUDA_ERROR_OUT_OF_MEMORY);
        assert_int_equal(cuMemAddressReserve(&space, grain / 2, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
        assert_ok(cuMemAddressReserve(&space, 2 * grain, 64 * grain, 0, 0));
        assert_int_equal(space % (64 * grain), 0);
        assert_ok(cuMemCreate(&handle, 2 * grain, &exportable, 0));
        assert_int_equal(cuMemMap(space, 4 * grain, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
        assert_ok(cuMemMap(space, 2 * grain, 0, handle, 0));
        assert_int_equal(cuMemMap(space, 2 * grain, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuMemUnmap(space, grain), CUDA_ERROR_INVALID_VALUE);
        assert_ok(cuMemUnmap(space, 2 * grain));
        assert_ok(cuMemRelease(handle));
        assert_ok(cuMemAddressFree(space, 2 * grain));
}

/* Imports what comes, checks and changes the data, and ends when it is told. */
static int importer(int channel)
{
        CUdeviceptr space;
        CUmemGenericAllocationHandle handle;
        int fd = receive_from(channel);

        if (fd < 0 || child_begin())
                return 1;
        if (cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
                return 2;
        if (cuMemAddressReserve(&space, SEGMENT, 0, 0, 0) ||
            cuMemMap(space, SEGMENT, 0, handle, 0) || cuMemSetAccess(space, SEGMENT, &open_to_0, 1))
                return 3;
        if (*(volatile unsigned char *)(uintptr_t)space != 0x11)
                return 4;
        *(volatile unsigned char *)(uintptr_t)space = 0x22;
        close(fd);
        send_to(channel, -1);
        receive_from(channel);
        return 0;
}

static void an_exported_memory_is_one_and_counted_once_a_tag(void **state)
{
        int channel, fd;
        pid_t child = child_start(importer, &channel);
        CUdeviceptr space;
        CUmemGenericAllocationHandle handle;

        begin();
        uint64_t device_before = stage_device_current(0);
        assert_ok(cuMemAddressReserve(&space, SEGMENT, 0, 0, 0));
        assert_ok(cuMemCreate(&handle, SEGMENT, &exportable, 0));
        assert_ok(cuMemMap(space, SEGMENT, 0, handle, 0));
        assert_ok(cuMemSetAccess(space, SEGMENT, &open_to_0, 1));
        *(volatile unsigned char *)(uintptr_t)space = 0x11;
        assert_ok(cuMemExportToShareableHandle(&fd, handle,
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        send_to(channel, fd);
        close(fd);
        receive_from(channel);
        assert_int_equal(*(volatile unsigned char *)(uintptr_t)space, 0x22);
        /* The memory, and the child's context. */
        assert_int_equal(stage_device_current(0), device_before + SEGMENT + 16 * MIB);
        assert_int_equal(stage_tag_current("vmm", 0), 2 * 16 * MIB + SEGMENT);

        assert_ok(cuMemUnmap(space, SEGMENT));
        assert_ok(cuMemRelease(handle));
        /* The child has it still, and carries it now. */
        assert_int_equal(stage_granted(0, FAMILY_VMM), 0);
        assert_int_equal(stage_device_current(0), device_before + SEGMENT + 16 * MIB);
        assert_int_equal(stage_tag_current("vmm", 0), 2 * 16 * MIB + SEGMENT);
        send_to(channel, -1);
        child_ends(child);
        assert_int_equal(stage_device_settles(0, device_before), device_before);
        assert_int_equal(stage_tag_current("vmm", 0), 16 * MIB);
        assert_ok(cuMemAddressFree(space, SEGMENT));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_exported_memory_is_one_and_counted_once_a_tag),
                cmocka_unit_test(physical_memory_outlives_its_handle_while_mapped),
                cmocka_unit_test(data_stays_when_the_mapping_moves),
                cmocka_unit_test(access_is_what_was_set_and_nothing_before),
                cmocka_unit_test(sizes_and_places_follow_the_granularity),
        };

        return cmocka_run_group_tests(tests, setup, stage_close);
}
