/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job with much memory: fills blocks, then works step by step, and checks every byte at the end.
 *
 *      job KERNELS bytes=N [block=N] steps=N ns=NS [pause=NS every=N] [samples=NS]
 *
 * A step is a kernel of NS, then one that checks the beginning of the next block. After each
 * `every` steps the job is idle for `pause` ns. KERNELS is the file of bytes_kernels.c. Prints one
 * object: `wrong`, how many words were not as they had been filled; `filled_ns` and `took_ns`, from
 * the beginning until the blocks were filled and until the last step; `longest_ns`, the longest
 * step. With `samples` also `done`, how many steps were over at most every NS: pairs of the
 * time in ns and the steps.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "simtime.h"
#include "spin.h"
#include "watch.h"

#define BLOCKS_MAX 4096u
#define WORDS_A_STEP UINT64_C(64)
#define SAMPLES_MAX 4096u

static struct {
        uint64_t bytes, block, steps, ns, pause, every, samples;
} asked = { .block = 16 << 20, .every = 1 };

static struct {
        CUfunction fill, wrong, spin;
        CUstream stream;
        CUdeviceptr block[BLOCKS_MAX];
        unsigned count;
        uint64_t *found; /* pinned, for the kernels */
} job;

static struct {
        uint64_t ns, steps;
} sample[SAMPLES_MAX];
static unsigned samples;

static void take_sample(uint64_t now_ns, uint64_t steps)
{
        bool is_due = !samples || now_ns - sample[samples - 1].ns >= asked.samples;

        if (!asked.samples || !is_due || samples == SAMPLES_MAX)
                return;
        sample[samples].ns = now_ns;
        sample[samples++].steps = steps;
}

static void read_argument(const char *text)
{
        static const struct {
                const char *name;
                uint64_t *value;
        } names[] = {
                { "bytes=", &asked.bytes },     { "block=", &asked.block },
                { "steps=", &asked.steps },     { "ns=", &asked.ns },
                { "pause=", &asked.pause },     { "every=", &asked.every },
                { "samples=", &asked.samples },
        };

        for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                size_t length = strlen(names[i].name);

                if (strncmp(text, names[i].name, length) == 0) {
                        *names[i].value = strtoull(text + length, NULL, 10);
                        return;
                }
        }
        fprintf(stderr, "job: what is %s?\n", text);
        exit(2);
}

static void run(CUfunction function, void **params)
{
        OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, job.stream, params, NULL));
        OK(cuStreamSynchronize(job.stream));
}

/* Whatever the number of a block, its words are others than another one's. */
static void fill(unsigned at)
{
        uint64_t words = asked.block / sizeof(uint64_t), seed = at;

        OK(cuMemAlloc_v2(&job.block[at], asked.block));
        run(job.fill, (void *[]){ &job.block[at], &words, &seed });
}

static uint64_t wrong(unsigned at, uint64_t words)
{
        uint64_t seed = at;

        *job.found = UINT64_MAX;
        run(job.wrong, (void *[]){ &job.block[at], &words, &seed, &job.found });
        return *job.found;
}

static void begin(const char *kernels)
{
        struct spinner spinner = spinner_begin();
        CUmodule module;

        clock_join(TIME_FOREGROUND);
        job.spin = spinner.spin;
        job.stream = spinner.stream;
        OK(cuModuleLoad(&module, kernels));
        OK(cuModuleGetFunction(&job.fill, module, "fill"));
        OK(cuModuleGetFunction(&job.wrong, module, "wrong"));
        OK(cuMemHostAlloc((void **)&job.found, sizeof(*job.found), 0));
}

int main(int argc, char **argv)
{
        uint64_t wrongs = 0, began_ns, filled_ns, step_ns, longest_ns = 0, took_ns;

        for (int i = 2; i < argc; i++)
                read_argument(argv[i]);
        if (argc < 3 || asked.bytes / asked.block > BLOCKS_MAX || asked.bytes < asked.block)
                return 2;
        begin(argv[1]);
        began_ns = clock_now_ns();
        for (; job.count < asked.bytes / asked.block; job.count++)
                fill(job.count);
        step_ns = clock_now_ns();
        filled_ns = step_ns - began_ns;
        for (uint64_t i = 0; i < asked.steps; i++) {
                uint64_t now_ns;

                spin_launch(job.spin, job.stream, asked.ns);
                wrongs += wrong((unsigned)(i % job.count), WORDS_A_STEP);
                now_ns = clock_now_ns();
                longest_ns = now_ns - step_ns > longest_ns ? now_ns - step_ns : longest_ns;
                take_sample(now_ns, i + 1);
                if (asked.pause && (i + 1) % asked.every == 0)
                        clock_sleep_ns(asked.pause);
                step_ns = clock_now_ns();
        }
        took_ns = clock_now_ns() - began_ns;
        for (unsigned i = 0; i < job.count; i++)
                wrongs += wrong(i, asked.block / sizeof(uint64_t));
        /* Virtual time would pass while the kernel ends the process. */
        for (unsigned i = 0; i < job.count; i++)
                OK(cuMemFree_v2(job.block[i]));
        printf("{\"wrong\": %llu, \"filled_ns\": %llu, \"took_ns\": %llu, \"longest_ns\": %llu, "
               "\"done\": [",
               (unsigned long long)wrongs, (unsigned long long)filled_ns,
               (unsigned long long)took_ns, (unsigned long long)longest_ns);
        for (unsigned i = 0; i < samples; i++)
                printf("%s[%llu, %llu]", i ? ", " : "", (unsigned long long)sample[i].ns,
                       (unsigned long long)sample[i].steps);
        puts("]}");
        return 0;
}
