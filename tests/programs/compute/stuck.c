/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs in which what runs waits for what is still to be launched: a gate that only waits for
 * what runs would never open.
 *
 *      stuck CAP_PPM KERNELS spin      a kernel runs until COUNT others of another stream have run
 *      stuck CAP_PPM KERNELS behind    the same, with a second such kernel launched behind it first
 *      stuck CAP_PPM KERNELS fresh     as `stream`, with a kernel that was never launched before
 *      stuck CAP_PPM KERNELS stream    launches stand behind a wait for a word, which the device
 *                                      writes in another stream, after them
 *      stuck CAP_PPM KERNELS rounds    the same with known kernels, 15 times, and nobody waits
 *      stuck CAP_PPM KERNELS host      as `stream`, and the host writes it
 *      stuck CAP_PPM KERNELS thread    the same, in another thread that launches, too
 *      stuck CAP_PPM KERNELS capture   a thread captures while another launches all the time
 *      stuck CAP_PPM KERNELS full-word, full-event, full-function
 *                                      as many launches as the driver takes, but for a few, stand
 *                                      behind such a wait for the host, which ends it after them;
 *                                      in a stream that was idle, and in one that was not
 *      stuck CAP_PPM KERNELS few-kernel
 *                                      a few launches behind a kernel that spins for the host
 *
 * KERNELS is the module with the kernels (kernels.c). Prints "done".
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "proto/page.h"
#include "spin.h"
#include "watch.h"

#define COUNT 40
#define CAPTURED 30
#define KERNEL_NS 500000
#define SHORT_NS 100000
#define ROUNDS 15
#define TAKEN 1021 /* by the driver, of a stream, before a launch waits for those before it */
#define OURS 6     /* of them, behind a wait: markers, and the end of the wait */
#define BRIEF_NS 2000
#define FEW 6

static CUuuid uuid;
static CUcontext context;
static CUfunction spin_ns, spin_until, produce;
static CUstream waits, works;
static CUdeviceptr word;
static uint64_t kernel_ns = KERNEL_NS;

static void launch(CUfunction function, CUstream stream, void **params)
{
        OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static void launch_work(CUstream stream)
{
        spin_launch(spin_ns, stream, kernel_ns);
}

static void prepare(const char *kernels, uint32_t cap_ppm)
{
        CUmodule module;

        OK(cuInit(0));
        OK(cuCtxCreate_v2(&context, 0, 0));
        OK(cuDeviceGetUuid(&uuid, 0));
        spin_ns = spin_find();
        OK(cuModuleLoad(&module, kernels));
        OK(cuModuleGetFunction(&spin_until, module, "spin_until"));
        OK(cuModuleGetFunction(&produce, module, "produce"));
        OK(cuStreamCreate(&waits, CU_STREAM_NON_BLOCKING));
        OK(cuStreamCreate(&works, CU_STREAM_NON_BLOCKING));
        OK(cuMemAlloc_v2(&word, 4096));
        OK(cuMemsetD32_v2(word, 0, 1024));
        watch_set_cap(&uuid, cap_ppm);
        for (unsigned i = 0; i < 40; i++) {
                launch_work(waits);
                launch_work(works);
        }
        OK(cuCtxSynchronize());
}

static void spin(void)
{
        uint32_t count = COUNT;
        void *until[] = { &word, &count };
        void *one[] = { &word };

        launch(spin_until, waits, until);
        for (unsigned i = 0; i < COUNT; i++)
                launch(produce, works, one);
}

/* The second of them cannot run before the first, but the thread that launches it is the one that
 * launches what the first waits for. */
static void behind(void)
{
        uint32_t count = COUNT;
        void *until[] = { &word, &count };
        void *one[] = { &word };

        launch(spin_until, waits, until);
        launch(spin_until, waits, until);
        for (unsigned i = 0; i < COUNT; i++)
                launch(produce, works, one);
}

/* Nothing is known of what is launched into a stream that cannot begin. */
static void fresh(void)
{
        void *one[] = { &word };

        OK(cuStreamWaitValue32_v2(waits, word, 1, CU_STREAM_WAIT_VALUE_GEQ));
        for (unsigned i = 0; i < COUNT; i++)
                launch(produce, waits, one);
        OK(cuStreamWriteValue32_v2(works, word, 1, 0));
}

static void stream(void)
{
        OK(cuStreamWaitValue32_v2(waits, word, 1, CU_STREAM_WAIT_VALUE_GEQ));
        for (unsigned i = 0; i < COUNT * 4; i++)
                launch_work(waits);
        OK(cuStreamWriteValue32_v2(works, word, 1, 0));
}

static void rounds(void)
{
        for (unsigned round = 1; round <= ROUNDS; round++) {
                OK(cuStreamWaitValue32_v2(waits, word, round, CU_STREAM_WAIT_VALUE_GEQ));
                for (unsigned i = 0; i < COUNT / 2; i++)
                        spin_launch(spin_ns, waits, SHORT_NS);
                for (unsigned i = 0; i < COUNT / 2; i++)
                        spin_launch(spin_ns, works, SHORT_NS);
                OK(cuStreamWriteValue32_v2(works, word, round, 0));
        }
}

static uint32_t *host_word(CUdeviceptr *ret)
{
        void *host;

        OK(cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
        memset(host, 0, 4096);
        OK(cuMemHostGetDevicePointer_v2(ret, host, 0));
        return host;
}

static void host(void)
{
        CUdeviceptr at;
        uint32_t *flag = host_word(&at);

        OK(cuStreamWaitValue32_v2(waits, at, 1, CU_STREAM_WAIT_VALUE_GEQ));
        for (unsigned i = 0; i < COUNT * 4; i++)
                launch_work(waits);
        store_release(shared_half(flag), 1);
}

static void *launch_then_write(void *flag)
{
        OK(cuCtxSetCurrent(context));
        for (unsigned i = 0; i < COUNT; i++)
                launch_work(works);
        OK(cuStreamSynchronize(works));
        store_release(shared_half(flag), 1);
        return NULL;
}

static void thread(void)
{
        CUdeviceptr at;
        uint32_t *flag = host_word(&at);
        pthread_t other;

        OK(cuStreamWaitValue32_v2(waits, at, 1, CU_STREAM_WAIT_VALUE_GEQ));
        EXPECT(pthread_create(&other, NULL, launch_then_write, flag), 0);
        for (unsigned i = 0; i < COUNT * 4; i++)
                launch_work(waits);
        EXPECT(pthread_join(other, NULL), 0);
}

/* -- As much as a stream takes ---------------------------------------------------------------- */

static CUdeviceptr host_at;
static uint32_t *host_flag, awaited;

static void wait_on_host(void *unused)
{
        (void)unused;
        while (load_acquire(shared_half(host_flag)) < awaited)
                clock_sleep_ns(SHORT_NS);
}

static void behind_word(void)
{
        OK(cuStreamWaitValue32_v2(waits, host_at, awaited, CU_STREAM_WAIT_VALUE_GEQ));
}

static void behind_function(void)
{
        OK(cuLaunchHostFunc(waits, wait_on_host, NULL));
}

static void behind_event(void)
{
        CUevent event;

        OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        OK(cuStreamWaitValue32_v2(works, host_at, awaited, CU_STREAM_WAIT_VALUE_GEQ));
        OK(cuEventRecord(event, works));
        OK(cuStreamWaitEvent(waits, event, 0));
}

static void behind_kernel(void)
{
        void *until[] = { &host_at, &awaited };

        launch(spin_until, waits, until);
}

static void fill(void (*wait)(void), unsigned ahead, unsigned behind)
{
        kernel_ns = KERNEL_NS;
        for (unsigned i = 0; i < ahead; i++)
                launch_work(waits);
        awaited++;
        wait();
        kernel_ns = BRIEF_NS;
        for (unsigned i = 0; i < behind; i++)
                launch_work(waits);
        store_release(shared_half(host_flag), awaited);
        OK(cuCtxSynchronize());
}

static void fill_twice(void (*wait)(void))
{
        host_flag = host_word(&host_at);
        fill(wait, 0, TAKEN - OURS - 1);
        fill(wait, COUNT, TAKEN - OURS - 1 - COUNT);
}

static void full_word(void)
{
        fill_twice(behind_word);
}

static void full_event(void)
{
        fill_twice(behind_event);
}

static void full_function(void)
{
        fill_twice(behind_function);
}

static void few_kernel(void)
{
        host_flag = host_word(&host_at);
        fill(behind_kernel, 0, FEW); /* once: it pays for its spinning */
}

static _Atomic uint32_t is_over;

static void *launch_always(void *unused)
{
        OK(cuCtxSetCurrent(context));
        while (!load_acquire(&is_over))
                launch_work(works);
        return unused;
}

/* The graph has what was captured and nothing of ours, in whatever mode, also the second time; and
 * after the end of a capture that never began. */
static void capture(void)
{
        CUgraph none;
        pthread_t other;

        EXPECT(cuStreamEndCapture(waits, &none) == CUDA_SUCCESS, 0);
        EXPECT(pthread_create(&other, NULL, launch_always, NULL), 0);
        for (int mode = CU_STREAM_CAPTURE_MODE_GLOBAL; mode <= CU_STREAM_CAPTURE_MODE_RELAXED;
             mode++) {
                CUgraph graph;
                CUgraphExec exec;
                size_t nodes = 0;

                OK(cuStreamBeginCapture_v2(waits, (CUstreamCaptureMode)mode));
                for (unsigned i = 0; i < CAPTURED; i++)
                        launch_work(waits);
                OK(cuStreamEndCapture(waits, &graph));
                OK(cuGraphGetNodes(graph, NULL, &nodes));
                EXPECT((CUresult)nodes, (CUresult)CAPTURED);
                OK(cuStreamBeginRecaptureToGraph(waits, (CUstreamCaptureMode)mode, graph, NULL,
                                                 NULL));
                for (unsigned i = 0; i < CAPTURED; i++)
                        launch_work(waits);
                OK(cuStreamEndCapture(waits, &graph));
                OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
                OK(cuGraphLaunch(exec, waits));
                OK(cuStreamSynchronize(waits));
                OK(cuGraphExecDestroy(exec));
                OK(cuGraphDestroy(graph));
        }
        store_release(&is_over, 1);
        EXPECT(pthread_join(other, NULL), 0);
}

static const struct {
        const char *name;
        void (*play)(void);
} scenes[] = { { "spin", spin },
               { "behind", behind },
               { "fresh", fresh },
               { "stream", stream },
               { "rounds", rounds },
               { "host", host },
               { "thread", thread },
               { "capture", capture },
               { "full-word", full_word },
               { "full-event", full_event },
               { "full-function", full_function },
               { "few-kernel", few_kernel } };

int main(int argc, char **argv)
{
        if (argc != 4)
                return 2;
        prepare(argv[2], (uint32_t)strtoul(argv[1], NULL, 10));
        for (unsigned i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
                if (strcmp(scenes[i].name, argv[3]) == 0)
                        scenes[i].play();
        }
        OK(cuCtxSynchronize());
        printf("done\n");
        OK(cuCtxDestroy_v2(context));
        return 0;
}
