/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two processes that compute together, a GPU each, as a model that is split over GPUs does.
 *
 *      ranks KERNELS STEPS
 *
 * A step is some work, and then a kernel that runs until the other rank's kernels of that step have
 * come so far: neither GPU gets on without the other. KERNELS is the module with the kernels
 * (kernels.c). Prints "done WAITS WAITS" when both took all steps, with how many launches of each
 * rank waited.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/page.h"
#include "spin.h"
#include "watch.h"

#define RANKS 2
#define WORK_A_STEP 4
#define PAGE_BYTES 4096

static struct {
        uint32_t arrived[RANKS];
        uint32_t taken[RANKS];
        uint64_t waits[RANKS];
} * shared;

struct rank {
        int number;
        CUfunction work, arrive, wait;
        CUdeviceptr words; /* `shared`, as the device sees it */
};

static void prepare(struct rank *rank, const char *kernels)
{
        CUmodule module;
        CUcontext context;
        CUdevice device;

        OK(cuInit(0));
        OK(cuDeviceGet(&device, rank->number));
        OK(cuCtxCreate_v2(&context, 0, device));
        rank->work = spin_find();
        OK(cuModuleLoad(&module, kernels));
        OK(cuModuleGetFunction(&rank->arrive, module, "produce"));
        OK(cuModuleGetFunction(&rank->wait, module, "spin_until"));
        OK(cuMemHostRegister_v2(shared, PAGE_BYTES, CU_MEMHOSTREGISTER_DEVICEMAP));
        OK(cuMemHostGetDevicePointer_v2(&rank->words, shared, 0));
}

static void launch(CUfunction function, void **params)
{
        OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
}

static void take_step(const struct rank *rank, uint32_t step)
{
        uint64_t ns = 500000;
        CUdeviceptr own = rank->words + (size_t)rank->number * sizeof(uint32_t);
        CUdeviceptr other = rank->words + (size_t)!rank->number * sizeof(uint32_t);
        void *work[] = { &ns }, *arrive[] = { &own }, *wait[] = { &other, &step };

        for (unsigned i = 0; i < WORK_A_STEP; i++)
                launch(rank->work, work);
        launch(rank->arrive, arrive);
        launch(rank->wait, wait);
}

static void run(int number, const char *kernels, uint32_t steps)
{
        struct rank rank = { .number = number };
        CUuuid uuid;

        prepare(&rank, kernels);
        for (uint32_t step = 1; step <= steps; step++)
                take_step(&rank, step);
        OK(cuCtxSynchronize());
        OK(cuDeviceGetUuid(&uuid, number));
        shared->waits[number] = watch_meter(&uuid)->waits;
        shared->taken[number] = steps;
}

int main(int argc, char **argv)
{
        uint32_t steps;

        if (argc != 3)
                return 2;
        steps = (uint32_t)strtoul(argv[2], NULL, 10);
        shared = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        for (int i = 0; i < RANKS; i++) {
                if (fork() == 0) {
                        run(i, argv[1], steps);
                        _exit(0);
                }
        }
        for (int i = 0; i < RANKS; i++) {
                int status;

                if (wait(&status) < 0 || status != 0)
                        return 1;
        }
        if (shared->taken[0] != steps || shared->taken[1] != steps)
                return 1;
        printf("done %llu %llu\n", (unsigned long long)shared->waits[0],
               (unsigned long long)shared->waits[1]);
        return 0;
}
