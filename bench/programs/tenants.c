/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of one session, forked by one that makes no call itself: light enough for thousands.
 *
 *      tenants attach COUNT CROWD   wall ns from opening the driver to the end of the first
 *                                   allocation, one a line; CROWD of the COUNT begin at once
 *      tenants dead ROUNDS BYTES    ns from SIGKILL of one that holds BYTES until another has them,
 *                                   one a line
 *      tenants hold COUNT           each holds one block; 0 when all do; until the input ends
 *      tenants watch COUNT FILE     each writes the limit that it sees, and when (CLOCK_MONOTONIC),
 *                                   into its own 16 bytes of FILE; 0 when all have; until the input
 *                                   ends
 *      tenants work COUNT NAP_US    each takes and gives back blocks, with naps in between; 0 when
 *                                   all do; at a line they stop where they are, and calls and
 *                                   errors are told; until the input ends
 */
#include "abi/cuda.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/machine_clock.h"

#define BLOCK_BYTES 512u
#define MOST 4096u
#define HELD 8u           /* blocks of one at work */
#define WORK_BYTES 65536u /* of one of them, at most */
#define LOOK_NS 500000    /* between two looks at the limit */
#define GIVE_UP_NS UINT64_C(10000000000)

static struct {
        __typeof__(cuInit) *init;
        __typeof__(cuDeviceTotalMem_v2) *total;
        __typeof__(cuCtxCreate_v2) *context; /* NULL: the driver always has one */
        __typeof__(cuMemAlloc_v2) *alloc;
        __typeof__(cuMemFree_v2) *free;
} driver;

/* Between parent and children. */
static struct shared {
        _Atomic uint64_t ready, go, stop, stopped;
        _Atomic uint64_t calls, errors;
        uint64_t ns[MOST];
} * shared;

struct seen {
        _Atomic uint64_t limit_bytes, at_ns;
};

static const char *const *word;
static int gate[2]; /* a byte for each that may begin; who waits there takes no time of the CPU */

static uint64_t number(unsigned at)
{
        return strtoull(word[at], NULL, 10);
}

static void must(bool is_so, const char *what)
{
        if (is_so)
                return;
        fprintf(stderr, "tenants: %s\n", what);
        _exit(1);
}

static void succeed(CUresult rc, const char *call)
{
        if (rc == CUDA_SUCCESS)
                return;
        fprintf(stderr, "tenants: %s: error %d\n", call, (int)rc);
        _exit(1);
}

static void nap_ns(uint64_t ns)
{
        const struct timespec nap = clock_timespec(ns);

        nanosleep(&nap, NULL);
}

static void wait_for(_Atomic uint64_t *counter, uint64_t value)
{
        while (load_acquire(counter) < value)
                nap_ns(100000);
}

static void bind(void *library, const char *name, void *slot)
{
        void *found = dlsym(library, name);

        memcpy(slot, &found, sizeof(found));
}

static void driver_open(void)
{
        void *library = dlopen("libcuda.so.1", RTLD_NOW);

        must(library != NULL, "no driver");
        bind(library, "cuInit", &driver.init);
        bind(library, "cuDeviceTotalMem_v2", &driver.total);
        bind(library, "cuCtxCreate_v2", &driver.context);
        bind(library, "cuMemAlloc_v2", &driver.alloc);
        bind(library, "cuMemFree_v2", &driver.free);
        succeed(driver.init(0), "cuInit");
}

static void attach(void)
{
        CUcontext context;
        CUdeviceptr block;

        driver_open();
        if (driver.context)
                succeed(driver.context(&context, 0, 0), "cuCtxCreate");
        succeed(driver.alloc(&block, BLOCK_BYTES), "cuMemAlloc");
}

/* -- What the children do -----------------------------------------------------------------------
 */

static void time_attach(unsigned index)
{
        uint64_t began_ns;
        char byte;

        must(read(gate[0], &byte, 1) == 1, "no word to begin");
        began_ns = clock_machine_ns();
        attach();
        shared->ns[index] = clock_machine_ns() - began_ns;
        add_acq_rel(&shared->stopped, 1);
}

static void hold(unsigned index)
{
        attach();
        add_acq_rel(&shared->ready, 1);
        for (;;)
                pause();
}

static void watch(unsigned index)
{
        int fd = open(word[3], O_RDWR);
        struct seen *seen =
                mmap(NULL, MOST * sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        size_t bytes, before = 0;

        must(seen != MAP_FAILED, "no file to tell in");
        attach();
        for (;; nap_ns(LOOK_NS)) {
                succeed(driver.total(&bytes, 0), "cuDeviceTotalMem");
                if (bytes == before)
                        continue;
                store_release(&seen[index].at_ns, clock_machine_ns());
                store_release(&seen[index].limit_bytes, bytes);
                if (!before)
                        add_acq_rel(&shared->ready, 1);
                before = bytes;
        }
}

static void work(unsigned index)
{
        CUdeviceptr held[HELD] = { 0 };
        unsigned dice = index + 1;
        uint64_t calls, errors = 0;

        attach();
        add_acq_rel(&shared->ready, 1);
        for (calls = 0; !load_acquire(&shared->stop); calls++, nap_ns(number(3) * 1000)) {
                CUdeviceptr *one = &held[(unsigned)rand_r(&dice) % HELD];
                bool must_free = *one != 0;

                if (must_free)
                        errors += driver.free(*one) != CUDA_SUCCESS;
                else
                        errors += driver.alloc(one, 1 + (unsigned)rand_r(&dice) % WORK_BYTES) !=
                                  CUDA_SUCCESS;
                if (must_free)
                        *one = 0;
        }
        add_acq_rel(&shared->calls, calls);
        add_acq_rel(&shared->errors, errors);
        add_acq_rel(&shared->stopped, 1);
        for (;;)
                pause();
}

static void hold_much(unsigned round)
{
        CUdeviceptr block;

        attach();
        succeed(driver.alloc(&block, number(3)), "cuMemAlloc");
        store_release(&shared->ready, round + 1);
        for (;;)
                pause();
}

/* Kills each holder as it comes; `go` is its pid. */
static void inherit(unsigned index)
{
        CUdeviceptr block;
        uint64_t pid, began_ns;

        attach();
        for (unsigned round = 0; round < number(2); round++) {
                while (!(pid = swap_acq_rel(&shared->go, 0)))
                        nap_ns(100000);
                began_ns = clock_machine_ns();
                kill((pid_t)pid, SIGKILL);
                while (driver.alloc(&block, number(3)) != CUDA_SUCCESS)
                        must(clock_machine_ns() - began_ns < GIVE_UP_NS,
                             "the dead keep their bytes");
                shared->ns[round] = clock_machine_ns() - began_ns;
                succeed(driver.free(block), "cuMemFree");
                store_release(&shared->stopped, round + 1);
        }
}

/* -- What the parent does ------------------------------------------------------------------------
 */

static pid_t child(void (*act)(unsigned index), unsigned index)
{
        pid_t pid = fork();

        must(pid >= 0, "fork");
        if (pid)
                return pid;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        act(index);
        _exit(0);
}

static void print_ns(uint64_t count)
{
        for (uint64_t i = 0; i < count; i++)
                printf("%llu\n", (unsigned long long)shared->ns[i]);
}

static void lead_attach(unsigned count)
{
        static const char bytes[MOST];
        uint64_t crowd = number(3), done = 0;

        must(pipe(gate) == 0, "pipe");
        for (unsigned i = 0; i < count; i++)
                child(time_attach, i);
        while (done < count) {
                uint64_t next = count - done < crowd ? count - done : crowd;

                must(write(gate[1], bytes, next) == (ssize_t)next, "the word to begin");
                done += next;
                wait_for(&shared->stopped, done);
        }
        print_ns(count);
}

/* None of them ends by itself. */
static void wait_for_all(_Atomic uint64_t *counter, uint64_t count)
{
        while (load_acquire(counter) < count) {
                must(waitpid(-1, NULL, WNOHANG) == 0, "a program has ended");
                nap_ns(1000000);
        }
}

static void lead_dead(unsigned rounds)
{
        pid_t heir = child(inherit, 0);
        int status;

        for (unsigned round = 0; round < rounds; round++) {
                pid_t holder = child(hold_much, round);

                wait_for_all(&shared->ready, round + 1);
                store_release(&shared->go, (uint64_t)holder);
                waitpid(holder, &status, 0);
                wait_for(&shared->stopped, round + 1);
        }
        waitpid(heir, &status, 0);
        must(status == 0, "the heir ended badly");
        print_ns(rounds);
}

static bool next_line(void)
{
        int c = getchar();

        while (c != '\n' && c != EOF)
                c = getchar();
        return c != EOF;
}

static void lead(unsigned count, void (*act)(unsigned index))
{
        for (unsigned i = 0; i < count; i++)
                child(act, i);
        wait_for_all(&shared->ready, count);
        puts("0");
        fflush(stdout);
        if (!next_line())
                return;
        store_release(&shared->stop, 1);
        wait_for_all(&shared->stopped, count);
        printf("%llu %llu\n", (unsigned long long)load_acquire(&shared->calls),
               (unsigned long long)load_acquire(&shared->errors));
        fflush(stdout);
        next_line();
}

int main(int argc, char **argv)
{
        const char *mode = argc > 2 ? argv[1] : "";
        unsigned count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;

        word = (const char *const *)argv;
        shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                      0);
        must(shared != MAP_FAILED && count && count <= MOST,
             "usage: tenants attach|dead|hold|... COUNT ...");
        if (!strcmp(mode, "attach") && argc > 3)
                lead_attach(count);
        else if (!strcmp(mode, "dead") && argc > 3)
                lead_dead(count);
        else if (!strcmp(mode, "hold"))
                lead(count, hold);
        else if (!strcmp(mode, "watch") && argc > 3)
                lead(count, watch);
        else if (!strcmp(mode, "work") && argc > 3)
                lead(count, work);
        else
                return fprintf(stderr, "tenants: no such mode\n"), 2;
        return 0;
}
