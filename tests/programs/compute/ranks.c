/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that compute together, a GPU each, as a model that is split over GPUs does.
 *
 *      ranks KERNELS RANKS STEPS LATE_MS
 *
 * A step is some work, and then a kernel that runs until all ranks' kernels of that step have come
 * so far: no GPU gets on without the others. In the middle the first rank is late by LATE_MS.
 * KERNELS is the module with the kernels (kernels.c). Prints one object when all took all steps:
 * `waits`, how many launches of the rank with the fewest of them waited; `share`, the part of the
 * time after that middle in which a GPU worked for its rank, not counting the waits for others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/minmax.h"
#include "proto/page.h"
#include "simtime.h"
#include "spin.h"
#include "watch.h"

#define RANKS_MAX 8
#define WORK_A_STEP 4
#define WORK_NS UINT64_C(500000)
#define MS_NS UINT64_C(1000000)
#define PAGE_BYTES 4096

static struct {
        uint32_t arrived; /* of all ranks, in all steps */
        uint32_t taken[RANKS_MAX];
        uint64_t waits[RANKS_MAX];
        uint64_t took_ns[RANKS_MAX]; /* the second half */
} * shared;

struct job {
        const char *kernels;
        uint32_t ranks, steps;
        uint64_t late_ns;
};

struct rank {
        const struct job *job;
        int number;
        CUfunction work, arrive, wait;
        CUdeviceptr arrived; /* the word in `shared`, as the device sees it */
};

static void prepare(struct rank *rank)
{
        CUmodule module;
        CUcontext context;
        CUdevice device;

        OK(cuInit(0));
        simtime_follow();
        OK(cuDeviceGet(&device, rank->number));
        OK(cuCtxCreate_v2(&context, 0, device));
        rank->work = spin_find();
        OK(cuModuleLoad(&module, rank->job->kernels));
        OK(cuModuleGetFunction(&rank->arrive, module, "produce"));
        OK(cuModuleGetFunction(&rank->wait, module, "spin_until"));
        OK(cuMemHostRegister_v2(shared, PAGE_BYTES, CU_MEMHOSTREGISTER_DEVICEMAP));
        OK(cuMemHostGetDevicePointer_v2(&rank->arrived, shared, 0));
}

static void launch(CUfunction function, void **params)
{
        OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
}

static void take_step(const struct rank *rank, uint32_t step)
{
        uint64_t ns = WORK_NS;
        uint32_t all = step * rank->job->ranks;
        CUdeviceptr word = rank->arrived;
        void *work[] = { &ns }, *arrive[] = { &word }, *wait[] = { &word, &all };

        for (unsigned i = 0; i < WORK_A_STEP; i++)
                launch(rank->work, work);
        launch(rank->arrive, arrive);
        launch(rank->wait, wait);
}

static void run(const struct job *job, int number)
{
        struct rank rank = { .job = job, .number = number };
        uint32_t steps = job->steps;
        uint64_t began_ns;
        CUuuid uuid;

        prepare(&rank);
        for (uint32_t step = 1; step <= steps / 2; step++)
                take_step(&rank, step);
        if (number == 0)
                clock_sleep_ns(job->late_ns);
        began_ns = clock_now_ns();
        for (uint32_t step = steps / 2 + 1; step <= steps; step++)
                take_step(&rank, step);
        OK(cuCtxSynchronize());
        shared->took_ns[number] = clock_now_ns() - began_ns;
        OK(cuDeviceGetUuid(&uuid, number));
        shared->waits[number] = watch_meter(&uuid)->waits;
        shared->taken[number] = steps;
}

static int tell(const struct job *job)
{
        uint64_t waits = UINT64_MAX, took_ns = 0;
        uint32_t steps = job->steps;

        for (uint32_t i = 0; i < job->ranks; i++) {
                if (shared->taken[i] != steps)
                        return 1;
                waits = min_u64(waits, shared->waits[i]);
                took_ns = max_u64(took_ns, shared->took_ns[i]);
        }
        printf("{\"waits\": %llu, \"share\": %.4f}\n", (unsigned long long)waits,
               (double)((steps - steps / 2) * WORK_A_STEP * WORK_NS) / (double)took_ns);
        return 0;
}

int main(int argc, char **argv)
{
        struct job job;

        if (argc != 5)
                return 2;
        job = (struct job){ .kernels = argv[1],
                            .ranks = (uint32_t)atoi(argv[2]),
                            .steps = (uint32_t)atoi(argv[3]),
                            .late_ns = strtoull(argv[4], NULL, 10) * MS_NS };
        if (job.ranks > RANKS_MAX)
                return 2;
        shared = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        for (uint32_t i = 0; i < job.ranks; i++) {
                if (fork() == 0) {
                        run(&job, (int)i);
                        _exit(0);
                }
        }
        for (uint32_t i = 0; i < job.ranks; i++) {
                int status;

                if (wait(&status) < 0 || status != 0)
                        return 1;
        }
        return tell(&job);
}
