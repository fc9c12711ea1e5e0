/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold: a process on a simulated GPU, for tests of those who look at it.
 *
 *      hold ORDINAL BYTES [busy]
 *
 * Makes a context, allocates, prints "ready FREE TOTAL" as cuMemGetInfo has it, and stays until its
 * input ends; with "busy" it computes all the while. Prints "lost" and exits 3 when a call says
 * that the device is unavailable.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/cuda.h"

#define SPIN_NS 20000000ULL

static void check(const char *call, CUresult result)
{
        if (result == CUDA_SUCCESS)
                return;
        if (result == CUDA_ERROR_DEVICE_UNAVAILABLE) {
                puts("lost");
                exit(3);
        }
        fprintf(stderr, "hold: %s: %d\n", call, (int)result);
        exit(1);
}

static int input_has_ended(int timeout_ms)
{
        struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
        char byte;

        return poll(&input, 1, timeout_ms) == 1 && read(STDIN_FILENO, &byte, 1) <= 0;
}

static void compute(void)
{
        CUmodule module;
        CUfunction spin;
        unsigned long long ns = SPIN_NS;
        void *params[] = { &ns };

        check("cuModuleLoadData", cuModuleLoadData(&module, "aliquot-sim builtin"));
        check("cuModuleGetFunction", cuModuleGetFunction(&spin, module, "spin_ns"));
        while (!input_has_ended(0)) {
                check("cuLaunchKernel",
                      cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
                check("cuLaunchKernel",
                      cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
                check("cuCtxSynchronize", cuCtxSynchronize());
        }
}

int main(int argc, char **argv)
{
        CUdevice device;
        CUcontext context;
        CUdeviceptr block;
        size_t free_bytes, total_bytes;

        if (argc < 3)
                return 2;
        check("cuInit", cuInit(0));
        check("cuDeviceGet", cuDeviceGet(&device, atoi(argv[1])));
        check("cuCtxCreate", cuCtxCreate_v2(&context, 0, device));
        check("cuMemAlloc", cuMemAlloc_v2(&block, strtoull(argv[2], NULL, 10)));
        check("cuMemGetInfo", cuMemGetInfo_v2(&free_bytes, &total_bytes));
        printf("ready %zu %zu\n", free_bytes, total_bytes);
        fflush(stdout);
        if (argc > 3 && strcmp(argv[3], "busy") == 0)
                compute();
        while (!input_has_ended(20))
                check("cuMemGetInfo", cuMemGetInfo_v2(&free_bytes, &total_bytes));
        return 0;
}
