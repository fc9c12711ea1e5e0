/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times a driver from where a program stands; the scripts of bench/ run it with and without
 * us in front. A driver that has contexts gets one, and its kernel is the simulator's.
 *
 *      alloc pair LIVE COUNT     ns of one cuMemAlloc + cuMemFree while LIVE blocks are held:
 *                                the median over COUNT batches of 64
 *      alloc added COUNT BYTES   ns of COUNT single calls, cuMemAlloc and cuMemFree in turns, less
 *                                what the driver itself took (cuToyInsideNs), one a line, while
 *                                BYTES are held
 *      alloc crowd COUNT THREADS ns of COUNT single calls of cuMemAlloc, with 16 pairs between one
 *                                and the next, in each of so many threads at once, one a line
 *      alloc launch COUNT        ns of one cuLaunchKernel, median over COUNT batches of 256
 *      alloc wait COUNT          the same of one, and a cuStreamSynchronize for it
 *      alloc start               CPU ns of this thread in cuInit and the first allocation
 *      alloc hold                0, and then nothing until its input ends
 */
#include "abi/cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK_BYTES 512u
#define BATCH 64u
#define BETWEEN 16u
#define LAUNCHES 256u

static struct {
        __typeof__(cuInit) *init;
        __typeof__(cuCtxCreate_v2) *context; /* NULL: the driver that does nothing */
        __typeof__(cuModuleLoadData) *load;
        __typeof__(cuModuleGetFunction) *find;
        __typeof__(cuMemAlloc_v2) *alloc;
        __typeof__(cuMemFree_v2) *free;
        __typeof__(cuLaunchKernel) *launch;
        __typeof__(cuStreamSynchronize) *wait;
        uint64_t (*inside_ns)(void);
} driver;

static uint64_t clock_ns(clockid_t clock)
{
        struct timespec now;

        clock_gettime(clock, &now);
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
        uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

        return (left > right) - (left < right);
}

static double median(uint64_t *values, size_t count)
{
        qsort(values, count, sizeof(*values), compare);
        return (double)values[count / 2];
}

static void must(CUresult rc, const char *what)
{
        if (rc == CUDA_SUCCESS)
                return;
        fprintf(stderr, "alloc: %s: error %d\n", what, (int)rc);
        exit(1);
}

static void bind(void *library, const char *name, void *slot)
{
        void *found = dlsym(library, name);

        memcpy(slot, &found, sizeof(found));
}

static void driver_open(void)
{
        void *library = dlopen("libcuda.so.1", RTLD_NOW);

        if (!library) {
                fprintf(stderr, "alloc: %s\n", dlerror());
                exit(1);
        }
        bind(library, "cuInit", &driver.init);
        bind(library, "cuCtxCreate_v2", &driver.context);
        bind(library, "cuModuleLoadData", &driver.load);
        bind(library, "cuModuleGetFunction", &driver.find);
        bind(library, "cuMemAlloc_v2", &driver.alloc);
        bind(library, "cuMemFree_v2", &driver.free);
        bind(library, "cuLaunchKernel", &driver.launch);
        bind(library, "cuStreamSynchronize", &driver.wait);
        bind(library, "cuToyInsideNs", &driver.inside_ns);
}

static void driver_begin(void)
{
        CUcontext context;

        must(driver.init(0), "cuInit");
        if (driver.context)
                must(driver.context(&context, 0, 0), "cuCtxCreate");
}

static void time_pairs(size_t live, size_t count)
{
        uint64_t *sample = calloc(count, sizeof(*sample));
        CUdeviceptr block;

        for (size_t i = 0; i < live; i++)
                must(driver.alloc(&block, BLOCK_BYTES), "cuMemAlloc");
        for (size_t i = 0; i < count; i++) {
                uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);

                for (unsigned n = 0; n < BATCH; n++) {
                        driver.alloc(&block, BLOCK_BYTES);
                        driver.free(block);
                }
                sample[i] = clock_ns(CLOCK_MONOTONIC) - began_ns;
        }
        printf("%.2f\n", median(sample, count) / BATCH);
        free(sample);
}

static void time_added(size_t count, size_t held_bytes)
{
        uint64_t *sample = calloc(count, sizeof(*sample));
        CUdeviceptr block;

        must(driver.alloc(&block, held_bytes), "cuMemAlloc");
        for (size_t i = 0; i < count; i++) {
                uint64_t inside_ns = driver.inside_ns();
                uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);

                if (i % 2 == 0)
                        must(driver.alloc(&block, BLOCK_BYTES), "cuMemAlloc");
                else
                        must(driver.free(block), "cuMemFree");
                sample[i] = clock_ns(CLOCK_MONOTONIC) - began_ns;
                sample[i] -= driver.inside_ns() - inside_ns;
        }
        for (size_t i = 0; i < count; i++)
                printf("%llu\n", (unsigned long long)sample[i]);
        free(sample);
}

struct caller {
        pthread_t thread;
        size_t count;
        uint64_t *sample;
};

/* Each call by itself: a percentile of single calls is what a crowd spoils. */
static void *call_often(void *argument)
{
        struct caller *caller = argument;
        CUdeviceptr block;

        for (size_t i = 0; i < caller->count; i++) {
                uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);

                must(driver.alloc(&block, BLOCK_BYTES), "cuMemAlloc");
                caller->sample[i] = clock_ns(CLOCK_MONOTONIC) - began_ns;
                must(driver.free(block), "cuMemFree");
                for (unsigned n = 0; n < BETWEEN; n++) {
                        must(driver.alloc(&block, BLOCK_BYTES), "cuMemAlloc");
                        must(driver.free(block), "cuMemFree");
                }
        }
        return NULL;
}

static void time_crowd(size_t count, size_t threads)
{
        struct caller *callers = calloc(threads, sizeof(*callers));

        for (size_t i = 0; i < threads; i++) {
                callers[i].count = count;
                callers[i].sample = calloc(count, sizeof(*callers[i].sample));
                pthread_create(&callers[i].thread, NULL, call_often, &callers[i]);
        }
        for (size_t i = 0; i < threads; i++) {
                pthread_join(callers[i].thread, NULL);
                for (size_t n = 0; n < count; n++)
                        printf("%llu\n", (unsigned long long)callers[i].sample[n]);
                free(callers[i].sample);
        }
        free(callers);
}

static CUfunction find_kernel(void)
{
        CUfunction function = (CUfunction)&driver; /* the driver that does nothing asks no more */
        CUmodule module;

        if (!driver.context)
                return function;
        must(driver.load(&module, "aliquot-sim builtin"), "cuModuleLoadData");
        must(driver.find(&function, module, "spin_ns"), "cuModuleGetFunction");
        return function;
}

static void time_launches(size_t count, bool is_waiting)
{
        uint64_t *sample = calloc(count, sizeof(*sample)), kernel_ns = 1;
        CUfunction function = find_kernel();
        void *params[] = { &kernel_ns };

        for (size_t i = 0; i < count; i++) {
                uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);

                for (unsigned n = 0; n < LAUNCHES; n++) {
                        driver.launch(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
                        if (is_waiting)
                                driver.wait(NULL);
                }
                sample[i] = clock_ns(CLOCK_MONOTONIC) - began_ns;
        }
        printf("%.3f\n", median(sample, count) / LAUNCHES);
        free(sample);
}

static void hold(void)
{
        puts("0");
        fflush(stdout);
        while (getchar() != EOF)
                ;
}

int main(int argc, char **argv)
{
        const char *mode = argc > 1 ? argv[1] : "";
        size_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
        size_t second = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
        uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        CUdeviceptr block;

        driver_open();
        driver_begin();
        must(driver.alloc(&block, BLOCK_BYTES), "cuMemAlloc");
        if (!strcmp(mode, "start"))
                printf("%llu\n",
                       (unsigned long long)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns));
        else if (!strcmp(mode, "pair") && second)
                time_pairs(first, second);
        else if (!strcmp(mode, "added") && second)
                time_added(first, second);
        else if (!strcmp(mode, "crowd") && second)
                time_crowd(first, second);
        else if ((!strcmp(mode, "launch") || !strcmp(mode, "wait")) && first)
                time_launches(first, !strcmp(mode, "wait"));
        else if (!strcmp(mode, "hold"))
                hold();
        else
                return fprintf(stderr,
                               "usage: alloc pair|added|crowd|launch|wait|start|hold ...\n"),
                       2;
        return 0;
}
