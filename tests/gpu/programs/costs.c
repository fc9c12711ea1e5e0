/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times driver calls from where a program stands; the story `costs` runs it with and without us.
 *
 *      costs LIVE      with LIVE blocks held: a line for each call, "name nanoseconds", each the
 *                      median over BATCHES of the mean of a batch; and of launches timed one by
 * one, which holds what the clock takes, half of them and 99 in 100
 *
 * It finds the driver as frameworks do, by dlopen("libcuda.so.1"). Exit: 0 done, 1 the driver
 * failed.
 */
#include "driver.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCHES 201
#define BLOCK_BYTES 512u
#define EACH 20000
#define IN_FLIGHT 64

static const char image[] = ".version 6.4\n"
                            ".target sm_75\n"
                            ".address_size 64\n"
                            ".visible .entry nothing() { ret; }\n";
static CUfunction nothing;

static void card_open(size_t live)
{
        CUmodule module;
        CUdeviceptr block;

        driver_ready();
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

/* One launch in thousands places a marker, which is for the mean of the batches to show. */
static void time_launches(void)
{
        static double sample[EACH];

        for (unsigned i = 0; i < EACH; i++) {
                double began = now_ns();

                launch();
                sample[i] = now_ns() - began;
                if (i % IN_FLIGHT == IN_FLIGHT - 1)
                        must(driver.synchronize(), "cuCtxSynchronize");
        }
        qsort(sample, EACH, sizeof(sample[0]), by_value);
        printf("launch-p50 %.2f\nlaunch-p99 %.2f\n", sample[EACH / 2], sample[EACH / 100 * 99]);
}

int main(int argc, char **argv)
{
        card_open(argc > 1 ? strtoull(argv[1], NULL, 10) : 0);
        time_calls("alloc+free", alloc_and_free, 16);
        time_calls("launch", launch, IN_FLIGHT);
        time_launches();
        time_calls("unhooked", unhooked, 1000);
        time_calls("meminfo", info, 16);
        time_calls("lookup", find, 100);
        return 0;
}
