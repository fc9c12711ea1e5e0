/* SPDX-License-Identifier: Apache-2.0 */
#include "sequence.h"

#include "watch.h"

/* What breaks a capture, or would in another mode. */
enum { BREAKS = 11 };

/* A stream that is none of this thread's default ones, beside that one. */
static unsigned another_than(unsigned at)
{
        return at == 2 ? 3 : 2;
}

/* Another stream joins, works on the same memory in its turn, and is joined again, or is not. One
 * that cannot join would work at any time. */
static void fork_and_join(struct side *side, unsigned at, bool is_joined)
{
        CUstream stream = side->stream[at], other = side->stream[another_than(at)];

        if (ASK(cuEventRecord(side->captured, stream)) != CUDA_SUCCESS ||
            ASK(cuStreamWaitEvent(other, side->captured, 0)) != CUDA_SUCCESS)
                return;
        fill(side, other, side->memory[at]);
        ASK(cuEventRecord(side->captured, other));
        if (is_joined)
                ASK(cuStreamWaitEvent(stream, side->captured, 0));
}

static void take_and_free(CUstream stream)
{
        CUdeviceptr memory;

        if (ASK(cuMemAllocAsync(&memory, BLOCK_WORDS * 4, stream)) != CUDA_SUCCESS)
                return;
        ASK(cuMemsetD32Async(memory, 7, BLOCK_WORDS, stream));
        ASK(cuMemFreeAsync(memory, stream));
}

static void add_to_it(struct side *side, unsigned at)
{
        CUdeviceptr memory = side->memory[at];
        CUstream stream = side->stream[at];

        switch (draw(9)) {
        case 0:
        case 1:
                fill(side, stream, memory);
                break;
        case 2:
        case 3:
                add(side, stream, memory);
                break;
        case 4:
                copy(stream, memory);
                break;
        case 5:
                ASK(cuMemsetD32Async(memory, draw(1 << 30), 64, stream));
                break;
        case 6:
                call_host(side, stream, at);
                break;
        case 7:
                take_and_free(stream);
                break;
        default:
                fork_and_join(side, at, true);
        }
}

/* Forbidden or not by the modes of the capture and of the thread. */
static void take_at_once(bool is_relaxed)
{
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        CUdeviceptr memory;

        if (is_relaxed)
                ASK(cuThreadExchangeStreamCaptureMode(&mode));
        if (ASK(cuMemAlloc_v2(&memory, 4096)) == CUDA_SUCCESS)
                ASK(cuMemFree_v2(memory));
        if (is_relaxed)
                ASK(cuThreadExchangeStreamCaptureMode(&mode));
}

static void break_it(struct side *side, unsigned at)
{
        CUstream stream = side->stream[at], other = side->stream[another_than(at)];
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        CUgraph graph;

        switch (draw(BREAKS)) {
        case 0:
                ASK(cuStreamSynchronize(stream));
                break;
        case 1:
                ASK(cuStreamQuery(stream));
                break;
        case 2:
                take_at_once(false);
                break;
        case 3:
                take_at_once(true);
                break;
        case 4: /* recorded outside */
                ASK(cuEventRecord(side->event, other));
                ASK(cuStreamWaitEvent(stream, side->event, 0));
                break;
        case 5: /* the default stream waits for those that block, unless this one does not */
                if (!side->is_shared)
                        ASK(cuMemsetD32Async(side->memory[0], draw(1 << 30), 64, NULL));
                break;
        case 6:
                ASK(cuEventRecord(side->captured, stream));
                ASK(cuEventQuery(side->captured));
                break;
        case 7:
                ASK(cuStreamEndCapture(other, &graph));
                break;
        case 8:
                fork_and_join(side, at, false);
                break;
        case 9:
                if (!side->is_shared)
                        ASK(cuCtxSynchronize());
                break;
        default:
                ASK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        }
        ASK(cuStreamIsCapturing(side->stream[at], &status));
        note("status", status);
}

/* In place of the graph that was there, or as what that one does from now on. */
static void use(struct side *side, CUgraph graph, unsigned at)
{
        CUgraphExecUpdateResultInfo info = { 0 };
        size_t nodes = 0;

        ASK(cuGraphGetNodes(graph, NULL, &nodes));
        note("nodes", nodes);
        if (side->graph && side->graph_at == at && draw(2)) {
                ASK(cuGraphExecUpdate_v2(side->graph, graph, &info));
                note("update", info.result);
        } else {
                if (side->graph)
                        ASK(cuGraphExecDestroy(side->graph));
                side->graph = NULL;
                ASK(cuGraphInstantiateWithFlags(&side->graph, graph, 0));
                side->graph_at = at;
        }
        if (side->graph && draw(4) == 0)
                ASK(cuGraphUpload(side->graph, side->stream[at]));
        ASK(cuGraphDestroy(graph));
}

void capture(struct side *side)
{
        unsigned at = side->is_shared ? 2 + draw(2) : 1 + draw(3);
        CUstreamCaptureMode mode = draw(3);
        bool is_plain = draw(3) == 0; /* as others: a graph can be what another one was */
        unsigned length = is_plain ? 3 : 1 + draw(8);
        unsigned breaks_at = draw(2) ? draw(length) : length;
        CUgraph graph = NULL;

        /* It forbids things to other threads. */
        if (mode == CU_STREAM_CAPTURE_MODE_GLOBAL && !me->is_alone)
                mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        note("capture", mode);
        ASK(cuStreamBeginCapture_v2(side->stream[at], mode));
        for (unsigned i = 0; i < length; i++) {
                if (i == breaks_at)
                        break_it(side, at);
                if (is_plain)
                        fill(side, side->stream[at], side->memory[at]);
                else
                        add_to_it(side, at);
        }
        ASK(cuStreamEndCapture(side->stream[at], &graph));
        if (graph)
                use(side, graph, at);
}

void launch_graph(struct side *side)
{
        if (side->graph)
                ASK(cuGraphLaunch(side->graph, side->stream[side->graph_at]));
}
