/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is asked for something now and then, and how long each answer took.
 *
 *      request kernels=N ns=NS pause=NS count=N
 *
 * A request is so many kernels of NS each, and a wait for all of them; after it comes a pause of
 * `pause` on average (half to one and a half of it, by lot, the same in every run), in which the
 * device is not used. Prints one object: `took_ns` of each, in order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/cuda.h"
#include "common/clock.h"
#include "spin.h"
#include "watch.h"

#define MOST 100000

static struct {
        uint64_t kernels, ns, pause, count;
} asked = { .kernels = 1, .ns = 20000, .pause = 1000000, .count = 100 };

static void read_argument(const char *argument)
{
        const char *value = strchr(argument, '=');
        uint64_t number = value ? strtoull(value + 1, NULL, 10) : 0;

        if (strncmp(argument, "kernels=", 8) == 0)
                asked.kernels = number;
        else if (strncmp(argument, "ns=", 3) == 0)
                asked.ns = number;
        else if (strncmp(argument, "pause=", 6) == 0)
                asked.pause = number;
        else if (strncmp(argument, "count=", 6) == 0 && number < MOST)
                asked.count = number;
        else
                exit(2);
}

static uint64_t by_lot(uint64_t below)
{
        static uint64_t x = UINT64_C(0x9e3779b97f4a7c15);

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        return x % below;
}

static uint64_t answer(const struct spinner *spinner)
{
        uint64_t begun_ns = clock_now_ns();

        for (uint64_t i = 0; i < asked.kernels; i++)
                spin_launch(spinner->spin, spinner->stream, asked.ns);
        OK(cuStreamSynchronize(spinner->stream));
        return clock_now_ns() - begun_ns;
}

int main(int argc, char **argv)
{
        struct spinner spinner;

        for (int i = 1; i < argc; i++)
                read_argument(argv[i]);
        spinner = spinner_begin();
        printf("{\"took_ns\": [");
        for (uint64_t i = 0; i < asked.count; i++) {
                printf("%s%llu", i ? ", " : "", (unsigned long long)answer(&spinner));
                clock_sleep_ns(asked.pause / 2 + by_lot(asked.pause + 1));
        }
        printf("]}\n");
        return 0;
}
