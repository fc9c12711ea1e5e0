/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of two ranks of a program that takes its steps together.
 *
 *      exchange file=PATH rank=0|1 ns=NS seconds=S
 *
 * A step is a kernel of NS, a wait for it, and a wait for the other rank to have come as far. Both
 * meet in the file, which whoever comes first makes. Prints one object: `steps`.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/cuda.h"
#include "common/atomic.h"
#include "common/clock.h"
#include "spin.h"
#include "watch.h"

#define OVER UINT32_MAX

static struct {
        const char *file;
        unsigned rank;
        uint64_t ns;
        double seconds;
} asked = { .ns = 200000, .seconds = 1 };

/* How many steps each has done; OVER: it takes no more. */
static _Atomic uint32_t *done;

static void read_argument(const char *argument)
{
        const char *value = strchr(argument, '=') + 1;

        if (strncmp(argument, "file=", 5) == 0)
                asked.file = value;
        else if (strncmp(argument, "rank=", 5) == 0)
                asked.rank = value[0] == '1';
        else if (strncmp(argument, "ns=", 3) == 0)
                asked.ns = strtoull(value, NULL, 10);
        else if (strncmp(argument, "seconds=", 8) == 0)
                asked.seconds = strtod(value, NULL);
        else
                exit(2);
}

static void meet(void)
{
        int fd = open(asked.file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        if (fd < 0 || ftruncate(fd, 2 * sizeof(*done)) < 0)
                exit(4);
        done = mmap(NULL, 2 * sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (done == MAP_FAILED)
                exit(4);
        close(fd);
}

static void say(uint32_t steps)
{
        store_release(&done[asked.rank], steps);
        clock_wake(&done[asked.rank], 1);
}

static void wait_for_other(uint32_t steps)
{
        const _Atomic uint32_t *other = &done[!asked.rank];
        uint32_t seen;

        while ((seen = load_acquire(other)) < steps)
                clock_wait(other, seen, CLOCK_NEVER);
}

int main(int argc, char **argv)
{
        struct spinner spinner;
        uint64_t begin_ns;
        uint32_t steps = 0;

        for (int i = 1; i < argc; i++)
                read_argument(argv[i]);
        meet();
        spinner = spinner_begin();
        begin_ns = clock_now_ns();
        while ((double)(clock_now_ns() - begin_ns) < asked.seconds * 1e9) {
                spin_launch(spinner.spin, spinner.stream, asked.ns);
                OK(cuStreamSynchronize(spinner.stream));
                say(++steps);
                wait_for_other(steps);
        }
        say(OVER);
        printf("{\"steps\": %u}\n", steps);
        return 0;
}
