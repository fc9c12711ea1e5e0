/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share: how much of a simulated GPU's time a program gets, by the GPU's own account.
 *
 *      share SECONDS KERNEL_US     kernels of so long one after the other, for so long
 *
 * The seconds are the GPU's, told by its events: with a virtual clock (docs/virtual-time.md) they
 * are over in a moment. Exit: 0 done, 1 the driver failed, or is not the simulator, 2 called wrong.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr1() */
#endif

#include "abi/cuda.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef uint64_t busy_ns(const unsigned char uuid[16]);

static void *library;

/* Calls the driver as frameworks do, by its name; ends the program when that fails. */
#define call(name, ...) check(((__typeof__(&(name)))find(#name))(__VA_ARGS__), #name)

static void *find(const char *name)
{
        void *function = dlsym(library, name);

        if (!function) {
                fprintf(stderr, "share: no %s: %s\n", name, dlerror());
                exit(1);
        }
        return function;
}

static void check(CUresult result, const char *name)
{
        if (result) {
                fprintf(stderr, "share: %s answered %d\n", name, (int)result);
                exit(1);
        }
}

static void *find_in_driver(const char *name)
{
        void *of_driver = dlsym(library, "cuDriverGetVersion");
        struct link_map *driver;
        Dl_info info;

        if (!of_driver || !dladdr1(of_driver, &info, (void **)&driver, RTLD_DL_LINKMAP))
                return NULL;
        return dlsym(driver, name);
}

/* Spins until the GPU's own clock has gone on for `ms`, and says how long that was. */
static float spin_for(CUfunction kernel, uint64_t kernel_ns, float ms)
{
        void *parameters[] = { &kernel_ns };
        CUevent begin, end;
        float elapsed_ms = 0;

        call(cuEventCreate, &begin, 0);
        call(cuEventCreate, &end, 0);
        call(cuEventRecord, begin, NULL);
        while (elapsed_ms < ms) {
                call(cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
                call(cuEventRecord, end, NULL);
                call(cuEventSynchronize, end);
                call(cuEventElapsedTime, &elapsed_ms, begin, end);
        }
        return elapsed_ms;
}

int main(int argc, char **argv)
{
        unsigned char uuid[16];
        busy_ns *busy;
        CUdevice device;
        CUcontext context;
        CUmodule module;
        CUfunction kernel;
        uint64_t kernel_us;
        float seconds, elapsed_ms;

        seconds = argc == 3 ? strtof(argv[1], NULL) : 0;
        kernel_us = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
        if (!(seconds > 0) || !kernel_us || argv[2][0] == '-') {
                fprintf(stderr, "share SECONDS KERNEL_US, both above 0\n");
                return 2;
        }
        library = dlopen("libcuda.so.1", RTLD_NOW);
        call(cuInit, 0);
        call(cuDeviceGet, &device, 0);
        call(cuDeviceGetUuid, (CUuuid *)uuid, device);
        call(cuDevicePrimaryCtxRetain, &context, device);
        call(cuCtxSetCurrent, context);
        call(cuModuleLoadData, &module, "aliquot-sim builtin");
        call(cuModuleGetFunction, &kernel, module, "spin_ns");
        busy = (busy_ns *)find_in_driver("aliquot_sim_busy_ns");
        if (!busy) {
                fprintf(stderr, "share: this driver is not the simulator\n");
                return 1;
        }
        elapsed_ms = spin_for(kernel, kernel_us * 1000, seconds * 1000);
        printf("%.1f %% of %.1f s\n", (double)busy(uuid) / 1e4 / elapsed_ms, elapsed_ms / 1000);
        return 0;
}
