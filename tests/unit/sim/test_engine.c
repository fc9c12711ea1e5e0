/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One device between several processes: it does no more than it can, nobody is starved, and nobody
 * who dies holds it.
 *
 * The parent never initialises the driver; each tenant is a child of its own.
 */
#include "exec_stage.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/machine_clock.h"

struct shared {
        _Atomic uint32_t gate; /* tenants' streams wait for it */
        _Atomic uint32_t ready;
        _Atomic uint32_t done;
        _Atomic uint64_t busy_ns[4];
        _Atomic uint64_t counted_ns[4]; /* by the engine, and how long the tenant was there */
        _Atomic uint64_t lived_ns[4];
};

static struct shared *shared;

uint64_t aliquot_sim_busy_ns(const unsigned char uuid[16]); /* node/meter_export.c */

/* Queues its kernels behind the gate, says so, and tells how long they took when all are over. */
static void tenant(int number, unsigned kernels, uint64_t ns)
{
        uint64_t began_ns = clock_machine_ns();
        CUevent start, end;
        CUstream stream;
        CUuuid uuid;
        float ms;

        stage_join("");
        ok(cuMemHostRegister_v2(shared, 4096, CU_MEMHOSTREGISTER_DEVICEMAP));
        ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        ok(cuEventCreate(&start, 0));
        ok(cuEventCreate(&end, 0));
        ok(cuStreamWaitValue32_v2(stream, (CUdeviceptr)&shared->gate, 1, CU_STREAM_WAIT_VALUE_GEQ));
        ok(cuEventRecord(start, stream));
        for (unsigned i = 0; i < kernels; i++)
                stage_spin(stream, ns);
        ok(cuEventRecord(end, stream));
        atomic_fetch_add(&shared->ready, 1);
        ok(cuStreamSynchronize(stream));
        ok(cuEventElapsedTime(&ms, start, end));
        atomic_store(&shared->busy_ns[number], (uint64_t)((double)ms * 1e6));
        ok(cuDeviceGetUuid(&uuid, 0));
        atomic_store(&shared->counted_ns[number],
                     aliquot_sim_busy_ns((const unsigned char *)&uuid));
        atomic_store(&shared->lived_ns[number], clock_machine_ns() - began_ns);
        atomic_fetch_add(&shared->done, 1);
}

static pid_t start_tenant(int number, unsigned kernels, uint64_t ns)
{
        pid_t child = fork();

        if (child)
                return child;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        stage_is_tenant = true;
        tenant(number, kernels, ns);
        _exit(0);
}

static void await(_Atomic uint32_t *counter, uint32_t value)
{
        uint64_t end_ns = clock_machine_ns() + 30000000000u;

        while (atomic_load(counter) < value) {
                siginfo_t ended = { 0 };

                assert_true(clock_machine_ns() < end_ns);
                /* A tenant that failed would be waited for in vain. */
                waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT);
                assert_false(ended.si_code == CLD_EXITED && ended.si_status);
                usleep(1000);
        }
}

static void end_tenant(pid_t child)
{
        int status = 0;

        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int reset(void **state)
{
        atomic_store(&shared->gate, 0);
        atomic_store(&shared->ready, 0);
        atomic_store(&shared->done, 0);
        return 0;
}

/* 2 x 150 ms of kernels cannot be done in less than 300 ms, however many processes ask. */
static void two_processes_share_the_engine(void **state)
{
        pid_t one = start_tenant(0, 150, 1000000), two = start_tenant(1, 150, 1000000);
        uint64_t began_ns;

        await(&shared->ready, 2);
        began_ns = clock_machine_ns();
        atomic_store(&shared->gate, 1);
        await(&shared->done, 2);
        assert_true(clock_machine_ns() - began_ns >= 300000000u);
        assert_true(atomic_load(&shared->busy_ns[0]) >= 150000000u);
        end_tenant(one);
        end_tenant(two);
}

/* A kernel that goes on for a minute does not keep a neighbour's short ones waiting. */
static void a_long_kernel_starves_nobody(void **state)
{
        pid_t hog = start_tenant(0, 1, 60000000000u), other;

        await(&shared->ready, 1);
        atomic_store(&shared->gate, 1);
        other = start_tenant(1, 20, 1000000);
        await(&shared->done, 1);
        assert_true(atomic_load(&shared->busy_ns[1]) >= 20000000u);
        end_tenant(other);
        kill(hog, SIGKILL);
        waitpid(hog, NULL, 0);
}

/* Whatever the dead held is free again, also when it died while holding the engine. */
static void the_dead_hold_nothing(void **state)
{
        pid_t hogs[3], other;

        for (int i = 0; i < 3; i++)
                hogs[i] = start_tenant(i, 1, 60000000000u);
        await(&shared->ready, 3);
        atomic_store(&shared->gate, 1);
        usleep(20000);
        for (int i = 0; i < 3; i++) {
                kill(hogs[i], SIGKILL);
                waitpid(hogs[i], NULL, 0);
        }
        other = start_tenant(3, 20, 1000000);
        await(&shared->done, 1);
        end_tenant(other);
}

/* A seat that nobody gave up was nobody's until the next one took it: that one had no more of the
 * engine than its own time. */
static void nobody_inherits_what_the_dead_held(void **state)
{
        pid_t hog = start_tenant(0, 1, 60000000000u), heir;

        await(&shared->ready, 1);
        atomic_store(&shared->gate, 1);
        usleep(20000);
        kill(hog, SIGKILL);
        waitpid(hog, NULL, 0);
        usleep(200000);
        heir = start_tenant(1, 20, 1000000);
        await(&shared->done, 1);
        end_tenant(heir);
        assert_in_range(atomic_load(&shared->counted_ns[1]), 20000000u,
                        atomic_load(&shared->lived_ns[1]));
}

/* Alone it holds the engine all the while, and nobody takes it away: it is idle then, once what was
 * queued is done. */
static void who_is_stopped_has_used_what_it_had_queued(void **state)
{
        pid_t stopped = start_tenant(0, 50, 1000000);

        await(&shared->ready, 1);
        atomic_store(&shared->gate, 1);
        usleep(5000);
        kill(stopped, SIGSTOP);
        usleep(500000);
        kill(stopped, SIGCONT);
        await(&shared->done, 1);
        end_tenant(stopped);
        assert_in_range(atomic_load(&shared->counted_ns[0]), 50000000u, 100000000u);
}

/* Death at any moment, also while it turns the slices or has the engine's lock. */
static void a_survivor_outlives_many_deaths(void **state)
{
        pid_t survivor = start_tenant(0, 900, 200000);

        await(&shared->ready, 1);
        atomic_store(&shared->gate, 1);
        for (unsigned i = 0; i < 12; i++) {
                pid_t victim = start_tenant(1, 900, 1000);

                await(&shared->ready, i + 2);
                usleep(i * 150);
                kill(victim, SIGKILL);
                waitpid(victim, NULL, 0);
        }
        end_tenant(survivor);
}

static bool lose_device(void)
{
        CUstream stream;

        stage_is_tenant = true;
        stage_join(",lost=200ms");
        ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        stage_spin(stream, 60000000000u);
        return cuStreamSynchronize(stream) == CUDA_ERROR_DEVICE_UNAVAILABLE &&
               cuStreamQuery(stream) == CUDA_ERROR_DEVICE_UNAVAILABLE &&
               cuCtxSynchronize() == CUDA_ERROR_DEVICE_UNAVAILABLE;
}

/* Who waits for a device that is lost meanwhile is told, and does not wait for ever. Last: the
 * device stays lost. */
static void a_lost_device_ends_every_wait(void **state)
{
        pid_t child = fork();

        if (!child)
                _exit(!lose_device());
        end_tenant(child);
}

static int open_all(void **state)
{
        stage_folder();
        shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        return shared == MAP_FAILED;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(two_processes_share_the_engine, reset),
                cmocka_unit_test_setup(a_long_kernel_starves_nobody, reset),
                cmocka_unit_test_setup(the_dead_hold_nothing, reset),
                cmocka_unit_test_setup(nobody_inherits_what_the_dead_held, reset),
                cmocka_unit_test_setup(who_is_stopped_has_used_what_it_had_queued, reset),
                cmocka_unit_test_setup(a_survivor_outlives_many_deaths, reset),
                cmocka_unit_test_setup(a_lost_device_ends_every_wait, reset),
        };

        return cmocka_run_group_tests(tests, open_all, stage_close);
}
