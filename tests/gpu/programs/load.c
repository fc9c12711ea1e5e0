/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that wants a card, and kernels that write down when they ran (stamps.ptx).
 *
 *      load IMAGE [kind=KIND] [ns=NS] [seconds=S] [rate=R] [log=FILE] [asks=FILE] [duty=D]
 *           [wait=SECONDS] [then=SECOND:COMMAND]
 *
 * KIND: kernel, ex, cooperative, graph (of ten), sync (waits for each), streams (two of them, in
 * turns), ask (launches and waits, at random times, D of the time). Kernels take NS on a card that
 * they have alone: R steps a nanosecond, measured here unless it is told. After SECOND a shell runs
 * COMMAND, and the S seconds count from its end.
 *
 * Says "ready", begins SECONDS after a line is read, and says "done" after S seconds. Then FILE has
 * the kernels' log; `asks` has two u64 for each request: from its time to its end, and from its
 * launch to its end, in ns.
 */
#include "common/clock.h"
#include "driver.h"

#include <math.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOG_HEAD 16
#define LOG_ENTRY 24
#define LOG_MAX (UINT64_C(1) << 21) /* entries: 48 MiB */
#define GRAPH_NODES 10
#define STREAMS 2
#define BATCH_NS UINT64_C(50000000)
#define BATCHES 2
#define ASKS_MAX 65536
#define WARM_NS UINT64_C(100000000)
#define TRIAL_STEPS UINT64_C(200000)
#define TRIALS 20

static struct {
        const char *kind, *log, *asks;
        uint64_t ns;
        double seconds, rate, duty, wait_seconds, then_second;
        char *then;
} asked = { .kind = "kernel", .ns = 200000, .seconds = 1, .duty = 0.2 };

static CUfunction work;
static CUstream stream[STREAMS];
static CUgraphExec graph;
static CUdeviceptr head; /* of the log */
static uint64_t capacity, steps, launches;
static uint64_t ask_ns[ASKS_MAX][2], ask_count;
static void *params[] = { &steps, &head };

static void launch_on(CUstream at)
{
        must(driver.launch(work, 1, 1, 1, 1, 1, 1, 0, at, params, NULL), "cuLaunchKernel");
}

static void launch_kernel(void)
{
        launch_on(stream[0]);
}

static void launch_ex(void)
{
        CUlaunchConfig config = { .gridDimX = 1,
                                  .gridDimY = 1,
                                  .gridDimZ = 1,
                                  .blockDimX = 1,
                                  .blockDimY = 1,
                                  .blockDimZ = 1,
                                  .hStream = stream[0] };

        must(driver.launch_ex(&config, work, params, NULL), "cuLaunchKernelEx");
}

static void launch_cooperative(void)
{
        must(driver.launch_cooperative(work, 1, 1, 1, 1, 1, 1, 0, stream[0], params),
             "cuLaunchCooperativeKernel");
}

static void launch_graph(void)
{
        must(driver.launch_graph(graph, stream[0]), "cuGraphLaunch");
}

static void await(void)
{
        must(driver.stream_wait(stream[0]), "cuStreamSynchronize");
}

static void launch_sync(void)
{
        launch_kernel();
        await();
}

static void launch_streams(void)
{
        launch_on(stream[launches % STREAMS]);
}

/* Uniform in (0, 1), the same in every run. */
static double lot(void)
{
        static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

/* Requests come at random, whether or not the one before is done. */
static void launch_ask(void)
{
        static uint64_t due_ns;
        uint64_t now_ns = clock_now_ns(), end_ns;

        due_ns = (due_ns ? due_ns : now_ns) +
                 (uint64_t)(-log(lot()) * (double)asked.ns / asked.duty);
        while (now_ns < due_ns) {
                clock_sleep_ns(due_ns - now_ns);
                now_ns = clock_now_ns();
        }
        launch_sync();
        end_ns = clock_now_ns();
        if (ask_count < ASKS_MAX) {
                ask_ns[ask_count][0] = end_ns - due_ns;
                ask_ns[ask_count++][1] = end_ns - now_ns;
        }
}

static const struct {
        const char *name;
        void (*launch)(void);
} kinds[] = {
        { "kernel", launch_kernel }, { "ex", launch_ex },     { "cooperative", launch_cooperative },
        { "graph", launch_graph },   { "sync", launch_sync }, { "streams", launch_streams },
        { "ask", launch_ask },
};

static void log_clear(void)
{
        uint64_t fresh[2] = { 0, capacity };

        must(driver.copy_to(head, fresh, sizeof(fresh)), "cuMemcpyHtoD");
}

/* How long the first entry of the log took, ns. */
static uint64_t log_first(void)
{
        uint64_t stamps[2];

        must(driver.copy_from(stamps, head + LOG_HEAD, sizeof(stamps)), "cuMemcpyDtoH");
        return stamps[1] - stamps[0];
}

/* Steps a nanosecond: of the shortest of some trials, when the card's clock is up. */
static double measure_rate(void)
{
        uint64_t warm_until_ns = clock_now_ns() + WARM_NS, best_ns = UINT64_MAX;

        steps = TRIAL_STEPS;
        while (clock_now_ns() < warm_until_ns)
                launch_sync();
        for (int i = 0; i < TRIALS; i++) {
                uint64_t ns;

                log_clear();
                launch_sync();
                ns = log_first();
                if (ns && ns < best_ns)
                        best_ns = ns;
        }
        return (double)TRIAL_STEPS / (double)best_ns;
}

static bool graph_is_launched(void)
{
        return strcmp(asked.kind, "graph") == 0;
}

static void make_graph(void)
{
        CUgraph captured;

        must(driver.begin_capture(stream[0], CU_STREAM_CAPTURE_MODE_GLOBAL), "begin capture");
        for (unsigned i = 0; i < GRAPH_NODES; i++)
                launch_kernel();
        must(driver.end_capture(stream[0], &captured), "cuStreamEndCapture");
        must(driver.instantiate(&graph, captured, 0), "cuGraphInstantiateWithFlags");
}

static void prepare(const char *image)
{
        double most = asked.seconds * 1.25e9 / (double)asked.ns + 1000;

        driver_ready();
        must(driver.function(&work, driver_module(image), "stamped_work"), "stamped_work");
        for (unsigned i = 0; i < STREAMS; i++)
                must(driver.stream(&stream[i], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        capacity = !asked.then && most < (double)LOG_MAX ? (uint64_t)most : LOG_MAX;
        must(driver.alloc(&head, LOG_HEAD + capacity * LOG_ENTRY), "cuMemAlloc");
        log_clear();
        if (asked.rate <= 0)
                asked.rate = measure_rate();
        steps = (uint64_t)((double)asked.ns * asked.rate);
        if (graph_is_launched())
                make_graph();
        log_clear();
}

static void write_file(const char *path, const void *bytes, size_t size)
{
        FILE *file = path ? fopen(path, "wbe") : NULL;

        if (!path)
                return;
        if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
                perror(path);
                exit(1);
        }
}

/* Gives how many kernels there were, also those that the log had no room for. */
static uint64_t log_write(void)
{
        uint64_t count, kept;
        void *entries;

        must(driver.synchronize(), "cuCtxSynchronize");
        must(driver.copy_from(&count, head, sizeof(count)), "cuMemcpyDtoH");
        kept = count < capacity ? count : capacity;
        entries = malloc(kept * LOG_ENTRY + 1);
        if (!entries)
                exit(1);
        if (kept)
                must(driver.copy_from(entries, head + LOG_HEAD, kept * LOG_ENTRY), "cuMemcpyDtoH");
        write_file(asked.log, entries, kept * LOG_ENTRY);
        free(entries);
        return count;
}

static pid_t then_pid; /* 0: none runs */

static void run_then(void)
{
        static char shell[] = "/bin/sh", flag[] = "-c";
        char *words[] = { shell, flag, asked.then, NULL };

        if (posix_spawn(&then_pid, shell, NULL, NULL, words, environ) != 0)
                perror(shell);
        asked.then = NULL;
}

static bool then_is_over(void)
{
        if (asked.then || (then_pid && waitpid(then_pid, NULL, WNOHANG) == 0))
                return false;
        then_pid = 0;
        return true;
}

/* The card never lacks work, and no more than two batches of it stand in its queue: what is there
 * when the time is over is waited for. */
static void bound_queue(void)
{
        static CUevent end[BATCHES];
        static uint64_t batch;
        uint64_t each_ns = graph_is_launched() ? GRAPH_NODES * asked.ns : asked.ns;
        uint64_t size = BATCH_NS / each_ns ? BATCH_NS / each_ns : 1;
        CUevent *at = &end[batch % BATCHES];

        if (launches % size)
                return;
        if (*at)
                must(driver.event_wait(*at), "cuEventSynchronize");
        else
                must(driver.event(at, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
        must(driver.record(*at, stream[0]), "cuEventRecord");
        batch++;
}

static void go(void (*launch)(void))
{
        uint64_t from_ns, now_ns, begin_ns;

        clock_sleep_ns((uint64_t)(asked.wait_seconds * 1e9));
        from_ns = now_ns = begin_ns = clock_now_ns();
        while ((double)(now_ns - from_ns) < asked.seconds * 1e9) {
                launch();
                launches++;
                bound_queue();
                now_ns = clock_now_ns();
                if (asked.then && (double)(now_ns - begin_ns) > asked.then_second * 1e9)
                        run_then();
                if (!then_is_over())
                        from_ns = now_ns;
        }
}

static void read_argument(char *argument)
{
        char *value = strchr(argument, '=');

        if (!value)
                exit(2);
        *value++ = '\0';
        if (strcmp(argument, "kind") == 0)
                asked.kind = value;
        else if (strcmp(argument, "log") == 0)
                asked.log = value;
        else if (strcmp(argument, "asks") == 0)
                asked.asks = value;
        else if (strcmp(argument, "ns") == 0)
                asked.ns = strtoull(value, NULL, 10);
        else if (strcmp(argument, "seconds") == 0)
                asked.seconds = strtod(value, NULL);
        else if (strcmp(argument, "rate") == 0)
                asked.rate = strtod(value, NULL);
        else if (strcmp(argument, "duty") == 0)
                asked.duty = strtod(value, NULL);
        else if (strcmp(argument, "wait") == 0)
                asked.wait_seconds = strtod(value, NULL);
        else if (strcmp(argument, "then") == 0 && strchr(value, ':')) {
                asked.then_second = strtod(value, NULL);
                asked.then = strchr(value, ':') + 1;
        } else
                exit(2);
}

static void (*kind_find(void))(void)
{
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
                if (strcmp(kinds[i].name, asked.kind) == 0)
                        return kinds[i].launch;
        exit(2);
}

int main(int argc, char **argv)
{
        void (*launch)(void);
        uint64_t kernels;

        if (argc < 2)
                return 2;
        for (int i = 2; i < argc; i++)
                read_argument(argv[i]);
        launch = kind_find();
        prepare(argv[1]);
        printf("@ {\"at\": \"ready\", \"hold\": true, \"pid\": %d, \"rate\": %.9g}\n",
               (int)getpid(), asked.rate);
        fflush(stdout);
        (void)!getchar();
        go(launch);
        kernels = log_write();
        write_file(asked.asks, ask_ns, ask_count * sizeof(ask_ns[0]));
        printf("@ {\"at\": \"done\", \"pid\": %d, \"launches\": %llu, \"kernels\": %llu, \"lost\": "
               "%llu, \"with_us\": %s}\n",
               (int)getpid(), (unsigned long long)launches, (unsigned long long)kernels,
               (unsigned long long)(kernels > capacity ? kernels - capacity : 0),
               driver_is_with_us());
        return 0;
}
