/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times driver calls from where a program stands; the story `costs` runs it with and without
 * Aliquot.
 *
 *      costs LIVE [BATCHES]
 *                      with LIVE blocks held: a line for each call, "name nanoseconds", each the
 *                      median over BATCHES (201) of the mean of a batch; and of launches timed one
 *                      by one, which holds what the clock takes, half of them and 99 in 100
 *
 * It finds the driver as frameworks do, by dlopen("libcuda.so.1"). Exit: 0 done, 1 the driver
 * failed.
 */
#include "driver.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <time.h>

#define BATCHES_MAX 201
#define BLOCK_BYTES 512u
#define EACH_IN_BATCH 100
#define IN_FLIGHT 64

static const char image[] = ".version 6.4\n"
                            ".target sm_75\n"
                            ".address_size 64\n"
                            ".visible .entry nothing() { ret; }\n";
static CUfunction nothing;
static CUcontext context;
static CUstream stream[2];
static CUevent untimed, timed, later;
static CUgraphExec graph;
static unsigned batches = BATCHES_MAX;

static void make_graph(void)
{
        CUgraph captured;

        must(driver.begin_capture(stream[0], CU_STREAM_CAPTURE_MODE_GLOBAL),
             "cuStreamBeginCapture");
        must(driver.launch(nothing, 1, 1, 1, 1, 1, 1, 0, stream[0], NULL, NULL), "cuLaunchKernel");
        must(driver.end_capture(stream[0], &captured), "cuStreamEndCapture");
        must(driver.instantiate(&graph, captured, 0), "cuGraphInstantiate");
}

static void card_open(size_t live)
{
        CUmodule module;
        CUdeviceptr block;

        driver_ready();
        must(driver.retain(&context, 0), "cuDevicePrimaryCtxRetain");
        must(driver.load(&module, image), "cuModuleLoadData");
        must(driver.function(&nothing, module, "nothing"), "cuModuleGetFunction");
        for (size_t i = 0; i < live; i++)
                must(driver.alloc(&block, BLOCK_BYTES), "cuMemAlloc");
        for (unsigned i = 0; i < 2; i++)
                must(driver.stream(&stream[i], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        must(driver.event(&untimed, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
        must(driver.event(&timed, CU_EVENT_DEFAULT), "cuEventCreate");
        must(driver.event(&later, CU_EVENT_DEFAULT), "cuEventCreate");
        make_graph();
        must(driver.record(untimed, stream[0]), "cuEventRecord");
        must(driver.record(timed, stream[0]), "cuEventRecord");
        must(driver.record(later, stream[0]), "cuEventRecord");
        must(driver.synchronize(), "cuCtxSynchronize");
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

static void launch_in_turns(void)
{
        static unsigned turn;

        must(driver.launch(nothing, 1, 1, 1, 1, 1, 1, 0, stream[turn++ % 2], NULL, NULL),
             "cuLaunchKernel");
}

static void launch_graph(void)
{
        must(driver.launch_graph(graph, stream[0]), "cuGraphLaunch");
}

static void launch_and_wait(void)
{
        must(driver.launch(nothing, 1, 1, 1, 1, 1, 1, 0, stream[0], NULL, NULL), "cuLaunchKernel");
        must(driver.stream_wait(stream[0]), "cuStreamSynchronize");
}

static void record_untimed(void)
{
        must(driver.record(untimed, stream[0]), "cuEventRecord");
}

static void record_timed(void)
{
        must(driver.record(timed, stream[0]), "cuEventRecord");
}

/* Two in turns: between two kernels, as a marker is. */
static void launch_and_record(void)
{
        must(driver.launch(nothing, 1, 1, 1, 1, 1, 1, 0, stream[0], NULL, NULL), "cuLaunchKernel");
        record_untimed();
}

static void event_query(void)
{
        driver.event_query(untimed);
}

static void event_elapsed(void)
{
        float ms;

        must(driver.event_elapsed(&ms, timed, later), "cuEventElapsedTime");
}

static void stream_query(void)
{
        driver.stream_query(stream[1]);
}

static void stream_context(void)
{
        CUcontext found;

        must(driver.stream_context(stream[1], &found), "cuStreamGetCtx");
}

static void stream_number(void)
{
        unsigned long long number;

        must(driver.stream_number(stream[1], &number), "cuStreamGetId");
}

static void is_capturing(void)
{
        CUstreamCaptureStatus status;

        must(driver.is_capturing(stream[1], &status), "cuStreamIsCapturing");
}

static void exchange_mode(void)
{
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

        must(driver.exchange_mode(&mode), "cuThreadExchangeStreamCaptureMode");
        must(driver.exchange_mode(&mode), "cuThreadExchangeStreamCaptureMode");
}

static void push_and_pop(void)
{
        CUcontext popped;

        must(driver.push(context), "cuCtxPushCurrent");
        must(driver.pop(&popped), "cuCtxPopCurrent");
}

static void nothing_on_host(void *data)
{
        (void)data;
}

static void host_function(void)
{
        must(driver.host_function(stream[0], nothing_on_host, NULL), "cuLaunchHostFunc");
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
        static double sample[BATCHES_MAX];

        for (unsigned i = 0; i < batches; i++) {
                double began = now_ns();

                for (unsigned n = 0; n < calls; n++)
                        call();
                sample[i] = (now_ns() - began) / calls;
                must(driver.synchronize(), "cuCtxSynchronize");
        }
        qsort(sample, batches, sizeof(sample[0]), by_value);
        printf("%s %.2f\n", name, sample[batches / 2]);
}

/* One launch in thousands places a marker, which is for the mean of the batches to show. */
static void time_launches(void)
{
        static double sample[BATCHES_MAX * EACH_IN_BATCH];
        const unsigned each = batches * EACH_IN_BATCH;

        for (unsigned i = 0; i < each; i++) {
                double began = now_ns();

                launch();
                sample[i] = now_ns() - began;
                if (i % IN_FLIGHT == IN_FLIGHT - 1)
                        must(driver.synchronize(), "cuCtxSynchronize");
        }
        qsort(sample, each, sizeof(sample[0]), by_value);
        printf("launch-p50 %.2f\nlaunch-p99 %.2f\n", sample[each / 2], sample[each / 100 * 99]);
}

int main(int argc, char **argv)
{
        if (argc > 2)
                batches = (unsigned)atoi(argv[2]);
        if (batches == 0 || batches > BATCHES_MAX)
                return 1;
        card_open(argc > 1 ? strtoull(argv[1], NULL, 10) : 0);
        time_calls("alloc+free", alloc_and_free, 16);
        time_calls("launch", launch, IN_FLIGHT);
        time_launches();
        time_calls("unhooked", unhooked, 1000);
        time_calls("meminfo", info, 16);
        time_calls("lookup", find, 100);
        time_calls("launch-in-turns", launch_in_turns, IN_FLIGHT);
        time_calls("graph-launch", launch_graph, IN_FLIGHT);
        time_calls("launch+wait", launch_and_wait, 16);
        time_calls("launch+record", launch_and_record, IN_FLIGHT);
        time_calls("record-untimed", record_untimed, IN_FLIGHT);
        time_calls("record-timed", record_timed, IN_FLIGHT);
        time_calls("host-function", host_function, 16);
        time_calls("event-query", event_query, 100);
        time_calls("event-elapsed", event_elapsed, 100);
        time_calls("stream-query", stream_query, 100);
        time_calls("stream-context", stream_context, 100);
        time_calls("stream-id", stream_number, 100);
        time_calls("is-capturing", is_capturing, 100);
        time_calls("exchange-mode-twice", exchange_mode, 100);
        time_calls("push+pop", push_and_pop, 100);
        printf("@ {\"at\": \"done\", \"pid\": %d, \"with_us\": %s}\n", (int)getpid(),
               driver_is_with_us());
        return 0;
}
