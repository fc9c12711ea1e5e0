/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As kill.c, one floor up: programs of the driver's interface under the preloaded library, killed
 * before one of EVERY instructions of it, and the simulator's own table of grants for the truth.
 *
 *      kill-gpu SESSION_FOLDER SIM_FOLDER SESSION LIMIT_BYTES alone|last|first EVERY
 *
 * After each kill the simulator is asked what the living hold. A fresh program must get a context
 * and all the rest of the limit, and then not a byte more; when it is gone the ledger must say what
 * the simulator says. The caller has preloaded the library and set the session up.
 */
#include "abi/cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomic.h"
#include "double.h"
#include "scene.h"
#include "sim/node/oracle.h"

#define MIB (UINT64_C(1) << 20)
#define PEER_ASKS (3 * MIB)

static struct {
        __typeof__(cuInit) *init;
        __typeof__(cuDeviceGet) *device;
        __typeof__(cuCtxCreate_v2) *context;
        __typeof__(cuMemAlloc_v2) *alloc;
        __typeof__(cuMemFree_v2) *free;
} driver;

static struct {
        struct oracle *oracle;
        const char *tag;
        uint64_t limit_bytes;
        uint64_t context_bytes;
} truth;

static CUdeviceptr held;

static void bind(void *library, const char *name, void *slot)
{
        void *found = dlsym(library, name);

        CHECK(found);
        memcpy(slot, &found, sizeof(found));
}

static void driver_bind(void)
{
        void *library = dlopen("libcuda.so.1", RTLD_NOW);

        CHECK(library);
        bind(library, "cuInit", &driver.init);
        bind(library, "cuDeviceGet", &driver.device);
        bind(library, "cuCtxCreate_v2", &driver.context);
        bind(library, "cuMemAlloc_v2", &driver.alloc);
        bind(library, "cuMemFree_v2", &driver.free);
}

/* -- what victims, peers and the dead before them do --------------------------------------------
 */

static void alloc(uint64_t bytes)
{
        CHECK(driver.alloc(&held, bytes) == CUDA_SUCCESS);
}

/* Breakpoints lie in the text that all threads of the victim run, and one alone is stepped: the
 * library's helper is not made, which it can do without. */
static void bar_threads(void)
{
        struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

        CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
}

static void prepare_init(void)
{
        bar_threads();
        CUdevice device;

        CHECK(driver.init(0) == CUDA_SUCCESS);
        CHECK(driver.device(&device, 0) == CUDA_SUCCESS);
}

static void act_context(void)
{
        CUcontext context;

        driver.context(&context, 0, 0);
}

static void prepare_context(void)
{
        prepare_init();
        act_context();
}

static void prepare_holding(void)
{
        prepare_context();
        alloc(5 * MIB);
}

static void act_alloc(void)
{
        driver.alloc(&held, 7 * MIB);
}

static void act_free(void)
{
        driver.free(held);
}

static void act_refused(void)
{
        driver.alloc(&held, truth.limit_bytes);
}

/* Leaves less than is wanted until the dead are reaped. */
static void act_reap(void)
{
        driver.alloc(&held, truth.limit_bytes - 3 * truth.context_bytes - 4 * MIB);
}

static void prepare_peer(void)
{
        prepare_context();
        alloc(MIB);
}

static void act_peer(void)
{
        alloc(PEER_ASKS);
}

/* The long one runs alone only: kill.c attaches beside a peer. */
static const struct scene scenes[] = {
        { "attach, for a context", prepare_init, act_context, false, true },
        { "cuMemAlloc", prepare_context, act_alloc, false, false },
        { "cuMemAlloc, refused", prepare_context, act_refused, false, false },
        { "cuMemFree", prepare_holding, act_free, false, false },
        { "cuMemAlloc that reaps", prepare_context, act_reap, true, false },
};

/* -- one kill -------------------------------------------------------------------------------------
 */

/* The living's, by the simulator's own table. */
static uint64_t granted(void)
{
        struct oracle_figures figures;

        oracle_tag(truth.oracle, truth.tag, 0, &figures);
        return figures.current_bytes;
}

static int run_child(int (*run)(void))
{
        pid_t pid = fork();
        int status;

        CHECK(pid >= 0);
        if (pid == 0)
                _exit(run());
        CHECK(waitpid(pid, &status, 0) == pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static uint64_t rest_bytes;

static int take_the_rest(void)
{
        CUdeviceptr more;

        prepare_context();
        if (driver.alloc(&held, rest_bytes) != CUDA_SUCCESS)
                return 1;
        return driver.alloc(&more, 1) == CUDA_ERROR_OUT_OF_MEMORY ? 0 : 2;
}

static int ask_too_much(void)
{
        prepare_context();
        if (driver.alloc(&held, truth.limit_bytes) != CUDA_ERROR_OUT_OF_MEMORY)
                return 1;
        return double_used(0) == granted() ? 0 : 2;
}

/* In MiB; the first one of all only makes the session and the node. */
static int only_context(void)
{
        uint64_t before = truth.oracle ? granted() : 0;

        prepare_context();
        return truth.oracle ? (int)((granted() - before) / MIB) : 0;
}

/* Nobody is alive: the pages as they were, but for what was measured of a context. */
static void slots_reset(void)
{
        struct slots_page *slots = double_slots();

        slots->ledger[0].used_bytes = 0;
        slots->ledger[0].tag = 0;
        memset(slots->row, 0, sizeof(slots->row[0]) * (slots->slots_high + 1));
        slots->slots_high = 0;
}

static void cast_start(struct cast *cast, const struct scene *scene)
{
        slots_reset();
        cast->victim = traced_start(scene->prepare, scene->act);
        if (cast->company != ALONE)
                cast->peer = traced_start(prepare_peer, act_peer);
        if (scene->has_dead) {
                struct traced dead = traced_start(prepare_holding, act_alloc);

                CHECK(traced_to_swap(&dead));
                CHECK(traced_step(&dead));
                traced_kill(&dead);
        }
        if (cast->company != ALONE)
                CHECK(traced_to_swap(&cast->peer));
}

static void peer_goes_on(struct traced *peer)
{
        uint64_t before = granted();

        traced_finish(peer);
        expect(granted() == before + PEER_ASKS, "the peer lost its allocation");
}

static void cast_end(struct cast *cast)
{
        traced_kill(&cast->victim);
        expect(double_rows(0) == double_used(0), "the rows do not come to the word");
        if (cast->company == PEER_FIRST)
                peer_goes_on(&cast->peer);
        rest_bytes = truth.limit_bytes - granted() - truth.context_bytes;
        expect(run_child(take_the_rest) == 0, "not exactly what the living leave is free");
        if (cast->company == PEER_LAST)
                peer_goes_on(&cast->peer);
        /* The fresh one is dead, too: whoever asks for too much finds its bytes, and what is left,
         * its own context and the peer's, the ledger and the simulator must agree on. */
        expect(run_child(ask_too_much) == 0, "the ledger and the simulator differ");
        expect(double_rows(0) == double_used(0), "the rows do not come to the word, after");
        if (cast->company != ALONE)
                traced_kill(&cast->peer);
}

static struct stage stage = { .start = cast_start, .end = cast_end };

int main(int argc, char **argv)
{
        enum company company;
        unsigned points = 0;

        CHECK(argc == 7);
        driver_bind();
        /* Makes the session and the node, and what a context takes is measured. */
        CHECK(run_child(only_context) == 0);
        double_join(argv[1]);
        truth.oracle = oracle_open(argv[2]);
        CHECK(truth.oracle);
        truth.tag = argv[3];
        truth.limit_bytes = strtoull(argv[4], NULL, 10);
        truth.context_bytes = (uint64_t)run_child(only_context) * MIB;
        company = company_of(argv[5]);
        stage.every = (unsigned)atoi(argv[6]);
        CHECK(company != COMPANIES && truth.context_bytes > 0 && stage.every > 0);
        traced_also("libaliquot.so");
        for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]) && !is_any_broken(); i++)
                if (company == ALONE || !scenes[i].is_long)
                        points += scene_run(&stage, &scenes[i], company);
        scene_report(points);
        return is_any_broken();
}
