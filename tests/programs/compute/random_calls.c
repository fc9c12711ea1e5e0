/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A random sequence of calls, and what came of it: a program cannot tell a cap by its results.
 *
 *      random-calls SEED CALLS [CAP_PPM]
 *
 * Kernels, fills, copies, events, waits, host functions, captures and graphs in four streams, the
 * default ones among them, in two contexts; streams and contexts that end, and others in their
 * place. Streams are ordered by events where they touch the same memory.
 * Prints a line with a sum of every answer and of all memory at the end.
 */
#include <stdio.h>
#include <stdlib.h>

#include "watch.h"

#define STREAMS 4
#define CONTEXTS 2
#define WORDS 4096u

struct side {
        CUcontext context;
        CUfunction fill, add, spin;
        CUstream stream[STREAMS];
        CUevent event;
        CUdeviceptr memory[STREAMS];
        CUgraphExec graph;
        uint64_t heard[STREAMS]; /* of host functions, each stream's in its order */
};

static struct side sides[CONTEXTS];
static uint64_t sum = 1469598103934665603u;

static uint32_t draw(uint32_t below)
{
        static uint64_t state;

        if (!state)
                state = (uint64_t)rand() << 31 | (uint64_t)rand();
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (uint32_t)(state >> 33) % below;
}

static void note(uint64_t value)
{
        sum = (sum ^ value) * 1099511628211u;
}

static CUresult fill(struct side *side, unsigned at, uint32_t value)
{
        uint64_t count = WORDS / 2;
        void *params[] = { &side->memory[at], &value, &count };

        return cuLaunchKernel(side->fill, 1, 1, 1, 1, 1, 1, 0, side->stream[at], params, NULL);
}

static CUresult add(struct side *side, unsigned at)
{
        uint64_t count = WORDS / 2;
        CUdeviceptr upper = side->memory[at] + WORDS * 2;
        void *params[] = { &upper, &side->memory[at], &upper, &count };
        CUlaunchConfig config = { .gridDimX = 1,
                                  .gridDimY = 1,
                                  .gridDimZ = 1,
                                  .blockDimX = 1,
                                  .blockDimY = 1,
                                  .blockDimZ = 1,
                                  .hStream = side->stream[at] };

        return cuLaunchKernelEx(&config, side->add, params, NULL);
}

static CUresult spin(struct side *side, unsigned at)
{
        uint64_t ns = 1000u * draw(400);
        void *params[] = { &ns };

        return cuLaunchCooperativeKernel(side->spin, 1, 1, 1, 1, 1, 1, 0, side->stream[at], params);
}

/* Of half its words, by a call that says where it goes or by one that does not; some streams take
 * no batch. */
static CUresult copy(CUdeviceptr to, CUdeviceptr from, CUstream stream)
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
                return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
        case 1:
                return cuMemcpyWithAttributesAsync(to, from, bytes, &how, stream);
        case 2:
                return cuMemcpy2DAsync_v2(&box, stream);
        case 3:
                return cuMemcpyBatchAsync_v2(&to, &from, &bytes, 1, &how, &first, 1, stream);
        default:
                return cuMemcpyAsync(to, from, bytes, stream);
        }
}

/* What one stream wrote is read by another only after an event. */
static CUresult pass_on(struct side *side, unsigned from, unsigned to)
{
        note(cuEventRecord(side->event, side->stream[from]));
        note(cuStreamWaitEvent(side->stream[to], side->event, 0));
        note(copy(side->memory[to], side->memory[from], side->stream[to]));
        note(cuEventRecord(side->event, side->stream[to]));
        return cuStreamWaitEvent(side->stream[from], side->event, 0);
}

/* The default stream's, before the call returns or not, and back by the host. */
static CUresult copy_now(struct side *side)
{
        static uint32_t words[WORDS / 2];
        CUdeviceptr memory = side->memory[0], host = (CUdeviceptr)(uintptr_t)words;

        note(cuMemcpy(memory + WORDS * 2, memory, WORDS * 2));
        note(cuMemcpy(host, memory, WORDS * 2));
        note(words[draw(WORDS / 2)]);
        return cuMemcpy(memory, host, WORDS * 2);
}

static CUresult capture(struct side *side)
{
        CUstream stream = side->stream[STREAMS - 1];
        CUgraph graph;
        size_t nodes = 0;

        if (side->graph)
                note(cuGraphExecDestroy(side->graph));
        note(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        for (uint32_t left = 1 + draw(8); left; left--) {
                CUdeviceptr memory = side->memory[STREAMS - 1];

                note(draw(3)   ? fill(side, STREAMS - 1, draw(1000))
                     : draw(2) ? add(side, STREAMS - 1)
                               : copy(memory + WORDS * 2, memory, stream));
        }
        note(cuStreamEndCapture(stream, &graph));
        note(cuGraphGetNodes(graph, NULL, &nodes));
        note(nodes);
        note(cuGraphInstantiateWithFlags(&side->graph, graph, 0));
        return cuGraphDestroy(graph);
}

static void hear(void *heard)
{
        uint64_t *at = heard;

        *at = *at * 1099511628211u + 1;
}

static CUresult renew_stream(struct side *side, unsigned at)
{
        if (at < 2)
                return CUDA_SUCCESS;
        note(cuStreamSynchronize(side->stream[at]));
        note(cuStreamDestroy_v2(side->stream[at]));
        return cuStreamCreate(&side->stream[at],
                              at == 2 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
}

static void prepare(struct side *side);
static void note_memory(const struct side *side);

static CUresult renew_context(struct side *side)
{
        note_memory(side);
        if (side->graph)
                note(cuGraphExecDestroy(side->graph));
        note(cuCtxDestroy_v2(side->context));
        *side = (struct side){ 0 };
        prepare(side);
        return CUDA_SUCCESS;
}

static CUresult rare_call(struct side *side, unsigned at)
{
        switch (draw(8)) {
        case 0:
                return capture(side);
        case 1:
                return renew_stream(side, at);
        case 2:
                return draw(8) ? CUDA_SUCCESS : renew_context(side);
        case 3:
                return copy_now(side);
        default:
                return cuLaunchHostFunc(side->stream[at], hear, &side->heard[at]);
        }
}

static CUresult one_call(struct side *side)
{
        unsigned at = draw(STREAMS);

        switch (draw(11)) {
        case 0:
        case 1:
                return fill(side, at, draw(1 << 30));
        case 2:
        case 3:
                return add(side, at);
        case 4:
                return spin(side, at);
        case 5:
                return cuMemsetD32Async(side->memory[at], draw(1 << 30), 64, side->stream[at]);
        case 6:
                return pass_on(side, at, draw(STREAMS));
        case 7:
                return cuStreamSynchronize(side->stream[at]);
        case 8:
                return rare_call(side, at);
        case 9:
                return side->graph ? cuGraphLaunch(side->graph, side->stream[STREAMS - 1])
                                   : CUDA_SUCCESS;
        default: /* refused, and nothing else */
                return cuLaunchKernel(side->spin, 0, 1, 1, 1, 1, 1, 0, side->stream[at], NULL,
                                      NULL);
        }
}

static void prepare(struct side *side)
{
        CUmodule module;

        OK(cuCtxCreate_v2(&side->context, 0, 0));
        OK(cuModuleLoadData(&module, "aliquot-sim builtin"));
        OK(cuModuleGetFunction(&side->fill, module, "fill_u32"));
        OK(cuModuleGetFunction(&side->add, module, "add_u32"));
        OK(cuModuleGetFunction(&side->spin, module, "spin_ns"));
        OK(cuEventCreate(&side->event, CU_EVENT_DISABLE_TIMING));
        side->stream[1] = CU_STREAM_PER_THREAD;
        OK(cuStreamCreate(&side->stream[2], CU_STREAM_DEFAULT));
        OK(cuStreamCreate(&side->stream[3], CU_STREAM_NON_BLOCKING));
        for (unsigned i = 0; i < STREAMS; i++) {
                OK(cuMemAlloc_v2(&side->memory[i], WORDS * 4));
                OK(cuMemsetD32_v2(side->memory[i], i, WORDS));
        }
        OK(cuCtxSynchronize());
}

static void note_memory(const struct side *side)
{
        static uint32_t words[WORDS];

        OK(cuCtxSetCurrent(side->context));
        OK(cuCtxSynchronize());
        for (unsigned i = 0; i < STREAMS; i++) {
                OK(cuMemcpyDtoH_v2(words, side->memory[i], sizeof(words)));
                for (unsigned at = 0; at < WORDS; at++)
                        note(words[at]);
                note(side->heard[i]);
        }
}

int main(int argc, char **argv)
{
        struct side *side = NULL;
        CUuuid uuid;

        srand((unsigned)atoi(argv[1]));
        OK(cuInit(0));
        for (unsigned i = 0; i < CONTEXTS; i++)
                prepare(&sides[i]);
        OK(cuDeviceGetUuid(&uuid, 0));
        if (argc > 3)
                watch_set_cap(&uuid, (uint32_t)strtoul(argv[3], NULL, 10));
        for (int left = atoi(argv[2]); left; left--) {
                if (!side || !draw(20)) {
                        side = &sides[draw(CONTEXTS)];
                        OK(cuCtxSetCurrent(side->context));
                }
                note(one_call(side));
        }
        for (unsigned i = 0; i < CONTEXTS; i++)
                note_memory(&sides[i]);
        for (unsigned i = 0; i < CONTEXTS; i++)
                OK(cuCtxDestroy_v2(sides[i].context));
        printf("%016llx\n", (unsigned long long)sum);
        return 0;
}
