/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script's commands for streams, events and graphs.
 */
#include "script.h"

static CUevent events[SLOTS];
static CUgraphExec execs[SLOTS];
static CUgraph graphs[SLOTS];
static CUgraphNode ends[SLOTS]; /* the last node of each graph */
static _Atomic uint32_t *gates; /* words that streams wait for, on the host */

static void do_stream(const struct command *c)
{
        say(cuStreamCreate(AT(streams, c, 1), CU_STREAM_NON_BLOCKING));
}

static void do_sync(const struct command *c)
{
        say(c->count > 1 ? cuStreamSynchronize(streams[slot(c, 1)]) : cuCtxSynchronize());
}

static void do_end_stream(const struct command *c)
{
        say(cuStreamDestroy_v2(streams[slot(c, 1)]));
}

static void do_ask_stream(const struct command *c)
{
        say(cuStreamQuery(streams[slot(c, 1)]));
}

static void do_event(const struct command *c)
{
        say(cuEventCreate(AT(events, c, 1), CU_EVENT_DISABLE_TIMING));
}

static void do_record(const struct command *c)
{
        say(cuEventRecord(events[slot(c, 1)], streams[slot(c, 2)]));
}

static void do_wait_event(const struct command *c)
{
        say(cuEventSynchronize(events[slot(c, 1)]));
}

static void do_ask_event(const struct command *c)
{
        say(cuEventQuery(events[slot(c, 1)]));
}

/* gates: before the others, since it takes host memory. */
static void do_gates(const struct command *c)
{
        void *words;
        CUresult rc = cuMemHostAlloc(&words, SLOTS * sizeof(*gates), 0);

        (void)c;
        if (rc == CUDA_SUCCESS) {
                memset(words, 0, SLOTS * sizeof(*gates));
                gates = words;
        }
        say(rc);
}

/* gate G S: what follows in the stream waits for "open G". */
static void do_gate(const struct command *c)
{
        CUdeviceptr gate = (CUdeviceptr)(uintptr_t)&gates[slot(c, 1)];

        say(cuStreamWaitValue32_v2(streams[slot(c, 2)], gate, 1, CU_STREAM_WAIT_VALUE_EQ));
}

static void do_open(const struct command *c)
{
        gates[slot(c, 1)] = 1;
        say(CUDA_SUCCESS);
}

/* capture S [MODE]: by itself in the mode that forbids the most (0). */
static void do_capture(const struct command *c)
{
        say(cuStreamBeginCapture_v2(streams[slot(c, 1)], (CUstreamCaptureMode)number(c, 2)));
}

static void do_end_capture(const struct command *c)
{
        CUgraph graph;

        say(cuStreamEndCapture(streams[slot(c, 1)], &graph));
}

static void do_graph(const struct command *c)
{
        CUDA_MEM_ALLOC_NODE_PARAMS params = {
                .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                               .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
                                             .id = (int)number(c, 3) } },
                .bytesize = number(c, 2)
        };
        CUDA_GRAPH_INSTANTIATE_PARAMS at_once = { .flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD };
        CUgraphNode node, end;
        CUgraph graph;
        CUresult rc = cuGraphCreate(&graph, 0);

        if (rc == CUDA_SUCCESS)
                rc = cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params);
        if (rc == CUDA_SUCCESS)
                rc = cuGraphAddMemFreeNode(&end, graph, &node, 1, params.dptr);
        if (rc == CUDA_SUCCESS && c->count > 4) /* uploaded at once */
                rc = cuGraphInstantiateWithParams(AT(execs, c, 1), graph, &at_once);
        else if (rc == CUDA_SUCCESS)
                rc = cuGraphInstantiateWithFlags(AT(execs, c, 1), graph, 0);
        say(rc);
}

/* A graph whose block is still there when it is over: its address becomes that of a block. */
static void do_graph_block(const struct command *c)
{
        CUDA_MEM_ALLOC_NODE_PARAMS params = {
                .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                               .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } },
                .bytesize = number(c, 3)
        };
        CUgraphNode node;
        CUgraph graph;
        CUresult rc = cuGraphCreate(&graph, 0);

        if (rc == CUDA_SUCCESS)
                rc = cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params);
        if (rc == CUDA_SUCCESS)
                rc = cuGraphInstantiateWithFlags(AT(execs, c, 1), graph, number(c, 4));
        if (rc == CUDA_SUCCESS)
                memory[slot(c, 2)] = params.dptr;
        say(rc);
}

static void do_graph_new(const struct command *c)
{
        ends[slot(c, 1)] = NULL;
        say(cuGraphCreate(&graphs[slot(c, 1)], 0));
}

/* graph-alloc G M BYTES: one more node, behind the graph's last; its address is block M. */
static void do_graph_alloc(const struct command *c)
{
        CUDA_MEM_ALLOC_NODE_PARAMS params = {
                .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                               .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } },
                .bytesize = number(c, 3)
        };
        CUgraphNode *end = &ends[slot(c, 1)];
        CUresult rc = cuGraphAddMemAllocNode(end, graphs[slot(c, 1)], *end ? end : NULL,
                                             *end ? 1 : 0, &params);

        memory[slot(c, 2)] = params.dptr;
        say(rc);
}

/* graph-free G M: so does a free of block M, of this graph or of another one. */
static void do_graph_free(const struct command *c)
{
        CUgraphNode *end = &ends[slot(c, 1)];

        say(cuGraphAddMemFreeNode(end, graphs[slot(c, 1)], *end ? end : NULL, *end ? 1 : 0,
                                  memory[slot(c, 2)]));
}

static void do_graph_make(const struct command *c)
{
        say(cuGraphInstantiateWithFlags(AT(execs, c, 1), graphs[slot(c, 2)], 0));
}

/* sums-equal A B C D: whether the addresses of A and B have the sum of those of C and D. */
static void do_sums_equal(const struct command *c)
{
        const uint64_t is_so =
                memory[slot(c, 1)] + memory[slot(c, 2)] == memory[slot(c, 3)] + memory[slot(c, 4)];

        say_values(0, &is_so, 1);
}

static void do_launch(const struct command *c)
{
        say(cuGraphLaunch(execs[slot(c, 1)], streams[slot(c, 2)]));
}

static void do_upload(const struct command *c)
{
        say(cuGraphUpload(execs[slot(c, 1)], streams[slot(c, 2)]));
}

static void do_end_graph(const struct command *c)
{
        say(cuGraphExecDestroy(execs[slot(c, 1)]));
}

static void do_graph_trim(const struct command *c)
{
        say(cuDeviceGraphMemTrim((CUdevice)number(c, 1)));
}

const struct verb graph_verbs[] = {
        { "stream", do_stream },
        { "end-stream", do_end_stream },
        { "ask-stream", do_ask_stream },
        { "sync", do_sync },
        { "event", do_event },
        { "record", do_record },
        { "wait-event", do_wait_event },
        { "ask-event", do_ask_event },
        { "gates", do_gates },
        { "gate", do_gate },
        { "open", do_open },
        { "capture", do_capture },
        { "end-capture", do_end_capture },
        { "graph", do_graph },
        { "graph-block", do_graph_block },
        { "graph-new", do_graph_new },
        { "graph-alloc", do_graph_alloc },
        { "graph-free", do_graph_free },
        { "graph-make", do_graph_make },
        { "sums-equal", do_sums_equal },
        { "launch", do_launch },
        { "upload", do_upload },
        { "end-graph", do_end_graph },
        { "graph-trim", do_graph_trim },
};
const size_t graph_verb_count = sizeof(graph_verbs) / sizeof(graph_verbs[0]);
