/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A load of mixes.h for some time, and what it got, by the simulator alone: it reads no page of
 * Aliquot's, so that one build of it judges any build of the library.
 *
 *      mixes load=LOAD seconds=S [every=MS] [threads=N] [shared] [streams=N] [kernels=N] [ns=NS]
 *            [long=NS] [of=N] [pause=NS] [pause_most=NS]
 *
 * With `shared` the threads use one set of streams. Prints one object of lists, an element each
 * `every` ms (1000), or when the first thread's step is over: `at_ns` since the beginning;
 * `busy_ns` of the engine by this process, in whole pieces of work; `done_ns`, how long the kernels
 * of all steps take that were over by then; and `launches`. Then what it was once all work was
 * complete: `end_busy_ns`, and `end_flight_ns`, how long the processes of its session had work in
 * flight (with flights=on).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "mixes.h"
#include "sim/node/node.h"
#include "simtime.h"
#include "watch.h"

#define MS_NS UINT64_C(1000000)
#define SETTLE_NS (100 * MS_NS)
#define SAMPLES 4096u
#define THREADS 64u

static struct mixes_asked asked = {
        .load = "turns", .streams = 1, .threads = 1, .kernels = 1, .ns = 20000, .of = 1
};
static double seconds = 1;
static uint64_t every_ns = 1000 * MS_NS;
static bool is_shared;

static CUuuid uuid;
static uint64_t begin_ns;
static struct mixes_worker workers[THREADS];
static _Atomic uint32_t over; /* threads whose time is up */

/* Of each worker, for the sampler. */
static struct {
        _Atomic uint64_t done_ns, launches;
} told[THREADS];

static struct {
        uint64_t at_ns, busy_ns, done_ns, launches;
} sample[SAMPLES];
static unsigned samples;

/* -- Samples ----------------------------------------------------------------------------------- */

static void take_sample(void)
{
        sample[samples].at_ns = clock_now_ns() - begin_ns;
        sample[samples].busy_ns = watch_busy(&uuid);
        for (unsigned i = 0; i < asked.threads; i++) {
                sample[samples].done_ns += load_relaxed(&told[i].done_ns);
                sample[samples].launches += load_relaxed(&told[i].launches);
        }
        samples++;
}

/* By the first worker between two steps: a thread that sleeps until the next sample would let time
 * leap there while a worker waits where the simulator does not see it. */
static void sample_on_time(void)
{
        if (clock_now_ns() - begin_ns >= samples * every_ns && samples < SAMPLES)
                take_sample();
}

/* -- Work -------------------------------------------------------------------------------------- */

static void *work(void *argument)
{
        struct mixes_worker *worker = argument;
        size_t at = (size_t)(worker - workers);
        mixes_step *step = mixes_find(asked.load);

        if (at)
                mixes_prepare(worker, is_shared ? &workers[0] : NULL);
        while ((double)(clock_now_ns() - begin_ns) < seconds * 1e9) {
                if (!at)
                        sample_on_time();
                step(worker);
                worker->steps++;
                store_relaxed(&told[at].done_ns, worker->done_ns);
                store_relaxed(&told[at].launches, worker->launches);
        }
        add_acq_rel(&over, 1);
        clock_wake(&over, 1);
        return NULL;
}

static void start(pthread_t *ret, void *(*thread)(void *), void *argument)
{
        if (pthread_create(ret, NULL, thread, argument) != 0)
                exit(3);
}

/* The calling thread is the first worker: the others use its streams, where they are shared. */
static void work_all(CUcontext context)
{
        pthread_t thread;

        for (unsigned i = 0; i < asked.threads; i++) {
                workers[i].asked = &asked;
                workers[i].context = context;
                workers[i].random = UINT64_C(88172645463325252) + i;
        }
        mixes_prepare(&workers[0], NULL);
        begin_ns = clock_now_ns();
        for (unsigned i = 1; i < asked.threads; i++)
                start(&thread, work, &workers[i]);
        work(&workers[0]);
        sample_on_time();
        for (uint32_t seen; (seen = load_acquire(&over)) < asked.threads;)
                clock_wait(&over, seen, CLOCK_NEVER);
}

/* -- What it got ------------------------------------------------------------------------------- */

static uint64_t flight_of_session(void)
{
        const struct sim_node *node = watch_node();

        for (unsigned i = 0; i < NODE_PROCESSES; i++) {
                const struct node_row *row = &node->row[i];

                if (row->state == ROW_LIVE && row->pid == getpid())
                        return flight_ns(&node->tag[row->tag].column[0].flight, clock_now_ns());
        }
        return 0;
}

#define PRINT_LIST(field)                                                                     \
        do {                                                                                  \
                printf("\"" #field "\": [");                                                  \
                for (unsigned i = 0; i < samples; i++)                                        \
                        printf("%s%llu", i ? ", " : "", (unsigned long long)sample[i].field); \
                printf("], ");                                                                \
        } while (0)

static void print(void)
{
        printf("{");
        PRINT_LIST(at_ns);
        PRINT_LIST(busy_ns);
        PRINT_LIST(done_ns);
        PRINT_LIST(launches);
        OK(cuCtxSynchronize());
        clock_sleep_ns(SETTLE_NS);
        printf("\"end_busy_ns\": %llu, \"end_flight_ns\": %llu}\n",
               (unsigned long long)watch_busy(&uuid), (unsigned long long)flight_of_session());
}

static void read_argument(const char *argument)
{
        static const struct {
                const char *name;
                unsigned *count;
                uint64_t *ns;
        } numbers[] = { { "threads", &asked.threads, NULL },
                        { "streams", &asked.streams, NULL },
                        { "kernels", &asked.kernels, NULL },
                        { "of", &asked.of, NULL },
                        { "ns", NULL, &asked.ns },
                        { "long", NULL, &asked.long_ns },
                        { "pause", NULL, &asked.pause_ns },

                        { "pause_most", NULL, &asked.pause_max_ns } };
        const char *value = strchr(argument, '=');
        size_t length = value ? (size_t)(value - argument) : 0;

        if (strcmp(argument, "shared") == 0)
                is_shared = true;
        else if (strncmp(argument, "load=", 5) == 0)
                asked.load = value + 1;
        else if (strncmp(argument, "seconds=", 8) == 0)
                seconds = strtod(value + 1, NULL);
        else if (strncmp(argument, "every=", 6) == 0)
                every_ns = strtoull(value + 1, NULL, 10) * MS_NS;
        for (unsigned i = 0; length && i < sizeof(numbers) / sizeof(numbers[0]); i++) {
                if (strncmp(numbers[i].name, argument, length) != 0 || numbers[i].name[length])
                        continue;
                if (numbers[i].count)
                        *numbers[i].count = (unsigned)strtoul(value + 1, NULL, 10);
                else
                        *numbers[i].ns = strtoull(value + 1, NULL, 10);
        }
}

static void read_arguments(int argc, char **argv)
{
        for (int i = 1; i < argc; i++)
                read_argument(argv[i]);
        if (asked.pause_max_ns < asked.pause_ns)
                asked.pause_max_ns = asked.pause_ns;
        if (!mixes_find(asked.load) || !asked.threads || asked.threads > THREADS ||
            !asked.streams || asked.streams > MIXES_STREAMS || !asked.of)
                exit(2);
}

int main(int argc, char **argv)
{
        CUcontext context;

        read_arguments(argc, argv);
        OK(cuInit(0));
        simtime_follow();
        OK(cuCtxCreate_v2(&context, 0, 0));
        OK(cuDeviceGetUuid(&uuid, 0));
        work_all(context);
        print();
        return 0;
}
