/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that uses reserved addresses where nothing is mapped, or no longer: the sticky error 700, as
 * on hardware, and never the end of the process.
 *
 * Each story breaks a context, so a child plays it; its exit code tells what the context answered.
 */
#include "exec_stage.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

struct block {
        CUdeviceptr at;
        uint64_t bytes;
        CUmemGenericAllocationHandle handle;
};

static struct block block_reserve(uint64_t bytes)
{
        struct block block = { .bytes = bytes };

        ok(cuMemAddressReserve(&block.at, bytes, 0, 0, 0));
        return block;
}

static struct block block_make(uint64_t bytes)
{
        const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                           .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
        const CUmemAccessDesc access = { prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
        struct block block = block_reserve(bytes);

        ok(cuMemCreate(&block.handle, bytes, &prop, 0));
        ok(cuMemMap(block.at, bytes, 0, block.handle, 0));
        ok(cuMemSetAccess(block.at, bytes, &access, 1));
        return block;
}

static void a_kernel_fills_what_is_only_reserved(void)
{
        stage_fill(NULL, block_reserve(2 * MIB).at, 1, 100);
}

static void a_kernel_reads_beyond_a_mapping(void)
{
        struct block block = block_make(2 * MIB);
        CUdeviceptr sum = stage_alloc(8);
        uint64_t count = MIB;
        void *params[] = { &block.at, &count, &sum };

        ok(cuLaunchKernel(stage.checksum, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
}

/* A launch takes a microsecond, in which the kernel begins. */
static void memory_is_unmapped_under_a_kernel(void)
{
        struct block block = block_make(8 * MIB);

        stage_fill(NULL, block.at, 1, block.bytes / 4);
        ok(cuMemUnmap(block.at, block.bytes));
}

static void memory_is_unmapped_under_a_fill(void)
{
        struct block block = block_make(8 * MIB);

        ok(cuMemsetD32Async(block.at, 1, block.bytes / 4, NULL));
        (void)cuStreamQuery(NULL);
        ok(cuMemUnmap(block.at, block.bytes));
}

static void memory_is_unmapped_under_a_copy(void)
{
        struct block block = block_make(8 * MIB);
        void *host;

        ok(cuMemHostAlloc(&host, block.bytes, 0));
        ok(cuMemcpyDtoHAsync_v2(host, block.at, block.bytes, NULL));
        (void)cuStreamQuery(NULL);
        ok(cuMemUnmap(block.at, block.bytes));
}

static void memory_is_unmapped_under_a_wait(void)
{
        struct block block = block_make(2 * MIB);

        ok(cuStreamWaitValue32_v2(NULL, block.at, 1, CU_STREAM_WAIT_VALUE_GEQ));
        (void)cuStreamQuery(NULL);
        ok(cuMemUnmap(block.at, block.bytes));
}

static void memory_is_closed_under_a_copy(void)
{
        const CUmemAccessDesc closed = { { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } },
                                         CU_MEM_ACCESS_FLAGS_PROT_NONE };
        struct block block = block_make(8 * MIB);
        void *host;

        ok(cuMemHostAlloc(&host, block.bytes, 0));
        ok(cuMemcpyDtoHAsync_v2(host, block.at, block.bytes, NULL));
        (void)cuStreamQuery(NULL);
        ok(cuMemSetAccess(block.at, block.bytes, &closed, 1));
}

#define TRAP_BYTES 4096
#define TRAPPED_US 100000

static char *trap;
static _Atomic bool is_trapped;

/* Whoever writes into the trap stays there for a while; any other fault ends the process. */
static void spring(int signal, siginfo_t *info, void *context)
{
        if ((char *)info->si_addr < trap || (char *)info->si_addr >= trap + TRAP_BYTES)
                _exit(1);
        atomic_store(&is_trapped, true);
        usleep(TRAPPED_US);
        mprotect(trap, TRAP_BYTES, PROT_READ | PROT_WRITE);
}

static void *copy_out(void *argument)
{
        struct block *block = argument;

        ok(cuCtxSetCurrent(stage.context));
        (void)cuMemcpyDtoH_v2(trap - block->bytes / 2, block->at, block->bytes);
        return NULL;
}

/* In real time: half of the bytes have been moved when the trap springs. The copy is made by its
 * caller's thread, as the driver's own take no signals. */
static void memory_is_unmapped_under_the_very_bytes(void)
{
        const struct sigaction action = { .sa_sigaction = spring, .sa_flags = SA_SIGINFO };
        struct block block = block_make(4 * MIB);
        char *host =
                mmap(NULL, block.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_t copier;

        trap = host + block.bytes / 2;
        sigaction(SIGSEGV, &action, NULL);
        mprotect(trap, TRAP_BYTES, PROT_NONE);
        pthread_create(&copier, NULL, copy_out, &block);
        while (!atomic_load(&is_trapped))
                usleep(1000);
        ok(cuMemUnmap(block.at, block.bytes));
        pthread_join(copier, NULL);
}

static CUresult answer(const char *settings, void (*story)(void))
{
        pid_t child = fork();
        int status = 0;

        if (child == 0) {
                stage_is_tenant = true;
                stage_join(settings);
                story();
                if (cuCtxSynchronize() != cuStreamQuery(NULL))
                        _exit(1);
                _exit((int)cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS ? 70 : 0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 1);
        return WEXITSTATUS(status) == 70 ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}

static void work_on_unmapped_memory_is_an_illegal_access(void **state)
{
        static void (*const stories[])(void) = {
                a_kernel_fills_what_is_only_reserved, a_kernel_reads_beyond_a_mapping,
                memory_is_unmapped_under_a_kernel,    memory_is_unmapped_under_a_fill,
                memory_is_unmapped_under_a_copy,      memory_is_unmapped_under_a_wait,
                memory_is_closed_under_a_copy,
        };

        for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++)
                assert_int_equal(answer(",clock=virtual,device=1GiB/s", stories[i]),
                                 CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* What the copy answers depends on how soon it ends; the process goes on. */
static void bytes_that_are_being_moved_stay_mapped(void **state)
{
        (void)answer("", memory_is_unmapped_under_the_very_bytes);
}

static int open_stage(void **state)
{
        stage_folder();
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(work_on_unmapped_memory_is_an_illegal_access),
                cmocka_unit_test(bytes_that_are_being_moved_stay_mapped),
        };

        return cmocka_run_group_tests(tests, open_stage, stage_close);
}
