/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that uses all of a GPU for some time, for `aliquot bench share`.
 *
 *      aliquot-load FILE ROW KIND NS FROM_NS UNTIL_NS [CHANGE_NS...]
 *
 * FILE has the format of proto/load.h, and ROW is the number of this program's row in it. KIND is a
 * load pattern (load/kinds.h); each of its kernels runs for NS. The program launches them from
 * FROM_NS until UNTIL_NS after the common start (UNTIL_NS of UINT64_MAX: to the end). At each
 * CHANGE_NS after the start it requests a change of its session's settings. It ends when it has
 * taken all samples.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "load/kinds.h"
#include "load/spin.h"

#define MS_NS UINT64_C(1000000)
#define BEGIN_IN_NS (20 * MS_NS) /* time from when the last program is ready to the start */
#define NAP_NS 100000            /* machine time between two checks whether a change was made */
/* checks for a change, 30 s together; then the program continues without it */
#define NAPS 300000u

static struct load {
        struct load_page *page;
        struct load_row *row;
        struct load_sample *sample;
        kinds_launch *launch;
        uint64_t kernel_ns, from_ns, until_ns;
        unsigned change_count;
        uint64_t change_ns[LOAD_CHANGES];
        struct spin spin;
        struct kinds_work work;
} load;

static _Noreturn void die(const struct error *err)
{
        fprintf(stderr, "aliquot-load: %s\n", err->text);
        _exit(1);
}

static struct load_page *map_page(const char *path)
{
        int fd = open(path, O_RDWR | O_CLOEXEC);
        struct stat status;
        void *at = MAP_FAILED;

        if (fd >= 0 && fstat(fd, &status) == 0)
                at = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED) {
                perror(path);
                _exit(1);
        }
        close(fd);
        return at;
}

static bool read_arguments(int argc, char **argv)
{
        unsigned row;

        if (argc < 7 || argc > 7 + (int)LOAD_CHANGES)
                return false;
        load.page = map_page(argv[1]);
        row = (unsigned)strtoul(argv[2], NULL, 10);
        load.launch = kinds_find(argv[3]);
        load.kernel_ns = strtoull(argv[4], NULL, 10);
        load.from_ns = strtoull(argv[5], NULL, 10);
        load.until_ns = strtoull(argv[6], NULL, 10);
        for (int i = 7; i < argc; i++)
                load.change_ns[load.change_count++] = strtoull(argv[i], NULL, 10);
        if (!load.launch || row >= load.page->programs || row >= LOAD_ROWS)
                return false;
        load.row = &load.page->row[row];
        load.sample = load_samples(load.page, row);
        return true;
}

static void sleep_until(uint64_t at_ns)
{
        uint64_t now_ns;

        while ((now_ns = clock_now_ns()) < at_ns)
                clock_sleep_ns(at_ns - now_ns);
}

/* Requests a change of the session's settings, and waits until it is made. The process that makes
 * the change takes no part in virtual time, so this thread sleeps in machine time. Virtual time
 * stands still meanwhile. */
static void have_it_changed(void)
{
        uint32_t asked = add_acq_rel(&load.row->asked, 1) + 1;

        for (unsigned i = 0; i < NAPS && load_acquire(&load.row->changed) < asked; i++)
                nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
}

static void sample(unsigned at, uint64_t begin_ns)
{
        uint64_t now_ns = clock_now_ns(), busy_ns;
        struct error err;

        if (spin_busy_ns(&load.spin, &busy_ns, &err) < 0)
                die(&err);
        load.sample[at] = (struct load_sample){ now_ns - begin_ns, busy_ns };
        store_release(&load.row->sampled, at + 1);
}

/* Waits for the common start, which the last program to become ready sets, and returns it. */
static uint64_t await_begin(void)
{
        uint64_t begin_ns;

        while (!(begin_ns = load_acquire(&load.page->begin_ns)))
                clock_sleep_ns(MS_NS);
        return begin_ns;
}

/* A thread that takes the samples and requests the changes, in the order of their times; at
 * equal times the sample is first. The program counts as ready once this thread takes part in
 * virtual time. */
static void *watch(void *unused)
{
        unsigned changes = 0;
        uint64_t begin_ns;

        clock_join(TIME_FOREGROUND);
        if (add_acq_rel(&load.page->ready, 1) + 1 == load.page->programs)
                store_release(&load.page->begin_ns, clock_now_ns() + BEGIN_IN_NS);
        begin_ns = await_begin();
        for (unsigned at = 0; at < load.page->samples; at++) {
                uint64_t next_ns = (at + 1) * load.page->period_ns;

                while (changes < load.change_count && load.change_ns[changes] < next_ns) {
                        sleep_until(begin_ns + load.change_ns[changes++]);
                        have_it_changed();
                }
                sleep_until(begin_ns + next_ns);
                sample(at, begin_ns);
        }
        _exit(0);
}

static void prepare(const char *kind)
{
        struct error err;
        CUcontext context;
        int rc = driver_open(&err);

        if (rc == 0)
                rc = driver_check(cuInit(0), "cuInit", &err);
        if (rc == 0)
                rc = driver_check(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate", &err);
        if (rc == 0)
                rc = spin_open(&load.spin, load.kernel_ns, &err);
        if (rc < 0)
                die(&err);
        load.work.function = load.spin.function;
        load.work.params = load.spin.params;
        if (driver_check(kinds_prepare(&load.work, kind), "making streams and a graph", &err) < 0)
                die(&err);
        store_release(&load.row->judge, load.spin.judge);
}

static void work_until(uint64_t end_ns)
{
        struct error err;

        while (clock_now_ns() < end_ns) {
                if (driver_check(load.launch(&load.work), "a launch", &err) < 0)
                        die(&err);
                load.work.launches++;
        }
}

int main(int argc, char **argv)
{
        pthread_t watcher;
        uint64_t begin_ns;

        if (!read_arguments(argc, argv)) {
                fprintf(stderr, "usage: aliquot-load FILE ROW KIND NS FROM_NS UNTIL_NS "
                                "[CHANGE_NS...]\n");
                return 2;
        }
        prepare(argv[3]);
        if (pthread_create(&watcher, NULL, watch, NULL) != 0)
                return 1;
        begin_ns = await_begin();
        sleep_until(begin_ns + load.from_ns);
        work_until(load.until_ns == UINT64_MAX ? UINT64_MAX : begin_ns + load.until_ns);
        cuCtxSynchronize();
        pthread_join(watcher, NULL);
        return 0;
}
