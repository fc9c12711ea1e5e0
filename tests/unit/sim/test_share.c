/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that crosses between processes, or tags, beyond plain handles: pools and their pointers,
 * external memory, holders that die, and tags that each count what they hold.
 */
#include "memory_child.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int setup(void **state)
{
        stage_open("gpus=1,memory=1GiB,model=t4,context=0", "one");
        return 0;
}

static int exports_and_stays(int channel)
{
        CUmemGenericAllocationHandle handle;
        int fd;

        if (child_begin() || cuMemCreate(&handle, SEGMENT, &exportable, 0))
                return 1;
        if (cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0))
                return 2;
        send_to(channel, fd);
        receive_from(channel);
        return 0;
}

static int imports_and_stays(int channel)
{
        CUmemGenericAllocationHandle handle;

        setenv("ALIQUOT_SESSION", "two", 1);
        int fd = receive_from(channel);
        if (child_begin() ||
            cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
                return 1;
        close(fd);
        send_to(channel, -1);
        receive_from(channel);
        return cuMemRelease(handle) ? 2 : 0;
}

static void each_tag_counts_what_it_holds_and_the_device_once(void **state)
{
        int maker_channel, user_channel;
        pid_t maker = child_start(exports_and_stays, &maker_channel);
        pid_t user = child_start(imports_and_stays, &user_channel);
        int fd = receive_from(maker_channel);

        send_to(user_channel, fd);
        close(fd);
        receive_from(user_channel);
        assert_int_equal(stage_device_current(0), SEGMENT);
        assert_int_equal(stage_tag_current("one", 0), SEGMENT);
        assert_int_equal(stage_tag_current("two", 0), SEGMENT);
        /* The maker dies: the other still has the memory. */
        kill(maker, SIGKILL);
        assert_int_equal(waitpid(maker, NULL, 0), maker);
        assert_int_equal(stage_tag_current("one", 0), 0);
        usleep(100000);
        assert_int_equal(stage_tag_current("two", 0), SEGMENT);
        send_to(user_channel, -1);
        child_ends(user);
        assert_int_equal(stage_device_settles(0, 0), 0);
        assert_int_equal(stage_tag_current("two", 0), 0);
}

static int makes_a_pool(int channel)
{
        CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
        CUmemPoolPtrExportData pointer;
        CUmemoryPool pool;
        CUdeviceptr a;
        int fd;

        if (child_begin() || cuMemPoolCreate(&pool, &props) ||
            cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                             0))
                return 1;
        if (cuMemAllocFromPoolAsync(&a, 10000, pool, NULL) || cuMemPoolExportPointer(&pointer, a))
                return 2;
        *(volatile int *)(uintptr_t)a = 41;
        send_to(channel, fd);
        if (write(channel, &pointer, sizeof(pointer)) != sizeof(pointer))
                return 3;
        receive_from(channel);
        if (*(volatile int *)(uintptr_t)a != 42)
                return 4;
        return cuMemFreeAsync(a, NULL) || cuCtxSynchronize() ? 5 : 0;
}

static int uses_a_pool(int channel)
{
        CUmemPoolPtrExportData pointer;
        CUmemoryPool pool;
        CUdeviceptr a, b;
        int fd = receive_from(channel);

        if (read(channel, &pointer, sizeof(pointer)) != sizeof(pointer) || child_begin())
                return 1;
        if (cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd,
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0))
                return 2;
        if (cuMemPoolImportPointer(&a, pool, &pointer) || *(volatile int *)(uintptr_t)a != 41)
                return 3;
        if (cuMemAllocFromPoolAsync(&b, 10000, pool, NULL) == CUDA_SUCCESS)
                return 4;
        *(volatile int *)(uintptr_t)a = 42;
        send_to(channel, -1);
        return cuMemFree_v2(a) ? 5 : 0;
}

static void a_pointer_of_another_processs_pool_is_its_memory(void **state)
{
        CUmemPoolPtrExportData pointer;
        int maker_channel, user_channel;
        pid_t maker = child_start(makes_a_pool, &maker_channel);
        pid_t user = child_start(uses_a_pool, &user_channel);
        int fd = receive_from(maker_channel);

        send_to(user_channel, fd);
        close(fd);
        assert_int_equal(read(maker_channel, &pointer, sizeof(pointer)), sizeof(pointer));
        assert_int_equal(write(user_channel, &pointer, sizeof(pointer)), sizeof(pointer));
        receive_from(user_channel);
        child_ends(user);
        send_to(maker_channel, -1);
        child_ends(maker);
        assert_int_equal(stage_device_settles(0, 0), 0);
}

static int imports_a_file(int channel)
{
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = { .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
                                                  .size = 3 * MIB };
        CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = { .offset = MIB, .size = MIB };
        CUexternalMemory memory;
        CUdeviceptr a;
        int fd = memfd_create("external", 0), copy = dup(fd);
        int value = 0;

        if (child_begin() || ftruncate(fd, 3 * MIB))
                return 1;
        desc.handle.fd = copy;
        if (cuImportExternalMemory(&memory, &desc) || stage_granted(0, FAMILY_IMPORT) != 3 * MIB)
                return 2;
        if (cuExternalMemoryGetMappedBuffer(&a, memory, &buffer))
                return 3;
        *(volatile int *)(uintptr_t)a = 77;
        if (pread(fd, &value, sizeof(value), MIB) != sizeof(value) || value != 77)
                return 4;
        buffer.size = 4 * MIB;
        if (cuExternalMemoryGetMappedBuffer(&a, memory, &buffer) != CUDA_ERROR_INVALID_VALUE)
                return 5;
        if (cuDestroyExternalMemory(memory) || stage_granted(0, FAMILY_IMPORT) != 0)
                return 6;
        return 0;
}

static int asks_for_more_than_there_is(int channel)
{
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = { .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
                                                  .size = 2 * SEGMENT };
        CUmemGenericAllocationHandle handle;
        CUexternalMemory memory;
        int fd, next;

        if (child_begin() || cuMemCreate(&handle, SEGMENT, &exportable, 0))
                return 1;
        if (cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0))
                return 2;
        next = dup(fd);
        close(next);
        desc.handle.fd = fd;
        if (cuImportExternalMemory(&memory, &desc) != CUDA_ERROR_INVALID_VALUE)
                return 3;
        if (dup(fd) != next)
                return 4;
        close(next);
        close(fd);
        return cuMemRelease(handle) ? 5 : 0;
}

/* The descriptor, which stays the caller's, and no other; the memory goes with its maker. */
static void external_memory_that_is_refused_leaves_nothing_open(void **state)
{
        int channel;
        pid_t child = child_start(asks_for_more_than_there_is, &channel);

        child_ends(child);
        close(channel);
        assert_int_equal(stage_device_settles(0, 0), 0);
}

static void external_memory_counts_its_size(void **state)
{
        int channel;
        pid_t child = child_start(imports_a_file, &channel);

        child_ends(child);
        close(channel);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_tag_counts_what_it_holds_and_the_device_once),
                cmocka_unit_test(a_pointer_of_another_processs_pool_is_its_memory),
                cmocka_unit_test(external_memory_counts_its_size),
                cmocka_unit_test(external_memory_that_is_refused_leaves_nothing_open),
        };

        return cmocka_run_group_tests(tests, setup, stage_close);
}
