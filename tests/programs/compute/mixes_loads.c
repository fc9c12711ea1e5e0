/* SPDX-License-Identifier: Apache-2.0 */
#include "mixes.h"

#include <stddef.h>
#include <string.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "spin.h"
#include "watch.h"

#define US_NS UINT64_C(1000)
#define MS_NS (1000 * US_NS)
#define COPY_BYTES (UINT64_C(4) << 20)
#define CONTEXT_KERNELS 20u
#define BLOCKED_NS (50 * MS_NS)
#define SHORT_NS (5 * US_NS)
#define SHORTS 5u

static uint64_t by_lot(struct mixes_worker *worker, uint64_t from, uint64_t to)
{
        worker->random ^= worker->random << 13;
        worker->random ^= worker->random >> 7;
        worker->random ^= worker->random << 17;
        return from + worker->random % (to - from + 1);
}

static void launch(struct mixes_worker *worker, CUstream stream, uint64_t ns)
{
        spin_launch(worker->spin, stream, ns);
        worker->launches++;
        worker->done_ns += ns;
}

static void launch_many(struct mixes_worker *worker, CUstream stream, unsigned count, uint64_t ns)
{
        for (unsigned i = 0; i < count; i++)
                launch(worker, stream, ns);
}

/* `to` goes on when what is in `from` now is over. */
static void chain(struct mixes_worker *worker, unsigned event, CUstream from, CUstream to)
{
        OK(cuEventRecord(worker->event[event], from));
        OK(cuStreamWaitEvent(to, worker->event[event], 0));
}

static void pause_host(struct mixes_worker *worker)
{
        uint64_t ns = by_lot(worker, worker->asked->pause_ns, worker->asked->pause_max_ns);

        if (ns)
                clock_sleep_ns(ns);
}

/* -- Without end: nothing is waited for ------------------------------------------------------- */

/* In all streams in turns. */
static void turns(struct mixes_worker *worker)
{
        CUstream stream = worker->stream[worker->steps % worker->asked->streams];

        launch(worker, stream, worker->asked->ns);
}

static void graph(struct mixes_worker *worker)
{
        OK(cuGraphLaunch(worker->graph, worker->stream[0]));
        worker->launches++;
        worker->done_ns += MIXES_GRAPH_NODES * worker->asked->ns;
}

/* Of any length between the two. */
static void anylength(struct mixes_worker *worker)
{
        uint64_t ns = by_lot(worker, worker->asked->ns, worker->asked->long_ns);

        launch(worker, worker->stream[0], ns);
}

/* One in `of` is a long one. */
static void rare(struct mixes_worker *worker)
{
        bool is_long = by_lot(worker, 1, worker->asked->of) == 1;

        launch(worker, worker->stream[0], is_long ? worker->asked->long_ns : worker->asked->ns);
}

/* A graph of a kernel, a function of the host that takes 5 ms, and a kernel. */
static void hostnode(struct mixes_worker *worker)
{
        OK(cuGraphLaunch(worker->graph, worker->stream[0]));
        worker->launches++;
        worker->done_ns += 2 * worker->asked->ns;
}

/* -- Steps that are waited for ---------------------------------------------------------------- */

/* Kernels, a wait, a pause: one token of a language model, or with one kernel a loop of launch and
 * wait. */
static void steps(struct mixes_worker *worker)
{
        launch_many(worker, worker->stream[0], worker->asked->kernels, worker->asked->ns);
        OK(cuStreamSynchronize(worker->stream[0]));
        pause_host(worker);
}

/* A prompt of long kernels, then 40 tokens by the same function with short ones. */
static void phases(struct mixes_worker *worker)
{
        bool is_prompt = worker->steps % 41 == 0;

        launch_many(worker, worker->stream[0], 20,
                    is_prompt ? worker->asked->long_ns : worker->asked->ns);
        OK(cuStreamSynchronize(worker->stream[0]));
}

/* Five short kernels and a long one, then work of the host, then a wait. */
static void longlast(struct mixes_worker *worker)
{
        launch_many(worker, worker->stream[0], SHORTS, SHORT_NS);
        launch(worker, worker->stream[0], worker->asked->long_ns);
        pause_host(worker);
        OK(cuStreamSynchronize(worker->stream[0]));
}

/* The same in two streams, of which each waits for the other. */
static void chained(struct mixes_worker *worker)
{
        launch_many(worker, worker->stream[0], SHORTS, SHORT_NS);
        chain(worker, 0, worker->stream[0], worker->stream[1]);
        launch(worker, worker->stream[1], worker->asked->long_ns);
        chain(worker, 1, worker->stream[1], worker->stream[0]);
        pause_host(worker);
        OK(cuStreamSynchronize(worker->stream[0]));
}

/* Computes in one stream, reduces gradients in another, fetches the next batch in a third. */
static void training(struct mixes_worker *worker)
{
        CUstream compute = worker->stream[0], reduce = worker->stream[1], fetch = worker->stream[2];

        chain(worker, 0, fetch, compute);
        launch_many(worker, compute, 30, 40 * US_NS);
        OK(cuMemcpyHtoDAsync_v2(worker->memory, worker->host, COPY_BYTES, fetch));
        for (unsigned bucket = 0; bucket < 3; bucket++) {
                launch_many(worker, compute, 10, 60 * US_NS);
                chain(worker, 1, compute, reduce);
                launch(worker, reduce, 300 * US_NS);
        }
        chain(worker, 2, reduce, compute);
        launch_many(worker, compute, 10, 20 * US_NS);
        OK(cuStreamSynchronize(compute));
}

/* All streams wait for a word that the host writes later. */
static void blocked(struct mixes_worker *worker)
{
        _Atomic uint32_t *word = worker->host;
        uint32_t round = (uint32_t)worker->steps + 1;

        for (unsigned i = 0; i < worker->asked->streams; i++) {
                launch(worker, worker->stream[i], worker->asked->ns);
                OK(cuStreamWaitValue32_v2(worker->stream[i], worker->host_word, round,
                                          CU_STREAM_WAIT_VALUE_GEQ));
                launch(worker, worker->stream[i], worker->asked->ns);
        }
        clock_sleep_ns(BLOCKED_NS);
        store_release(word, round);
        OK(cuCtxSynchronize());
}

/* A context of a moment, and some kernels in it. */
static void contexts(struct mixes_worker *worker)
{
        struct mixes_worker moment = *worker;
        CUstream stream;

        OK(cuCtxCreate_v2(&moment.context, 0, 0));
        moment.spin = spin_find();
        OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        launch_many(&moment, stream, CONTEXT_KERNELS, worker->asked->ns);
        OK(cuStreamSynchronize(stream));
        OK(cuCtxDestroy_v2(moment.context));
        worker->launches = moment.launches;
        worker->done_ns = moment.done_ns;
}

static const struct {
        const char *name;
        mixes_step *step;
} loads[] = { { "turns", turns },       { "graph", graph },       { "anylength", anylength },
              { "rare", rare },         { "hostnode", hostnode }, { "steps", steps },
              { "phases", phases },     { "longlast", longlast }, { "chained", chained },
              { "training", training }, { "blocked", blocked },   { "contexts", contexts } };

mixes_step *mixes_find(const char *name)
{
        for (unsigned i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
                if (strcmp(loads[i].name, name) == 0)
                        return loads[i].step;
        }
        return NULL;
}

/* -- What it takes ---------------------------------------------------------------------------- */

static void sleep_on_host(void *unused)
{
        (void)unused;
        clock_sleep_ns(5 * MS_NS);
}

static CUgraphExec capture(const struct mixes_worker *worker, mixes_step *step)
{
        CUstream stream = worker->stream[0];
        uint64_t ns = worker->asked->ns;
        CUgraph captured;
        CUgraphExec made;

        OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        for (unsigned i = 0; step == graph && i < MIXES_GRAPH_NODES; i++)
                spin_launch(worker->spin, stream, ns);
        if (step == hostnode) {
                spin_launch(worker->spin, stream, ns);
                OK(cuLaunchHostFunc(stream, sleep_on_host, NULL));
                spin_launch(worker->spin, stream, ns);
        }
        OK(cuStreamEndCapture(stream, &captured));
        OK(cuGraphInstantiateWithFlags(&made, captured, 0));
        OK(cuGraphDestroy(captured));
        return made;
}

static void prepare_memory(struct mixes_worker *worker)
{
        OK(cuMemAlloc_v2(&worker->memory, COPY_BYTES));
        OK(cuMemHostAlloc(&worker->host, COPY_BYTES, CU_MEMHOSTALLOC_DEVICEMAP));
        memset(worker->host, 0, COPY_BYTES);
        OK(cuMemHostGetDevicePointer_v2(&worker->host_word, worker->host, 0));
}

void mixes_prepare(struct mixes_worker *worker, const struct mixes_worker *first)
{
        mixes_step *step = mixes_find(worker->asked->load);

        OK(cuCtxSetCurrent(worker->context));
        worker->spin = spin_find();
        for (unsigned i = 0; i < MIXES_STREAMS; i++) {
                if (first)
                        worker->stream[i] = first->stream[i];
                else if (i < worker->asked->streams)
                        OK(cuStreamCreate(&worker->stream[i], CU_STREAM_NON_BLOCKING));
        }
        for (unsigned i = 0; i < MIXES_EVENTS; i++)
                OK(cuEventCreate(&worker->event[i], CU_EVENT_DISABLE_TIMING));
        if (step == graph || step == hostnode)
                worker->graph = capture(worker, step);
        if (step == training || step == blocked)
                prepare_memory(worker);
}
