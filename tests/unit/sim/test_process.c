/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes on one node: they see one device's free memory, share memory by handles, and
 * the dead leave their tag at once and the device at most the drain delay later.
 *
 * The crowd: processes take tokens for a limit (as a ledger would), allocate, free, give tokens
 * back, and are killed at random; a dead one's tokens are given back at once. The tag's high-water
 * mark must then never pass the limit, and in the end nothing is left.
 */
#include "memory_child.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/machine_clock.h"

#define DRAIN_NS 50000000ULL

static int setup(void **state)
{
        stage_open("gpus=1,memory=1GiB,model=t4,context=0", "crowd");
        return 0;
}

static uint64_t bytes_to_hold;

/* Allocates so much, says so, and waits to be killed or told to end. */
static int holds(int channel)
{
        CUdeviceptr a;

        if (child_begin() || cuMemAlloc_v2(&a, bytes_to_hold))
                return 1;
        send_to(channel, -1);
        receive_from(channel);
        return 0;
}

static pid_t holder_start(uint64_t bytes, int *ret_channel)
{
        pid_t child;

        bytes_to_hold = bytes;
        child = child_start(holds, ret_channel);
        receive_from(*ret_channel);
        return child;
}

static void holder_ends(pid_t child, int channel)
{
        send_to(channel, -1);
        child_ends(child);
        close(channel);
}

static void a_killed_process_drains_after_the_delay(void **state)
{
        int channel;
        pid_t child = holder_start(300 * MIB, &channel);
        uint64_t seen_ns = clock_machine_ns();

        assert_int_equal(stage_device_current(0), 300 * MIB);
        assert_int_equal(stage_tag_current("crowd", 0), 300 * MIB);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_int_equal(stage_tag_current("crowd", 0), 0);
        uint64_t left_bytes = stage_device_current(0);
        if (clock_machine_ns() - seen_ns < DRAIN_NS)
                assert_int_equal(left_bytes, 300 * MIB);
        assert_int_equal(stage_device_settles(0, 0), 0);
        assert_true(clock_machine_ns() - seen_ns >= DRAIN_NS);
        close(channel);
}

static int takes_the_whole_card(int channel)
{
        CUdeviceptr a;
        size_t left, total;

        if (child_begin() || cuMemGetInfo_v2(&left, &total) || left != total)
                return 1;
        return cuMemAlloc_v2(&a, total) ? 2 : 0;
}

static void who_comes_after_the_delay_finds_the_memory_released(void **state)
{
        int channel, other;
        pid_t child = holder_start(GIB, &channel);

        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        nanosleep(&(struct timespec){ .tv_nsec = DRAIN_NS }, NULL);
        child_ends(child_start(takes_the_whole_card, &other));
        close(channel);
        close(other);
        assert_int_equal(stage_device_settles(0, 0), 0);
}

static void *attach_and_end(void *argument)
{
        CUdeviceptr a;

        *(bool *)argument = !child_begin() && !cuMemAlloc_v2(&a, 20 * MIB);
        return NULL;
}

static int outlives_its_thread(int channel)
{
        pthread_t thread;
        bool is_done = false;

        if (pthread_create(&thread, NULL, attach_and_end, &is_done) || pthread_join(thread, NULL))
                return 1;
        if (!is_done)
                return 2;
        send_to(channel, -1);
        receive_from(channel);
        return 3;
}

static void a_process_lives_on_when_its_first_thread_ends(void **state)
{
        int channel;
        pid_t child = child_start(outlives_its_thread, &channel);

        receive_from(channel);
        nanosleep(&(struct timespec){ .tv_nsec = 2 * DRAIN_NS }, NULL);
        assert_int_equal(stage_tag_current("crowd", 0), 20 * MIB);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_int_equal(stage_tag_current("crowd", 0), 0);
        assert_int_equal(stage_device_settles(0, 0), 0);
        close(channel);
}

/* Dies with the device's lock in hand, its sums half changed. */
static int dies_in_the_middle(int channel)
{
        struct sim_node *node = node_open_existing(stage_dir());

        if (!node)
                return 1;
        node_device_lock(node, 0);
        node->device[0].used_bytes += 12345;
        node->tag[node->tag_count - 1].column[0].current_bytes += 777;
        return raise(SIGKILL);
}

static void sums_are_repaired_when_their_writer_died(void **state)
{
        int channel, other, status;
        pid_t holder = holder_start(64 * MIB, &channel);
        pid_t killed = child_start(dies_in_the_middle, &other);

        assert_int_equal(waitpid(killed, &status, 0), killed);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(stage_device_current(0), 64 * MIB);
        assert_int_equal(stage_tag_current("crowd", 0), 64 * MIB);
        holder_ends(holder, channel);
        close(other);
        assert_int_equal(stage_device_settles(0, 0), 0);
}

static int sees_the_others(int channel)
{
        CUdeviceptr a;
        size_t left, total;

        if (child_begin() || cuMemGetInfo_v2(&left, &total))
                return 1;
        if (total != GIB || left != GIB - 300 * MIB)
                return 2;
        if (cuMemAlloc_v2(&a, left + 1) != CUDA_ERROR_OUT_OF_MEMORY)
                return 3;
        return cuMemAlloc_v2(&a, left) ? 4 : 0;
}

static void processes_share_one_device(void **state)
{
        int channel, other;
        pid_t first = holder_start(300 * MIB, &channel);

        child_ends(child_start(sees_the_others, &other));
        holder_ends(first, channel);
        close(other);
        assert_int_equal(stage_device_settles(0, 0), 0);
}

static int opener(int from, int to)
{
        CUipcMemHandle handle;
        CUdeviceptr first, second;
        char byte;

        if (child_begin() || read(from, &handle, sizeof(handle)) != sizeof(handle))
                return 1;
        if (cuIpcOpenMemHandle_v2(&first, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) ||
            cuIpcOpenMemHandle_v2(&second, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS))
                return 2;
        if (first != second || *(volatile unsigned char *)(uintptr_t)first != 0x31)
                return 3;
        *(volatile unsigned char *)(uintptr_t)first = 0x32;
        if (cuIpcCloseMemHandle(first) || write(to, "o", 1) != 1 || read(from, &byte, 1) != 1)
                return 4;
        if (cuIpcCloseMemHandle(first) || cuIpcCloseMemHandle(first) != CUDA_ERROR_INVALID_VALUE)
                return 5;
        return 0;
}

static int owner(int from, int to)
{
        CUipcMemHandle handle;
        CUdeviceptr padding, a, own;
        char byte;

        if (child_begin() || cuMemAlloc_v2(&padding, 3000) || cuMemAlloc_v2(&a, 3000))
                return 11;
        *(volatile unsigned char *)(uintptr_t)a = 0x31;
        if (cuIpcGetMemHandle(&handle, a) || write(to, &handle, sizeof(handle)) != sizeof(handle) ||
            read(from, &byte, 1) != 1)
                return 12;
        if (cuIpcOpenMemHandle_v2(&own, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) !=
            CUDA_ERROR_INVALID_CONTEXT)
                return 13;
        if (*(volatile unsigned char *)(uintptr_t)a != 0x32)
                return 14;
        if (stage_device_current(0) != 6000 || stage_tag_current("crowd", 0) != 6000)
                return 15;
        /* Freed here, the other still has it: it stays counted, once. */
        if (cuMemFree_v2(a) || stage_device_current(0) != 6000)
                return 16;
        return write(to, "c", 1) == 1 ? 0 : 17;
}

static void a_memory_handle_gives_the_same_memory(void **state)
{
        int there[2], back[2];

        assert_int_equal(pipe(there), 0);
        assert_int_equal(pipe(back), 0);
        pid_t first = fork();
        if (first == 0)
                _exit(owner(back[0], there[1]));
        pid_t second = fork();
        if (second == 0)
                _exit(opener(there[0], back[1]));
        child_ends(first);
        child_ends(second);
        assert_int_equal(stage_device_settles(0, 0), 0);
}

static int forked_child_of_a_user(int channel)
{
        CUdeviceptr a;
        int status, count;

        if (child_begin() || cuMemAlloc_v2(&a, MIB))
                return 1;
        pid_t child = fork();
        if (child == 0)
                _exit(cuMemAlloc_v2(&a, 1) == CUDA_ERROR_NOT_INITIALIZED &&
                                      cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
                                      cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED
                              ? 0
                              : 1);
        if (waitpid(child, &status, 0) != child || status != 0)
                return 2;
        return stage_device_current(0) == MIB ? 0 : 3;
}

static void a_forked_child_has_no_device(void **state)
{
        int channel;

        child_ends(child_start(forked_child_of_a_user, &channel));
        close(channel);
        assert_int_equal(stage_device_settles(0, 0), 0);
}

enum { CROWD = 12, LIMIT_MIB = 96, ROUNDS = 150 };

/* The members' tokens. Only a member writes its own count, in one store, and others only once it is
 * dead; the lock keeps two from taking the same. */
struct crowd {
        pthread_mutex_t lock;
        _Atomic int64_t held_mib[CROWD];
};

static bool tokens_take(struct crowd *crowd, unsigned self, int64_t mib)
{
        int64_t sum = mib;

        if (pthread_mutex_lock(&crowd->lock) == EOWNERDEAD)
                pthread_mutex_consistent(&crowd->lock);
        for (unsigned i = 0; i < CROWD; i++)
                sum += crowd->held_mib[i];
        if (sum <= LIMIT_MIB)
                crowd->held_mib[self] += mib;
        pthread_mutex_unlock(&crowd->lock);
        return sum <= LIMIT_MIB;
}

static int crowd_member(struct crowd *crowd, unsigned self, unsigned seed)
{
        CUdeviceptr held[8] = { 0 };
        int64_t mib[8];

        if (child_begin())
                return 1;
        for (;;) {
                unsigned i = (unsigned)rand_r(&seed) % 8;

                if (held[i]) {
                        if (cuMemFree_v2(held[i]))
                                return 2;
                        held[i] = 0;
                        crowd->held_mib[self] -= mib[i];
                } else {
                        mib[i] = 1 + rand_r(&seed) % 6;
                        if (!tokens_take(crowd, self, mib[i]))
                                continue;
                        if (cuMemAlloc_v2(&held[i], (uint64_t)mib[i] * MIB))
                                return 3;
                }
        }
}

static pid_t crowd_start(struct crowd *crowd, unsigned self, unsigned seed)
{
        pid_t child = fork();

        if (child == 0)
                _exit(crowd_member(crowd, self, seed));
        return child;
}

static void a_tag_never_passes_the_limit_that_its_processes_keep(void **state)
{
        struct crowd *crowd = mmap(NULL, sizeof(*crowd), PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        pthread_mutexattr_t attributes;
        pid_t member[CROWD];
        unsigned seed = 7;

        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&crowd->lock, &attributes);
        setenv("ALIQUOT_SESSION", "limited", 1);
        for (unsigned i = 0; i < CROWD; i++)
                member[i] = crowd_start(crowd, i, i + 1);
        for (unsigned round = 0; round < ROUNDS; round++) {
                unsigned i = (unsigned)rand_r(&seed) % CROWD;
                int status;

                nanosleep(&(struct timespec){ .tv_nsec = rand_r(&seed) % 2000000 }, NULL);
                kill(member[i], SIGKILL);
                assert_int_equal(waitpid(member[i], &status, 0), member[i]);
                assert_true(WIFSIGNALED(status));
                crowd->held_mib[i] = 0;
                member[i] = crowd_start(crowd, i, round + 100);
        }
        for (unsigned i = 0; i < CROWD; i++) {
                kill(member[i], SIGKILL);
                waitpid(member[i], NULL, 0);
        }
        assert_in_range(stage_tag_high("limited", 0), 1, LIMIT_MIB * MIB);
        assert_int_equal(stage_device_settles(0, 0), 0);
        assert_int_equal(stage_tag_current("limited", 0), 0);
        setenv("ALIQUOT_SESSION", "crowd", 1);
        munmap(crowd, sizeof(*crowd));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_killed_process_drains_after_the_delay),
                cmocka_unit_test(who_comes_after_the_delay_finds_the_memory_released),
                cmocka_unit_test(a_process_lives_on_when_its_first_thread_ends),
                cmocka_unit_test(sums_are_repaired_when_their_writer_died),
                cmocka_unit_test(processes_share_one_device),
                cmocka_unit_test(a_memory_handle_gives_the_same_memory),
                cmocka_unit_test(a_forked_child_has_no_device),
                cmocka_unit_test(a_tag_never_passes_the_limit_that_its_processes_keep),
        };

        return cmocka_run_group_tests(tests, setup, stage_close);
}
