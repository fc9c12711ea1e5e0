/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times the ledger by itself, in front of no driver at all: what is left of a hook when the rest is
 * taken away.
 *
 *      ledger pair LIVE        ns of begin + keep + take + drop of one block while LIVE are held:
 *                              median over batches of 64, fresh keys 512 bytes apart
 *      ledger random LIVE      the same, but the block taken is any of the LIVE
 *      ledger crowd PROCESSES  ns of one begin + drop in each of so many processes at once: median
 *                              and 99th percentile over all, of single pairs
 *      ledger refuse PROCESSES ns of a refused charge while so many processes hold something
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/machine_clock.h"
#include "double.h"
#include "shim/charge.h"

#define BATCH 64u
#define BATCHES 4000u
#define SAMPLES 20000u
#define BLOCK UINT64_C(512)
#define FIRST UINT64_C(0x7f0000000000)

static int compare(const void *a, const void *b)
{
        uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

        return (left > right) - (left < right);
}

static void hold(uint64_t key)
{
        struct charge c;

        CHECK(charge_begin(&c, 0, BLOCK));
        charge_keep(&c, SPACE_POINTER, key);
}

static void let_go(uint64_t key)
{
        struct charge c;

        CHECK(charge_take(&c, SPACE_POINTER, key));
        charge_drop(&c);
}

static void time_pairs(uint64_t live, bool is_random)
{
        static uint32_t sample[BATCHES];
        uint64_t *keys = calloc(live, sizeof(*keys));
        uint64_t next = FIRST + live * BLOCK, random = 1;

        for (uint64_t i = 0; i < live; i++)
                hold(keys[i] = FIRST + i * BLOCK);
        for (unsigned b = 0; b < BATCHES; b++) {
                uint64_t began = clock_machine_ns();

                for (unsigned i = 0; i < BATCH; i++, next += BLOCK) {
                        uint64_t *gone = &keys[0];

                        random = random * UINT64_C(6364136223846793005) + 1;
                        if (is_random)
                                gone = &keys[(random >> 33) % live];
                        hold(next);
                        let_go(*gone);
                        *gone = next;
                }
                sample[b] = (uint32_t)(clock_machine_ns() - began);
        }
        qsort(sample, BATCHES, sizeof(*sample), compare);
        printf("%.1f\n", (double)sample[BATCHES / 2] / BATCH);
        free(keys);
}

static void time_crowd(unsigned processes)
{
        const size_t bytes = sizeof(uint32_t) * SAMPLES * processes;
        uint32_t *sample = mmap(NULL, bytes + sizeof(uint32_t), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        _Atomic uint32_t *ready = (_Atomic uint32_t *)(sample + (size_t)SAMPLES * processes);

        for (unsigned p = 0; p < processes; p++) {
                if (fork() != 0)
                        continue;
                hold(1);
                add_acq_rel(ready, 1);
                while (load_acquire(ready) < processes)
                        sched_yield();
                for (unsigned i = 0; i < SAMPLES; i++) {
                        uint64_t began = clock_machine_ns();
                        struct charge c;

                        CHECK(charge_begin(&c, 0, BLOCK));
                        charge_drop(&c);
                        sample[(size_t)p * SAMPLES + i] = (uint32_t)(clock_machine_ns() - began);
                }
                _exit(0);
        }
        while (wait(NULL) > 0)
                ;
        qsort(sample, (size_t)SAMPLES * processes, sizeof(*sample), compare);
        printf("%u\n%u\n", sample[(size_t)SAMPLES * processes / 2],
               sample[(size_t)SAMPLES * processes / 100 * 99]);
}

static void time_refusal(unsigned processes)
{
        uint64_t began;
        struct charge c;
        int ready[2];
        char byte = 0;

        CHECK(pipe(ready) == 0);
        for (unsigned p = 0; p < processes; p++) {
                if (fork() == 0) {
                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                        hold(1);
                        CHECK(write(ready[1], &byte, 1) == 1);
                        pause();
                }
                CHECK(read(ready[0], &byte, 1) == 1);
        }
        double_limit(0, processes * BLOCK);
        began = clock_machine_ns();
        for (unsigned i = 0; i < 1000; i++)
                CHECK(!charge_begin(&c, 0, processes * BLOCK));
        printf("%.1f\n", (double)(clock_machine_ns() - began) / 1000);
}

int main(int argc, char **argv)
{
        unsigned number = argc > 2 ? (unsigned)atoi(argv[2]) : 1;

        double_make(PAGE_UNLIMITED);
        if (argc > 1 && strcmp(argv[1], "pair") == 0)
                time_pairs(number, false);
        else if (argc > 1 && strcmp(argv[1], "random") == 0)
                time_pairs(number, true);
        else if (argc > 1 && strcmp(argv[1], "crowd") == 0)
                time_crowd(number);
        else if (argc > 1 && strcmp(argv[1], "refuse") == 0)
                time_refusal(number);
        double_end();
        return 0;
}
