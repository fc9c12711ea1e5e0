/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that wait, round after round, and what that cost.
 *
 *      waits SCENE ROUNDS LAUNCHES [cold]
 *
 * A round of each SCENE; launches are kernels of 100 us, so many as LAUNCHES says, or two:
 *
 *      inverse     launches stand behind a word that is written after as many in another stream
 *      events      launches stand behind an event that the host lets come 100 ms later
 *      hoard       launches stand behind a word that the host writes after them
 *      paced       launches stand behind an event that comes soon; in each third round they are of
 *                  800 us, else of 20
 *      thread      another thread puts a wait between two launches and two more; it lasts 100 ms
 *      elsewhere   the same, by the same thread, which then launches in another stream first
 *      beneath     the same, in the default stream, which the launches' own one waits for
 *      above       the same the other way round
 *
 * The host waits for the end of a round in the last four. `cold`: nothing was launched before.
 * Prints one object: `longest_ns`, the longest time from the beginning of one round to that of the
 * next; `share`, the part of all the time that the simulator's engine worked for this process;
 * `billed_ns` by the session's meter, `busy_ns` by the engine, both since the beginning.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "proto/page.h"
#include "simtime.h"
#include "spin.h"
#include "watch.h"

#define KERNEL_NS 100000
#define WAIT_NS UINT64_C(100000000)
#define WARM 100
#define FEW 2

static CUuuid uuid;
static CUcontext context;
static CUfunction spin;
static CUstream waits, works, ordered; /* the last one with the default stream */
static CUdeviceptr word, host_word;
static uint32_t *flag;
static CUevent event;
static uint32_t launches;

static void launch(CUstream stream, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                spin_launch(spin, stream, KERNEL_NS);
}

static void wait_for_host(CUstream stream, uint32_t round)
{
        OK(cuStreamWaitValue32_v2(stream, host_word, round, CU_STREAM_WAIT_VALUE_GEQ));
}

static void release(uint32_t round)
{
        clock_sleep_ns(WAIT_NS);
        store_release(shared_half(flag), round);
        OK(cuCtxSynchronize());
}

static void inverse(uint32_t round)
{
        OK(cuStreamWaitValue32_v2(waits, word, round, CU_STREAM_WAIT_VALUE_GEQ));
        launch(waits, launches);
        launch(works, launches);
        OK(cuStreamWriteValue32_v2(works, word, round, 0));
}

static void sleep_on_host(void *unused)
{
        (void)unused;
        clock_sleep_ns(WAIT_NS);
}

static void events(uint32_t round)
{
        (void)round;
        launch(works, 1);
        OK(cuLaunchHostFunc(works, sleep_on_host, NULL));
        OK(cuEventRecord(event, works));
        OK(cuStreamWaitEvent(waits, event, 0));
        launch(waits, launches);
}

static void paced(uint32_t round)
{
        launch(works, 1);
        OK(cuEventRecord(event, works));
        OK(cuStreamWaitEvent(waits, event, 0));
        for (uint32_t i = 0; i < launches; i++)
                spin_launch(spin, waits, round % 3 ? KERNEL_NS / 5 : 8 * KERNEL_NS);
}

static void hoard(uint32_t round)
{
        wait_for_host(waits, round);
        launch(waits, launches);
        store_release(shared_half(flag), round);
}

static _Atomic uint32_t asked, answered; /* rounds: of the other thread, by it */

/* One for all rounds, to the end of the program. */
static void *wait_in_its_stead(void *unused)
{
        OK(cuCtxSetCurrent(context));
        for (uint32_t round = 0;; round++) {
                while (load_acquire(&asked) == round)
                        clock_wait(&asked, round, CLOCK_NEVER);
                wait_for_host(waits, round + 1);
                store_release(&answered, round + 1);
                clock_wake(&answered, 1);
        }
        return unused;
}

static void thread(uint32_t round)
{
        pthread_t other;

        launch(waits, FEW);
        if (round == 1)
                EXPECT(pthread_create(&other, NULL, wait_in_its_stead, NULL), 0);
        store_release(&asked, round);
        clock_wake(&asked, 1);
        while (load_acquire(&answered) != round)
                clock_wait(&answered, round - 1, CLOCK_NEVER);
        launch(waits, FEW);
        release(round);
}

static void elsewhere(uint32_t round)
{
        launch(waits, FEW);
        wait_for_host(waits, round);
        launch(works, FEW);
        launch(waits, FEW);
        release(round);
}

static void beneath(uint32_t round)
{
        launch(ordered, FEW);
        wait_for_host(NULL, round);
        launch(ordered, FEW);
        release(round);
}

static void above(uint32_t round)
{
        launch(NULL, FEW);
        wait_for_host(ordered, round);
        launch(NULL, FEW);
        release(round);
}

/* To the end: what is launched last in a stream is settled with the next that is launched there. */
static void warm(CUstream stream)
{
        launch(stream, WARM);
        OK(cuCtxSynchronize());
}

static void prepare(bool is_cold)
{
        void *host;

        OK(cuInit(0));
        simtime_follow();
        OK(cuCtxCreate_v2(&context, 0, 0));
        OK(cuDeviceGetUuid(&uuid, 0));
        spin = spin_find();
        OK(cuStreamCreate(&waits, CU_STREAM_NON_BLOCKING));
        OK(cuStreamCreate(&works, CU_STREAM_NON_BLOCKING));
        OK(cuStreamCreate(&ordered, CU_STREAM_DEFAULT));
        OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        OK(cuMemAlloc_v2(&word, 4096));
        OK(cuMemsetD32_v2(word, 0, 1024));
        OK(cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
        memset(host, 0, 4096);
        flag = host;
        OK(cuMemHostGetDevicePointer_v2(&host_word, host, 0));
        OK(cuCtxSynchronize());
        if (is_cold)
                return;
        warm(waits);
        warm(works);
        warm(ordered);
        warm(NULL);
}

static const struct {
        const char *name;
        void (*play)(uint32_t round);
} scenes[] = { { "inverse", inverse }, { "events", events }, { "hoard", hoard },
               { "paced", paced },     { "thread", thread }, { "elsewhere", elsewhere },
               { "beneath", beneath }, { "above", above } };

static uint64_t play(const char *name, uint32_t rounds)
{
        uint64_t last_ns = clock_now_ns(), longest_ns = 0;

        for (uint32_t round = 1; round <= rounds; round++) {
                uint64_t now_ns;

                for (unsigned i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
                        if (strcmp(scenes[i].name, name) == 0)
                                scenes[i].play(round);
                }
                now_ns = clock_now_ns();
                longest_ns = now_ns - last_ns > longest_ns ? now_ns - last_ns : longest_ns;
                last_ns = now_ns;
        }
        OK(cuCtxSynchronize());
        return longest_ns;
}

int main(int argc, char **argv)
{
        uint64_t begin_ns, begin_busy_ns, longest_ns, took_ns, busy_ns;
        const struct page_meter *meter;

        if (argc < 4)
                return 2;
        launches = (uint32_t)strtoul(argv[3], NULL, 10);
        prepare(argc > 4);
        begin_ns = clock_now_ns();
        begin_busy_ns = watch_busy(&uuid);
        longest_ns = play(argv[1], (uint32_t)strtoul(argv[2], NULL, 10));
        took_ns = clock_now_ns() - begin_ns;
        clock_sleep_ns(WAIT_NS); /* what is to be settled is */
        busy_ns = watch_busy(&uuid);
        meter = watch_meter(&uuid);
        printf("{\"longest_ns\": %llu, \"share\": %.4f, \"billed_ns\": %llu, \"busy_ns\": %llu}\n",
               (unsigned long long)longest_ns, (double)(busy_ns - begin_busy_ns) / (double)took_ns,
               (unsigned long long)load_relaxed(shared_word(&meter->busy_ns)),
               (unsigned long long)busy_ns);
        return 0;
}
