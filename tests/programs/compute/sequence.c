/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random sequences of calls, one a thread, and what came of them: a program cannot tell that it is
 * shared by its results.
 *
 *      sequence SEED CALLS [THREADS]
 *
 * Kernels, fills, copies, events, waits, host functions, captures and graphs, blocks of memory and
 * pools; streams and contexts that end, and others in their place; calls that are refused. Each
 * thread has four streams in a context of its own and four in one that all share, default ones
 * among them. Whatever touches the same memory is ordered by streams and events, so that nothing
 * depends on which thread is faster. From time to time all threads meet: each hands something to
 * the next one, and then one of them is alone with what would disturb others, captures in global
 * mode and the end of the primary context.
 *
 * Prints a line a call with the thread, the call and its answer, thread by thread, and a sum of
 * all memory at the end. The same seed makes the same calls.
 */
#include "sequence.h"

#include <limits.h>
#include <stdlib.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "simtime.h"
#include "watch.h"

#define THREADS 16
#define MEETS_EVERY 100 /* calls */
#define SUM_PRIME 1099511628211u

static struct player players[THREADS];
static unsigned threads = 1, calls;
static CUcontext shared;
static _Atomic uint32_t arrived, meetings;

_Thread_local struct player *me;

/* Until all threads are here. */
static void meet(void)
{
        uint32_t meeting = load_acquire(&meetings);

        if (add_acq_rel(&arrived, 1) + 1 == threads) {
                store_relaxed(&arrived, 0);
                add_acq_rel(&meetings, 1);
                clock_wake(&meetings, INT_MAX);
        }
        while (load_acquire(&meetings) == meeting)
                clock_wait(&meetings, meeting, CLOCK_NEVER);
}

/* -- Work of one stream ----------------------------------------------------------------------- */

CUresult fill(struct side *side, CUstream stream, CUdeviceptr memory)
{
        uint64_t count = WORDS / 2;
        uint32_t value = draw(1 << 30);
        void *params[] = { &memory, &value, &count };

        if (stream == CU_STREAM_PER_THREAD && draw(2))
                return ASK(
                        cuLaunchKernel_ptsz(side->fill, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        return ASK(cuLaunchKernel(side->fill, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

CUresult add(struct side *side, CUstream stream, CUdeviceptr memory)
{
        uint64_t count = WORDS / 2;
        CUdeviceptr upper = memory + WORDS * 2;
        void *params[] = { &upper, &memory, &upper, &count };
        CUlaunchConfig config = { .gridDimX = 1,
                                  .gridDimY = 1,
                                  .gridDimZ = 1,
                                  .blockDimX = 1,
                                  .blockDimY = 1,
                                  .blockDimZ = 1,
                                  .hStream = stream };

        return ASK(cuLaunchKernelEx(&config, side->add, params, NULL));
}

static void spin(struct side *side, CUstream stream)
{
        uint64_t ns = 1000u * draw(400);
        void *params[] = { &ns };

        ASK(cuLaunchCooperativeKernel(side->spin, 1, 1, 1, 1, 1, 1, 0, stream, params));
}

/* By a call that says where it goes or by one that does not; some streams take no batch. */
static CUresult copy_from(CUstream stream, CUdeviceptr to, CUdeviceptr from)
{
        CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
        CUDA_MEMCPY2D box = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                              .srcDevice = from,
                              .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                              .dstDevice = to,
                              .WidthInBytes = WORDS * 2,
                              .Height = 1 };
        size_t bytes = WORDS * 2, first = 0;

        switch (draw(5)) {
        case 0:
                return ASK(cuMemcpyDtoDAsync_v2(to, from, bytes, stream));
        case 1:
                return ASK(cuMemcpyWithAttributesAsync(to, from, bytes, &how, stream));
        case 2:
                return ASK(cuMemcpy2DAsync_v2(&box, stream));
        case 3:
                return ASK(cuMemcpyBatchAsync_v2(&to, &from, &bytes, 1, &how, &first, 1, stream));
        default:
                return ASK(cuMemcpyAsync(to, from, bytes, stream));
        }
}

CUresult copy(CUstream stream, CUdeviceptr memory)
{
        return copy_from(stream, memory + WORDS * 2, memory);
}

static void hear(void *heard)
{
        uint64_t *at = heard;

        *at = *at * SUM_PRIME + 1;
}

CUresult call_host(struct side *side, CUstream stream, unsigned at)
{
        return ASK(cuLaunchHostFunc(stream, hear, &side->heard[at]));
}

/* -- Between streams, and the host ------------------------------------------------------------ */

/* What one stream wrote is read by another only after an event, or a word in memory. */
static void pass_on(struct side *side, unsigned from, unsigned to)
{
        static _Thread_local uint32_t passed;
        CUdeviceptr word = side->words + 4 * from; /* only ever raised */

        if (draw(2)) {
                ASK(cuEventRecord(side->event, side->stream[from]));
                ASK(cuStreamWaitEvent(side->stream[to], side->event, 0));
        } else {
                ASK(cuStreamWriteValue32_v2(side->stream[from], word, ++passed, 0));
                ASK(cuStreamWaitValue32_v2(side->stream[to], word, passed,
                                           CU_STREAM_WAIT_VALUE_GEQ));
        }
        copy_from(side->stream[to], side->memory[to], side->memory[from]);
        ASK(cuEventRecord(side->event, side->stream[to]));
        ASK(cuStreamWaitEvent(side->stream[from], side->event, 0));
}

/* The default stream's, before the call returns or not, and back by the host. */
static void copy_now(struct side *side)
{
        static _Thread_local uint32_t words[WORDS / 2];
        CUdeviceptr memory = side->memory[0], host = (CUdeviceptr)(uintptr_t)words;

        ASK(cuMemcpy(memory + WORDS * 2, memory, WORDS * 2));
        ASK(cuMemcpy(host, memory, WORDS * 2));
        note("word", words[draw(WORDS / 2)]);
        ASK(cuMemcpy(memory, host, WORDS * 2));
}

/* Until it says that it is done; how often, is nobody's affair. */
static void poll(struct side *side, unsigned at)
{
        CUresult rc;

        if (draw(2)) {
                do
                        rc = cuStreamQuery(side->stream[at]);
                while (rc == CUDA_ERROR_NOT_READY);
        } else {
                ASK(cuEventRecord(side->event, side->stream[at]));
                do
                        rc = cuEventQuery(side->event);
                while (rc == CUDA_ERROR_NOT_READY);
        }
        note("polled", (uint64_t)rc);
}

static void wait(struct side *side, unsigned at)
{
        switch (draw(6)) {
        case 0:
                ASK(cuEventRecord(side->event, side->stream[at]));
                ASK(cuEventSynchronize(side->event));
                break;
        case 1: /* of the shared one others may capture a stream */
                if (!side->is_shared)
                        ASK(cuCtxSynchronize());
                break;
        case 2:
                poll(side, at);
                break;
        default:
                ASK(cuStreamSynchronize(side->stream[at]));
        }
}

struct visit {
        struct side *side;
        CUresult answers[3];
};

static void *visit(void *data)
{
        struct visit *visit = data;
        struct side *side = visit->side;
        CUdeviceptr memory = side->memory[1];

        visit->answers[0] = cuCtxSetCurrent(side->context);
        visit->answers[1] = cuMemsetD32Async_ptsz(memory, 11, WORDS / 2, NULL);
        visit->answers[2] = cuStreamSynchronize(CU_STREAM_PER_THREAD);
        return NULL;
}

/* A thread of a moment, in its own default stream, on the memory of this one's. */
static void have_visit(struct side *side)
{
        struct visit its = { .side = side };
        pthread_t thread;

        ASK(cuStreamSynchronize(side->stream[1]));
        EXPECT(pthread_create(&thread, NULL, visit, &its), 0);
        EXPECT(pthread_join(thread, NULL), 0);
        for (unsigned i = 0; i < 3; i++)
                note("visit", (uint64_t)its.answers[i]);
}

/* -- Streams and contexts --------------------------------------------------------------------- */

/* In the context that all share no default stream waits for one that may be captured. */
static void make_stream(struct side *side, unsigned at)
{
        unsigned flags = at == 3 || side->is_shared ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;

        if (draw(2))
                ASK(cuStreamCreate(&side->stream[at], flags));
        else
                ASK(cuStreamCreateWithPriority(&side->stream[at], flags, -(int)draw(2)));
}

static void renew_stream(struct side *side, unsigned at)
{
        if (at < 2)
                return;
        ASK(cuStreamSynchronize(side->stream[at]));
        ASK(cuStreamDestroy_v2(side->stream[at]));
        make_stream(side, at);
}

static void prepare(struct side *side)
{
        CUmodule module;

        OK(cuCtxSetCurrent(side->context));
        OK(cuModuleLoadData(&module, "aliquot-sim builtin"));
        OK(cuModuleGetFunction(&side->fill, module, "fill_u32"));
        OK(cuModuleGetFunction(&side->add, module, "add_u32"));
        OK(cuModuleGetFunction(&side->spin, module, "spin_ns"));
        OK(cuEventCreate(&side->event, CU_EVENT_DISABLE_TIMING));
        OK(cuEventCreate(&side->passed, CU_EVENT_DISABLE_TIMING));
        OK(cuEventCreate(&side->taken, CU_EVENT_DISABLE_TIMING));
        OK(cuEventCreate(&side->captured, CU_EVENT_DISABLE_TIMING));
        OK(cuMemAlloc_v2(&side->words, STREAMS * 4));
        OK(cuMemsetD32_v2(side->words, 0, STREAMS));
        if (side->is_shared)
                OK(cuStreamCreate(&side->stream[0], CU_STREAM_DEFAULT));
        side->stream[1] = CU_STREAM_PER_THREAD;
        make_stream(side, 2);
        make_stream(side, 3);
        for (unsigned i = 0; i < STREAMS; i++) {
                OK(cuMemAlloc_v2(&side->memory[i], WORDS * 4));
                OK(cuMemsetD32_v2(side->memory[i], i, WORDS));
        }
        OK(cuCtxSynchronize());
}

static void note_memory(struct side *side)
{
        static _Thread_local uint32_t words[WORDS];

        ASK(cuCtxSetCurrent(side->context));
        free_blocks(side);
        for (unsigned i = 0; i < STREAMS; i++)
                ASK(cuStreamSynchronize(side->stream[i]));
        for (unsigned i = 0; i < STREAMS; i++) {
                uint64_t sum = 1469598103934665603u;

                ASK(cuMemcpyDtoH_v2(words, side->memory[i], sizeof(words)));
                for (unsigned at = 0; at < WORDS; at++)
                        sum = (sum ^ words[at]) * SUM_PRIME;
                note("memory", sum);
                note("heard", side->heard[i]);
        }
}

static void end_graph(struct side *side)
{
        if (side->graph)
                ASK(cuGraphExecDestroy(side->graph));
        side->graph = NULL;
}

static void renew_context(struct side *side)
{
        if (side->is_shared)
                return;
        note_memory(side);
        end_graph(side);
        ASK(cuCtxDestroy_v2(side->context));
        *side = (struct side){ 0 };
        OK(cuCtxCreate_v2(&side->context, 0, 0));
        prepare(side);
}

/* Begins, works, and ends while its work runs: released, reset, or both. */
static void use_primary(struct side *side)
{
        struct side primary = { 0 };
        CUdeviceptr late;

        ASK(cuDevicePrimaryCtxRetain(&primary.context, 0));
        prepare(&primary);
        fill(&primary, primary.stream[2], primary.memory[2]);
        spin(&primary, primary.stream[3]);
        if (draw(2)) {
                ASK(cuDevicePrimaryCtxReset_v2(0));
                ASK(cuMemAlloc_v2(&late, 4096));
        }
        ASK(cuDevicePrimaryCtxRelease_v2(0));
        ASK(cuDevicePrimaryCtxRelease_v2(0)); /* one too many */
        ASK(cuCtxSetCurrent(side->context));
}

/* -- The sequence ----------------------------------------------------------------------------- */

static void rare_call(struct side *side, unsigned at)
{
        switch (draw(10)) {
        case 0:
        case 1:
                capture(side);
                break;
        case 2:
                renew_stream(side, at);
                break;
        case 3:
                if (draw(8) == 0)
                        renew_context(side);
                break;
        case 4:
                copy_now(side);
                break;
        case 5:
                change_pool(side);
                break;
        case 6:
                if (draw(4) == 0)
                        have_visit(side);
                break;
        default:
                call_host(side, side->stream[at], at);
        }
}

static void one_call(struct side *side)
{
        unsigned at = draw(STREAMS);

        switch (draw(13)) {
        case 0:
        case 1:
                fill(side, side->stream[at], side->memory[at]);
                break;
        case 2:
        case 3:
                add(side, side->stream[at], side->memory[at]);
                break;
        case 4:
                spin(side, side->stream[at]);
                break;
        case 5:
                ASK(cuMemsetD32Async(side->memory[at], draw(1 << 30), 64, side->stream[at]));
                break;
        case 6:
                pass_on(side, at, draw(STREAMS));
                break;
        case 7:
                wait(side, at);
                break;
        case 8:
        case 9:
                rare_call(side, at);
                break;
        case 10:
                launch_graph(side);
                break;
        case 11:
                change_block(side);
                break;
        default:
                ask_in_vain(side);
        }
}

static void go_to(struct side *side)
{
        me->side = side;
        ASK(cuCtxSetCurrent(side->context));
}

/* Each takes what the one after it has, in the context of all. */
static void hand_on(void)
{
        struct side *own = &me->sides[0];
        struct side *next = &players[(me->number + 1) % threads].sides[0];
        struct side *before = &players[(me->number + threads - 1) % threads].sides[0];

        go_to(own);
        ASK(cuEventRecord(own->passed, own->stream[2]));
        meet();
        ASK(cuStreamWaitEvent(own->stream[3], next->passed, 0));
        copy_from(own->stream[3], own->memory[3], next->memory[2]);
        ASK(cuEventRecord(own->taken, own->stream[3]));
        meet();
        ASK(cuStreamWaitEvent(own->stream[2], before->taken, 0));
}

static void be_alone(void)
{
        me->is_alone = true;
        for (unsigned i = 0; i < SIDES; i++) {
                go_to(&me->sides[i]);
                capture(me->side);
                launch_graph(me->side);
        }
        use_primary(me->side);
        me->is_alone = false;
}

static void *play(void *player)
{
        me = player;
        for (unsigned i = 0; i < SIDES; i++)
                prepare(&me->sides[i]);
        meet();
        for (unsigned i = 0; i < calls; i++) {
                if (i % MEETS_EVERY == 0) {
                        hand_on();
                        meet();
                        if (i / MEETS_EVERY % threads == me->number)
                                be_alone();
                        meet();
                }
                if (draw(20) == 0)
                        go_to(&me->sides[draw(SIDES)]);
                one_call(me->side);
        }
        meet();
        for (unsigned i = 0; i < SIDES; i++) {
                note_memory(&me->sides[i]);
                end_graph(&me->sides[i]);
        }
        return NULL;
}

static void enlist(unsigned number, uint64_t seed)
{
        struct player *player = &players[number];

        player->number = number;
        player->state = (seed + 1) * 0x9e3779b97f4a7c15u + number * 0xd1b54a32d192ed03u;
        player->told = open_memstream(&player->text, &player->bytes);
        player->sides[0] = (struct side){ .context = shared, .is_shared = true };
        OK(cuCtxCreate_v2(&player->sides[1].context, 0, 0));
}

int main(int argc, char **argv)
{
        if (argc < 3)
                return 2;
        calls = (unsigned)atoi(argv[2]);
        if (argc > 3)
                threads = (unsigned)atoi(argv[3]);
        if (!threads || threads > THREADS)
                return 2;
        OK(cuInit(0));
        simtime_follow();
        OK(cuCtxCreate_v2(&shared, 0, 0));
        for (unsigned i = 0; i < threads; i++)
                enlist(i, strtoull(argv[1], NULL, 10));
        for (unsigned i = 1; i < threads; i++)
                EXPECT(pthread_create(&players[i].thread, NULL, play, &players[i]), 0);
        play(&players[0]);
        for (unsigned i = 1; i < threads; i++)
                EXPECT(pthread_join(players[i].thread, NULL), 0);
        for (unsigned i = 0; i < threads; i++) {
                fclose(players[i].told);
                fputs(players[i].text, stdout);
                free(players[i].text);
                OK(cuCtxDestroy_v2(players[i].sides[1].context));
        }
        OK(cuCtxDestroy_v2(shared));
        return 0;
}
