/* SPDX-License-Identifier: Apache-2.0 */
#include "script.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "spin.h"
#include "watch.h"

#define WORDS 256u
#define BYTES 4096u
#define HOST_NS UINT64_C(4000000)

typedef CUresult act(struct kinds_work *work, CUstream stream, uint64_t ns);

static struct {
        act *act;
        char name;
        uint64_t ns;
} script[WORDS];
static unsigned words, again; /* it is played from there when it was played once */
static CUcontext first, another;
static struct kinds_work *shared;
static _Atomic bool is_over;

static _Thread_local unsigned next;
static _Thread_local unsigned current; /* stream */
static _Thread_local CUevent event, last[2];
static _Thread_local unsigned lasts;
static CUdeviceptr memory;
static void *host;

/* -- What a word does ------------------------------------------------------------------------- */

static CUresult launch(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        void *params[] = { &ns };

        return cuLaunchKernel(work->function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

static CUresult launch_graph(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        (void)ns;
        return cuGraphLaunch(work->graph, stream);
}

static CUresult wait_for(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        switch (script[next].name) {
        case 's':
                return cuStreamSynchronize(stream);
        case 'c':
                return cuCtxSynchronize();
        case 'e':
                OK(cuEventRecord(event, stream));
                return cuEventSynchronize(event);
        default:
                if (lasts)
                        OK(cuEventSynchronize(last[(lasts - 1) % 2]));
                return cuEventRecord(last[lasts++ % 2], stream);
        }
}

static CUresult ask(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        CUresult rc = cuStreamQuery(stream);

        while (script[next].name == 't' && rc == CUDA_ERROR_NOT_READY)
                rc = cuStreamQuery(stream);
        return rc == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : rc;
}

static CUresult copy(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        switch (script[next].name) {
        case 'h':
                return cuMemcpyHtoDAsync_v2(memory, host, BYTES, stream);
        case 'd':
                return cuMemcpyDtoHAsync_v2(host, memory, BYTES, stream);
        case 'H':
                return cuMemcpyHtoD_v2(memory, host, BYTES);
        case 'D':
                return cuMemcpyDtoH_v2(host, memory, BYTES);
        default:
                return cuMemcpy((CUdeviceptr)(uintptr_t)host, memory, BYTES);
        }
}

static CUresult choose(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        current = script[next].name == '1';
        return CUDA_SUCCESS;
}

static CUresult use_default(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        work->stream[0] = script[next].name == 'T' ? CU_STREAM_PER_THREAD : NULL;
        return CUDA_SUCCESS;
}

static CUresult capture_elsewhere(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        static CUstream captured;

        if (captured)
                return CUDA_SUCCESS;
        OK(cuCtxSetCurrent(another));
        OK(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
        OK(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
        return cuCtxSetCurrent(first);
}

static CUresult use_own(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        static _Thread_local CUstream own;

        if (!own)
                OK(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
        work->stream[current] = own;
        return CUDA_SUCCESS;
}

static CUresult renew(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        OK(cuStreamDestroy_v2(stream));
        return cuStreamCreate(&work->stream[current], CU_STREAM_NON_BLOCKING);
}

static CUresult enter(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        return cuCtxSetCurrent(script[next].name == 'A' ? first : another);
}

/* A stream and a kernel of the current context. */
static void make_spinner(struct spinner *ret)
{
        ret->spin = spin_find();
        OK(cuStreamCreate(&ret->stream, CU_STREAM_NON_BLOCKING));
}

static CUresult enter_primary(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        static struct spinner spinner;
        CUcontext primary;
        CUdevice device;

        OK(cuCtxGetDevice(&device));
        OK(cuDevicePrimaryCtxRetain(&primary, device));
        OK(cuCtxSetCurrent(primary));
        if (!spinner.spin) {
                make_spinner(&spinner);
                OK(cuDevicePrimaryCtxRetain(&primary, device)); /* the user that it always has */
        }
        spin_launch(spinner.spin, spinner.stream, ns);
        OK(cuCtxSetCurrent(first));
        return cuDevicePrimaryCtxRelease_v2(device);
}

static void take_ns(void *ns)
{
        clock_sleep_ns((uint64_t)(uintptr_t)ns);
}

static CUresult leave_behind(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        struct spinner spinner;
        CUcontext context;

        OK(cuCtxCreate_v2(&context, 0, 0));
        make_spinner(&spinner);
        if (script[next].name == 'Z')
                OK(cuLaunchHostFunc(spinner.stream, take_ns, (void *)(uintptr_t)HOST_NS));
        spin_launch(spinner.spin, spinner.stream, ns);
        if (script[next].name == 'Z')
                clock_sleep_ns(HOST_NS / 2);
        OK(cuCtxPopCurrent_v2(&context));
        return cuCtxDestroy_v2(context);
}

static CUresult wait_for_host(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        return cuLaunchHostFunc(stream, take_ns, (void *)(uintptr_t)ns);
}

static CUresult wait_for_nothing(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        return cuStreamWaitValue32_v2(stream, memory, 0, 0);
}

static CUresult copy_nothing(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        return cuMemcpyDtoH_v2(host, memory, 0);
}

struct visit {
        CUfunction function;
        uint64_t ns;
};

static void *launch_and_end(void *data)
{
        struct visit *visit = data;
        void *params[] = { &visit->ns };

        OK(cuCtxSetCurrent(first));
        OK(cuLaunchKernel(visit->function, 1, 1, 1, 1, 1, 1, 0, CU_STREAM_PER_THREAD, params,
                          NULL));
        return NULL;
}

static CUresult launch_by_another(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        struct visit visit = { work->function, ns };
        pthread_t thread;

        EXPECT(pthread_create(&thread, NULL, launch_and_end, &visit), 0);
        EXPECT(pthread_join(thread, NULL), 0);
        return CUDA_SUCCESS;
}

static CUresult destroy_captured(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        void *params[] = { &ns };
        CUstream captured;

        OK(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
        OK(cuLaunchKernel(work->function, 1, 1, 1, 1, 1, 1, 0, captured, params, NULL));
        OK(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
        (void)cuStreamDestroy_v2(captured);
        return CUDA_SUCCESS;
}

/* It shares our memory, and runs our handlers at its exit. */
static CUresult fork_and_exit(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        pid_t child = vfork();

        if (child == 0)
                exit(0);
        EXPECT(waitpid(child, NULL, 0), child);
        return CUDA_SUCCESS;
}

static CUresult do_else(struct kinds_work *work, CUstream stream, uint64_t ns)
{
        clock_sleep_ns(ns);
        return CUDA_SUCCESS;
}

/* -- The script ------------------------------------------------------------------------------- */

static const struct {
        const char *names;
        act *act;
} acts[] = { { "k", launch },
             { "g", launch_graph },
             { "scep", wait_for },
             { "qt", ask },
             { "hdHDM", copy },
             { "01", choose },
             { "lT", use_default },
             { "o", use_own },
             { "V", capture_elsewhere },
             { "n", renew },
             { "AB", enter },
             { "w", do_else },
             { "y", wait_for_host },
             { "v", wait_for_nothing },
             { "z", copy_nothing },
             { "Y", launch_by_another },
             { "C", destroy_captured },
             { "F", fork_and_exit },
             { "R", enter_primary },
             { "XZ", leave_behind } };

static uint64_t time_of(const char *text)
{
        char *unit;
        uint64_t ns = strtoull(text, &unit, 10);

        return *unit == 'm' ? ns * 1000000 : *unit == 'u' ? ns * 1000 : ns;
}

static void add(const char *text)
{
        const char *times = strchr(text, '*');
        unsigned count = times ? (unsigned)strtoul(text, NULL, 10) : 1;
        const char *word = times ? times + 1 : text;

        if (word[0] == '|') {
                again = words;
                return;
        }
        for (unsigned i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
                if (!strchr(acts[i].names, word[0]))
                        continue;
                for (; count && words < WORDS; count--) {
                        script[words].act = acts[i].act;
                        script[words].name = word[0];
                        script[words++].ns = time_of(word + 1);
                }
        }
        if (count)
                exit(2);
}

static void prepare_thread(void)
{
        OK(cuEventCreate(&event, 0));
        OK(cuEventCreate(&last[0], 0));
        OK(cuEventCreate(&last[1], 0));
}

void script_prepare(const char *text)
{
        char *words_of_it = strdup(text), *rest = words_of_it, *word;

        while ((word = strsep(&rest, " ")))
                add(word);
        free(words_of_it);
        OK(cuCtxGetCurrent(&first));
        prepare_thread();
        OK(cuMemAlloc_v2(&memory, BYTES));
        OK(cuMemHostAlloc(&host, BYTES, 0));
        OK(cuCtxCreate_v2(&another, 0, 0));
        OK(cuCtxSetCurrent(first));
}

CUresult script_go_on(struct kinds_work *work)
{
        CUresult rc = script[next].act(work, work->stream[current], script[next].ns);

        next = next + 1 < words ? next + 1 : again;
        return rc;
}

/* -- By other threads ------------------------------------------------------------------------- */

static void *play(void *unused)
{
        struct kinds_work work = *shared;

        OK(cuCtxSetCurrent(first));
        prepare_thread();
        while (!load_relaxed(&is_over))
                OK(script_go_on(&work));
        return unused;
}

void script_share(struct kinds_work *work, unsigned threads)
{
        pthread_t thread;

        shared = work;
        for (unsigned i = 1; i < threads; i++)
                EXPECT(pthread_create(&thread, NULL, play, NULL), 0);
}

void script_end(void)
{
        store_relaxed(&is_over, true);
}
