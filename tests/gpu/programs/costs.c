/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times driver calls from where a program stands; the story `costs` runs it with and without us.
 *
 *      costs LIVE      with LIVE blocks held: a line for each call, "name nanoseconds", each the
 *                      median over BATCHES of the mean of a batch
 *
 * It finds the driver as frameworks do, by dlopen("libcuda.so.1"). Exit: 0 done, 1 the driver
 * failed.
 */
#include "abi/cuda.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCHES 201
#define BLOCK_BYTES 512u

static struct {
        __typeof__(cuInit) *init;
        __typeof__(cuDevicePrimaryCtxRetain) *retain;
        __typeof__(cuCtxSetCurrent) *set_current;
        __typeof__(cuCtxGetDevice) *get_device;
        __typeof__(cuCtxSynchronize) *synchronize;
        __typeof__(cuMemAlloc_v2) *alloc;
        __typeof__(cuMemFree_v2) *free;
        __typeof__(cuMemGetInfo_v2) *info;
        __typeof__(cuModuleLoadData) *load;
        __typeof__(cuModuleGetFunction) *function;
        __typeof__(cuLaunchKernel) *launch;
        __typeof__(cuGetProcAddress_v2) *find;
} driver;

static const struct {
        const char *name;
        void *slot;
} wanted[] = {
        { "cuInit", &driver.init },
        { "cuDevicePrimaryCtxRetain", &driver.retain },
        { "cuCtxSetCurrent", &driver.set_current },
        { "cuCtxGetDevice", &driver.get_device },
        { "cuCtxSynchronize", &driver.synchronize },
        { "cuMemAlloc_v2", &driver.alloc },
        { "cuMemFree_v2", &driver.free },
        { "cuMemGetInfo_v2", &driver.info },
        { "cuModuleLoadData", &driver.load },
        { "cuModuleGetFunction", &driver.function },
        { "cuLaunchKernel", &driver.launch },
        { "cuGetProcAddress_v2", &driver.find },
};

static const char image[] = ".version 6.4\n"
                            ".target sm_75\n"
                            ".address_size 64\n"
                            ".visible .entry nothing() { ret; }\n";
static CUfunction nothing;

static void must(CUresult rc, const char *what)
{
        if (rc == CUDA_SUCCESS)
                return;
        fprintf(stderr, "costs: %s: error %d\n", what, (int)rc);
        exit(1);
}

static void driver_open(void)
{
        void *library = dlopen("libcuda.so.1", RTLD_NOW);

        if (!library) {
                fprintf(stderr, "costs: %s\n", dlerror());
                exit(1);
        }
        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
                void *found = dlsym(library, wanted[i].name);

                if (!found) {
                        fprintf(stderr, "costs: the driver has no %s\n", wanted[i].name);
                        exit(1);
                }
                memcpy(wanted[i].slot, &found, sizeof(found));
        }
}

static void card_open(size_t live)
{
        CUcontext context;
        CUmodule module;
        CUdeviceptr block;

        must(driver.init(0), "cuInit");
        must(driver.retain(&context, 0), "cuDevicePrimaryCtxRetain");
        must(driver.set_current(context), "cuCtxSetCurrent");
        must(driver.load(&module, image), "cuModuleLoadData");
        must(driver.function(&nothing, module, "nothing"), "cuModuleGetFunction");
        for (size_t i = 0; i < live; i++)
                must(driver.alloc(&block, BLOCK_BYTES), "cuMemAlloc");
}

static void alloc_and_free(void)
{
        CUdeviceptr block;

        must(driver.alloc(&block, BLOCK_BYTES), "cuMemAlloc");
        must(driver.free(block), "cuMemFree");
}

static void launch(void)
{
        must(driver.launch(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), "cuLaunchKernel");
}

static void unhooked(void)
{
        CUdevice device;

        must(driver.get_device(&device), "cuCtxGetDevice");
}

static void info(void)
{
        size_t left, total;

        must(driver.info(&left, &total), "cuMemGetInfo");
}

static void find(void)
{
        CUdriverProcAddressQueryResult status;
        void *address;

        must(driver.find("cuMemAlloc", &address, 12000, 0, &status), "cuGetProcAddress");
}

static double now_ns(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static void time_calls(const char *name, void (*call)(void), unsigned calls)
{
        static double sample[BATCHES];

        for (unsigned i = 0; i < BATCHES; i++) {
                double began = now_ns();

                for (unsigned n = 0; n < calls; n++)
                        call();
                sample[i] = (now_ns() - began) / calls;
                must(driver.synchronize(), "cuCtxSynchronize");
        }
        qsort(sample, BATCHES, sizeof(sample[0]), by_value);
        printf("%s %.2f\n", name, sample[BATCHES / 2]);
}

int main(int argc, char **argv)
{
        driver_open();
        card_open(argc > 1 ? strtoull(argv[1], NULL, 10) : 0);
        time_calls("alloc+free", alloc_and_free, 16);
        time_calls("launch", launch, 64);
        time_calls("unhooked", unhooked, 1000);
        time_calls("meminfo", info, 16);
        time_calls("lookup", find, 100);
        return 0;
}
