/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs in which what runs waits for what is still to be launched: a gate that only waited for
 * what runs would never open.
 *
 *      waits IMAGE consumer COUNT      a kernel spins until COUNT others, launched after it, have
 * run waits IMAGE persistent COUNT    a kernel runs all the while; the host ends it when COUNT
 * others of another stream are done
 *
 * Says "done" with the seconds that it took, and whether the spinning kernel gave up (after a
 * minute, so that no card is held for ever).
 */
#include "common/atomic.h"
#include "common/clock.h"
#include "driver.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_NS UINT64_C(60000000000)
#define PRODUCE_NS UINT64_C(500000)
#define WORD_BYTES 4096

static CUfunction spin, produce;
static CUstream spins, works;

/* In the host's memory, so that either side can write it: what is waited for, and "gave up". */
static _Atomic uint32_t *word;
static CUdeviceptr at;

static void prepare(const char *image)
{
        CUmodule module;
        void *host;

        driver_ready();
        module = driver_module(image);
        must(driver.function(&spin, module, "spin_until"), "spin_until");
        must(driver.function(&produce, module, "produce"), "produce");
        must(driver.stream(&spins, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        must(driver.stream(&works, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        must(driver.host_alloc(&host, WORD_BYTES, CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
        memset(host, 0, WORD_BYTES);
        must(driver.host_pointer(&at, host, 0), "cuMemHostGetDevicePointer");
        word = host;
}

static void launch(CUfunction function, CUstream stream, void **params)
{
        must(driver.launch(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL), "cuLaunchKernel");
}

static void play(uint32_t wanted, unsigned count)
{
        uint64_t max_ns = MAX_NS;
        void *until[] = { &at, &wanted, &max_ns };
        uint64_t ns = PRODUCE_NS;
        void *one[] = { &at, &ns };

        launch(spin, spins, until);
        for (unsigned i = 0; i < count; i++)
                launch(produce, works, one);
        must(driver.stream_wait(works), "cuStreamSynchronize");
        store_release(word, UINT32_MAX / 2);
        must(driver.stream_wait(spins), "cuStreamSynchronize");
}

int main(int argc, char **argv)
{
        uint64_t began_ns;
        unsigned count;

        if (argc != 4)
                return 2;
        count = (unsigned)strtoul(argv[3], NULL, 10);
        prepare(argv[1]);
        began_ns = clock_now_ns();
        play(strcmp(argv[2], "consumer") == 0 ? count : UINT32_MAX / 2, count);
        printf("@ {\"at\": \"done\", \"pid\": %d, \"seconds\": %.6f, \"gave_up\": %s, \"seen\": "
               "%u, \"with_us\": %s}\n",
               (int)getpid(), (double)(clock_now_ns() - began_ns) / 1e9,
               load_acquire(&word[1]) ? "true" : "false", load_acquire(&word[0]),
               driver_is_with_us());
        return 0;
}
