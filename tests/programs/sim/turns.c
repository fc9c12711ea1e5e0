/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turns: a program of the simulated GPU that tells what it saw of virtual time, in nanoseconds.
 *
 *      turns busy NS KERNEL_NS     computes for so long, two kernels deep: "kernels elapsed"
 *      turns backlog COUNT NS      all kernels at once, between two events: "events host"
 *      turns single COUNT NS       waits for each kernel before the next: "elapsed"
 *      turns poll NS               asks an event until its kernel is over: "looks elapsed"
 *      turns spin NS               looks at a word written behind a kernel: "elapsed"
 *      turns nap NS KERNEL_NS      as busy, with a sleep of 100 ms of the machine's time in it
 *      turns threads COUNT NS      threads with a stream and ten kernels each: "elapsed"
 *      turns alloc BYTES           takes memory: "elapsed"
 *      turns stop KERNEL_NS        stops itself with two kernels under way
 *      turns die KERNEL_NS         kills itself with two kernels under way
 *      turns away COUNT NS         all kernels at once, and stops itself: "events", when it goes on
 *      turns stay KERNEL_NS        computes for ever; says "ready" once it does
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi/cuda.h"
#include "common/atomic.h"
#include "common/time_authority.h"
#include "interpose/doctor.h"

#define THREADS 64
#define THREAD_KERNELS 10

#pragma weak aliquot_doctor_api

static CUcontext context;
static CUfunction spin_ns;
static unsigned long long thread_ns;
static const struct time_authority *authority;

static void check(int line, CUresult result)
{
        if (result == CUDA_SUCCESS)
                return;
        fprintf(stderr, "turns.c:%d: %d\n", line, (int)result);
        exit(1);
}
#define OK(call) check(__LINE__, (call))

static unsigned long long now_ns(void)
{
        return authority->now_ns();
}

static void launch(CUstream stream, unsigned long long ns)
{
        void *params[] = { &ns };

        OK(cuLaunchKernel(spin_ns, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static unsigned long long busy(unsigned long long until_ns, unsigned long long kernel_ns)
{
        unsigned long long kernels = 0;
        CUevent end[2];

        for (int i = 0; i < 2; i++)
                OK(cuEventCreate(&end[i], 0));
        while (now_ns() < until_ns) {
                OK(cuEventSynchronize(end[kernels % 2]));
                launch(NULL, kernel_ns);
                OK(cuEventRecord(end[kernels % 2], NULL));
                kernels++;
        }
        OK(cuCtxSynchronize());
        return kernels;
}

static void queue(unsigned long long count, unsigned long long ns, CUevent span[2])
{
        for (int i = 0; i < 2; i++)
                OK(cuEventCreate(&span[i], 0));
        OK(cuEventRecord(span[0], NULL));
        for (unsigned long long i = 0; i < count; i++)
                launch(NULL, ns);
        OK(cuEventRecord(span[1], NULL));
}

static double length_of(CUevent span[2])
{
        float ms;

        OK(cuEventSynchronize(span[1]));
        OK(cuEventElapsedTime(&ms, span[0], span[1]));
        return (double)ms * 1e6;
}

static void backlog(unsigned long long count, unsigned long long ns)
{
        unsigned long long start_ns = now_ns();
        CUevent span[2];
        double length_ns;

        queue(count, ns, span);
        length_ns = length_of(span);
        printf("%.0f %llu\n", length_ns, now_ns() - start_ns);
}

static void single(unsigned long long count, unsigned long long ns)
{
        unsigned long long start_ns = now_ns();

        for (unsigned long long i = 0; i < count; i++) {
                launch(NULL, ns);
                OK(cuCtxSynchronize());
        }
        printf("%llu\n", now_ns() - start_ns);
}

static void away(unsigned long long count, unsigned long long ns)
{
        CUevent span[2];

        queue(count, ns, span);
        raise(SIGSTOP);
        printf("%.0f\n", length_of(span));
}

static void poll_event(unsigned long long ns)
{
        unsigned long long looks = 1, start_ns = now_ns();
        CUevent end;

        OK(cuEventCreate(&end, 0));
        launch(NULL, ns);
        OK(cuEventRecord(end, NULL));
        for (; cuEventQuery(end) == CUDA_ERROR_NOT_READY; looks++)
                ;
        OK(cuEventQuery(end));
        printf("%llu %llu\n", looks, now_ns() - start_ns);
}

static void spin_on_word(unsigned long long ns)
{
        unsigned long long start_ns = now_ns();
        _Atomic uint32_t *word;
        CUdeviceptr address;

        OK(cuMemAllocHost_v2((void **)&word, sizeof(*word)));
        OK(cuMemHostGetDevicePointer_v2(&address, word, 0));
        store_release(word, 0);
        launch(NULL, ns);
        OK(cuStreamWriteValue32_v2(NULL, address, 1, 0));
        while (load_acquire(word) == 0)
                ;
        OK(cuCtxSynchronize());
        printf("%llu\n", now_ns() - start_ns);
}

static void *thread(void *unused)
{
        CUstream stream;

        OK(cuCtxSetCurrent(context));
        OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        for (int i = 0; i < THREAD_KERNELS; i++)
                launch(stream, thread_ns);
        OK(cuStreamSynchronize(stream));
        OK(cuStreamDestroy_v2(stream));
        return unused;
}

static void threads(unsigned count, unsigned long long ns)
{
        unsigned long long start_ns = now_ns();
        pthread_t all[THREADS];

        thread_ns = ns;
        for (unsigned i = 0; i < count && i < THREADS; i++)
                pthread_create(&all[i], NULL, thread, NULL);
        for (unsigned i = 0; i < count && i < THREADS; i++)
                pthread_join(all[i], NULL);
        printf("%llu\n", now_ns() - start_ns);
}

static void alloc(unsigned long long bytes)
{
        unsigned long long start_ns = now_ns();
        CUdeviceptr block;

        OK(cuMemAlloc_v2(&block, bytes));
        printf("%llu\n", now_ns() - start_ns);
}

static void stay(unsigned long long kernel_ns)
{
        busy(now_ns() + kernel_ns, kernel_ns);
        puts("ready");
        fflush(stdout);
        busy(UINT64_MAX, kernel_ns);
}

static void run(const char *scene, unsigned long long first, unsigned long long second)
{
        unsigned long long start_ns = now_ns(), kernels;

        if (strcmp(scene, "busy") == 0) {
                kernels = busy(start_ns + first, second);
                printf("%llu %llu\n", kernels, now_ns() - start_ns);
        } else if (strcmp(scene, "nap") == 0) {
                kernels = busy(start_ns + first / 2, second);
                nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
                kernels += busy(start_ns + first, second);
                printf("%llu %llu\n", kernels, now_ns() - start_ns);
        } else if (strcmp(scene, "backlog") == 0) {
                backlog(first, second);
        } else if (strcmp(scene, "single") == 0) {
                single(first, second);
        } else if (strcmp(scene, "poll") == 0) {
                poll_event(first);
        } else if (strcmp(scene, "spin") == 0) {
                spin_on_word(first);
        } else if (strcmp(scene, "threads") == 0) {
                threads((unsigned)first, second);
        } else if (strcmp(scene, "alloc") == 0) {
                alloc(first);
        } else if (strcmp(scene, "stop") == 0 || strcmp(scene, "die") == 0) {
                launch(NULL, first);
                launch(NULL, first);
                raise(strcmp(scene, "stop") == 0 ? SIGSTOP : SIGKILL);
        } else if (strcmp(scene, "away") == 0) {
                away(first, second);
        } else if (strcmp(scene, "stay") == 0) {
                stay(first);
        }
}

/* Of the driver itself, also when a library of ours stands before it: that one tells its handle. */
static void find_time(void)
{
        struct doctor_api driver = { .handle = NULL };
        time_authority_find *find;

        if (!aliquot_doctor_api || !aliquot_doctor_api(0, &driver))
                driver.handle = dlopen("libcuda.so.1", RTLD_NOW);
        find = driver.handle ? (time_authority_find *)dlsym(driver.handle, TIME_AUTHORITY_SYMBOL)
                             : NULL;
        authority = find ? find(TIME_AUTHORITY_VERSION) : NULL;
        if (!authority) {
                fprintf(stderr, "turns: the driver offers no time\n");
                exit(1);
        }
}

int main(int argc, char **argv)
{
        CUmodule module;

        if (argc < 3)
                return 2;
        find_time();
        OK(cuInit(0));
        OK(cuCtxCreate_v2(&context, 0, 0));
        OK(cuModuleLoadData(&module, "aliquot-sim builtin"));
        OK(cuModuleGetFunction(&spin_ns, module, "spin_ns"));
        run(argv[1], strtoull(argv[2], NULL, 10), argc > 3 ? strtoull(argv[3], NULL, 10) : 0);
        return 0;
}
