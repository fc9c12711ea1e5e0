/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many processes allocate and free at the limit of a session, through the driver's own interface.
 *
 *      gpu-stress LIMIT_BYTES [processes=64] [operations=2000] [mixed] [kill]
 *
 * As stress.c, with a real front door and a driver behind it: tokens for exactly LIMIT_BYTES, one a
 * granule; who holds tokens may not be told that memory is out. Prints how many were. The driver's
 * own count of what it granted is read by the caller.
 */
#include "abi/cuda.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRANULE UINT64_C(65536)
#define MAX_TOKENS 4096u
#define MAX_PROCESSES 256u
#define BLOCKS 8u
#define LARGEST 5u

static struct {
        _Atomic uint32_t token[MAX_TOKENS]; /* owner's number + 1; 0 free */
        _Atomic uint32_t done[MAX_PROCESSES];
        _Atomic uint32_t refused, failed;
        _Atomic uint32_t started; /* nobody begins before all are there */
} * shared;

static struct {
        unsigned tokens, processes, operations;
        bool is_mixed, is_killing;
} plan = { .processes = 64, .operations = 2000 };

static struct {
        __typeof__(cuInit) *init;
        __typeof__(cuDeviceGet) *device;
        __typeof__(cuCtxCreate_v2) *context;
        __typeof__(cuMemAlloc_v2) *alloc;
        __typeof__(cuMemFree_v2) *free;
} driver;

struct block {
        CUdeviceptr address;
        unsigned granules;
        unsigned token[LARGEST];
};

static uint64_t random_next(uint64_t *state)
{
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return *state >> 33;
}

static void must(bool is_so, const char *what)
{
        if (is_so)
                return;
        fprintf(stderr, "gpu-stress: %s\n", what);
        _exit(1);
}

static void bind(void *library, const char *name, void *slot)
{
        void *found = dlsym(library, name);

        must(found, name);
        memcpy(slot, &found, sizeof(found));
}

static void driver_open(void)
{
        void *library = dlopen("libcuda.so.1", RTLD_NOW);
        CUcontext context;
        CUdevice device;

        must(library, "no libcuda.so.1");
        bind(library, "cuInit", &driver.init);
        bind(library, "cuDeviceGet", &driver.device);
        bind(library, "cuCtxCreate_v2", &driver.context);
        bind(library, "cuMemAlloc_v2", &driver.alloc);
        bind(library, "cuMemFree_v2", &driver.free);
        must(driver.init(0) == CUDA_SUCCESS, "cuInit");
        must(driver.device(&device, 0) == CUDA_SUCCESS, "cuDeviceGet");
        must(driver.context(&context, 0, device) == CUDA_SUCCESS, "cuCtxCreate");
}

static void tokens_put(struct block *block)
{
        for (unsigned i = 0; i < block->granules; i++)
                atomic_store(&shared->token[block->token[i]], 0);
        block->granules = 0;
}

static bool tokens_take(struct block *block, unsigned wanted, unsigned id, uint64_t *random)
{
        unsigned start = (unsigned)random_next(random);

        block->granules = 0;
        for (unsigned i = 0; i < plan.tokens && block->granules < wanted; i++) {
                unsigned at = (start + i) % plan.tokens;
                uint32_t expected = 0;

                if (atomic_compare_exchange_strong(&shared->token[at], &expected, id + 1))
                        block->token[block->granules++] = at;
        }
        if (block->granules == wanted)
                return true;
        tokens_put(block);
        return false;
}

static void block_alloc(struct block *block, unsigned id, uint64_t *random)
{
        unsigned wanted = plan.is_mixed ? 1 + (unsigned)random_next(random) % LARGEST : 1;
        CUresult rc;

        if (!tokens_take(block, wanted, id, random))
                return;
        rc = driver.alloc(&block->address, wanted * GRANULE);
        if (rc == CUDA_SUCCESS)
                return;
        atomic_fetch_add(rc == CUDA_ERROR_OUT_OF_MEMORY ? &shared->refused : &shared->failed, 1);
        tokens_put(block);
}

static void block_free(struct block *block)
{
        if (driver.free(block->address) != CUDA_SUCCESS)
                atomic_fetch_add(&shared->failed, 1);
        tokens_put(block);
}

/* SIGKILL from the kernel, after some milliseconds of this process's own time. */
static void die_soon(void)
{
        struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
        /* Neighbouring pids die at times far apart. */
        uint32_t chance = (uint32_t)getpid() * UINT32_C(2654435761);
        struct itimerspec after = { .it_value.tv_nsec = 5000000 + chance % 30000000 };
        timer_t timer;

        must(timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) == 0, "timer_create");
        must(timer_settime(timer, 0, &after, NULL) == 0, "timer_settime");
}

static void worker_run(unsigned id)
{
        struct block block[BLOCKS] = { 0 };
        uint64_t random = id * UINT64_C(77777) + (uint64_t)getpid();

        driver_open();
        if (plan.is_killing)
                die_soon();
        while (atomic_load(&shared->started) == 0)
                usleep(1000);
        while (atomic_load(&shared->done[id]) < plan.operations) {
                unsigned i = (unsigned)random_next(&random) % BLOCKS;

                /* Few processors: without this each would run alone for milliseconds. Those that
                 * are to be killed should leave the processor anywhere, not here. */
                if (!plan.is_killing && random_next(&random) % 4 == 0)
                        sched_yield();

                if (block[i].granules)
                        block_free(&block[i]);
                else
                        block_alloc(&block[i], id, &random);
                atomic_fetch_add(&shared->done[id], 1);
        }
        for (unsigned i = 0; i < BLOCKS; i++)
                if (block[i].granules)
                        block_free(&block[i]);
}

static pid_t worker_start(unsigned id)
{
        pid_t pid = fork();

        must(pid >= 0, "fork");
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                worker_run(id);
                _exit(0);
        }
        return pid;
}

static unsigned run_all(void)
{
        pid_t pids[MAX_PROCESSES];
        unsigned kills = 0, running = plan.processes;

        for (unsigned i = 0; i < plan.processes; i++)
                pids[i] = worker_start(i);
        atomic_store(&shared->started, 1);
        while (running > 0) {
                int status;
                pid_t pid = wait(&status);
                unsigned id = 0;

                must(pid > 0, "wait");
                while (pids[id] != pid)
                        id++;
                if (WIFEXITED(status)) {
                        must(WEXITSTATUS(status) == 0, "a worker failed");
                        running--;
                        continue;
                }
                must(plan.is_killing && WTERMSIG(status) == SIGKILL, "a worker crashed");
                for (unsigned i = 0; i < plan.tokens; i++)
                        if (atomic_load(&shared->token[i]) == id + 1)
                                atomic_store(&shared->token[i], 0);
                pids[id] = worker_start(id);
                kills++;
        }
        return kills;
}

int main(int argc, char **argv)
{
        unsigned kills;

        must(argc > 1, "how many bytes?");
        plan.tokens = (unsigned)(strtoull(argv[1], NULL, 10) / GRANULE);
        for (int i = 2; i < argc; i++) {
                if (strncmp(argv[i], "processes=", 10) == 0)
                        plan.processes = (unsigned)atoi(argv[i] + 10);
                else if (strncmp(argv[i], "operations=", 11) == 0)
                        plan.operations = (unsigned)atoi(argv[i] + 11);
                plan.is_mixed |= strcmp(argv[i], "mixed") == 0;
                plan.is_killing |= strcmp(argv[i], "kill") == 0;
        }
        must(plan.tokens > 0 && plan.tokens <= MAX_TOKENS && plan.processes <= MAX_PROCESSES,
             "out of range");
        shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                      0);
        must(shared != MAP_FAILED, "mmap");
        kills = run_all();
        printf("{\"killed\": %u, \"refused\": %u, \"failed\": %u}\n", kills,
               atomic_load(&shared->refused), atomic_load(&shared->failed));
        return 0;
}
