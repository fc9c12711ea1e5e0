/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of graphs: allocation nodes, charged as the device's graph memory grows.
 *
 * The driver keeps the memory of all graphs of a device in one reservation, grows it when a graph
 * is uploaded or runs, and gives it back only when trimmed. When exactly it grows is its own
 * affair, so it is charged ahead: an executable graph's *need* is the sum of its allocation nodes,
 * found by walking the graph when it is instantiated. From one idle moment to the next each graph
 * that is launched has its need promised once; what was promised is charged. At an idle moment (a
 * synchronisation after which nothing launched can be running) the charge becomes what the driver
 * has reserved.
 *
 *      charge  >=  promised since the last idle moment,  charge >= reserved
 *
 * Idle is known only if all those launches went to one stream and that stream, or the context, was
 * waited for. A graph without memory nodes is not noted, and its launch costs one load more.
 */
#include "shim/cuda/graph.h"

#include <sys/mman.h>

#include "interpose/gate.h"
#include "shim/cuda/front.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/measure.h"
#include "shim/cuda/pool.h"
#include "shim/cuda/real.h"
#include "shim/cuda/state.h"

#define GRAPHS_DEEP 32u

static uint64_t need_of(CUgraph graph, unsigned depth);

static uint64_t need_of_node(CUgraphNode node, unsigned depth)
{
        CUDA_MEM_ALLOC_NODE_PARAMS params;
        CUgraphNodeType type;
        CUgraph child;

        if (real.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS)
                return 0;
        if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
            real.cuGraphMemAllocNodeGetParams(node, &params) == CUDA_SUCCESS)
                return measure_graph_node(params.bytesize);
        if (type == CU_GRAPH_NODE_TYPE_GRAPH &&
            real.cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS)
                return need_of(child, depth + 1);
        return 0;
}

/* The bodies of conditional nodes may not hold memory nodes, so they need no visit. */
static uint64_t need_of(CUgraph graph, unsigned depth)
{
        size_t count = 0;
        uint64_t need = 0;
        CUgraphNode *nodes;
        size_t bytes;

        if (depth == GRAPHS_DEEP || real.cuGraphGetNodes(graph, NULL, &count) != CUDA_SUCCESS ||
            !count)
                return 0;
        bytes = count * sizeof(void *);
        nodes = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (nodes == MAP_FAILED)
                return 0;
        if (real.cuGraphGetNodes(graph, nodes, &count) == CUDA_SUCCESS) {
                for (size_t i = 0; i < count; i++)
                        need += need_of_node(nodes[i], depth);
        }
        munmap(nodes, bytes);
        return need;
}

/* A node of state.graphs: key = executable graph, extent = need, count = generation in which it was
 * last launched, row and id = place. */
static void note(CUgraphExec exec, uint64_t need, struct place place)
{
        struct node *node;

        lock_take(&state.graphs_lock);
        node = table_node(&state.graphs);
        if (node) {
                node->key = key_of(exec);
                node->extent = need;
                node->row = place.row;
                node->id = (uint64_t)place.device;
                table_put(&state.graphs, node);
                add_relaxed(&state.graphs_with_memory, 1u);
        }
        lock_drop(&state.graphs_lock);
}

static CUresult instantiated(CUresult rc, const CUgraphExec *exec, CUgraph graph)
{
        struct place place;
        uint64_t need;

        if (rc != CUDA_SUCCESS || !front_is_on())
                return rc;
        place = place_here();
        need = place.row >= 0 ? need_of(graph, 0) : 0;
        if (need)
                note(*exec, need, place);
        return rc;
}

CUresult hook_cuGraphInstantiate(CUgraphExec *ret, CUgraph graph, CUgraphNode *error_node,
                                 char *log, size_t log_bytes)
{
        return instantiated(real.cuGraphInstantiate(ret, graph, error_node, log, log_bytes), ret,
                            graph);
}

CUresult hook_cuGraphInstantiate_v2(CUgraphExec *ret, CUgraph graph, CUgraphNode *error_node,
                                    char *log, size_t log_bytes)
{
        return instantiated(real.cuGraphInstantiate_v2(ret, graph, error_node, log, log_bytes), ret,
                            graph);
}

CUresult hook_cuGraphInstantiateWithFlags(CUgraphExec *ret, CUgraph graph, unsigned long long flags)
{
        return instantiated(real.cuGraphInstantiateWithFlags(ret, graph, flags), ret, graph);
}

/* A launch that is being made, and what was granted for it. */
struct promise {
        struct charge charge;
        struct meter *meter; /* NULL: the graph has no memory */
        CUgraphExec exec;
        uint64_t added; /* to what is promised */
};

/* The graph's need if it was not launched since the idle moment `generation`; it is now. */
static uint64_t need_once(CUgraphExec exec, uint64_t generation)
{
        struct node *node;
        uint64_t need = 0;

        lock_take(&state.graphs_lock);
        node = table_find(&state.graphs, key_of(exec));
        if (node && node->count != generation) {
                node->count = generation;
                need = node->extent;
        }
        lock_drop(&state.graphs_lock);
        return need;
}

static void forget_launch(CUgraphExec exec)
{
        struct node *node;

        lock_take(&state.graphs_lock);
        node = table_find(&state.graphs, key_of(exec));
        if (node)
                node->count = 0;
        lock_drop(&state.graphs_lock);
}

static struct place place_of_exec(CUgraphExec exec)
{
        struct place place = { .row = CHARGE_NO_DEVICE, .device = -1 };
        struct node *node;

        lock_take(&state.graphs_lock);
        node = table_find(&state.graphs, key_of(exec));
        if (node)
                place = (struct place){ .row = (int)node->row, .device = (CUdevice)node->id };
        lock_drop(&state.graphs_lock);
        return place;
}

/* Under the meter's lock: what must be granted so that everything promised is charged. */
static uint64_t promise(struct meter *meter, CUgraphExec exec, uint64_t *ret_added)
{
        uint64_t held = charge_held(SPACE_GRAPH, load_relaxed(&meter->key));
        uint64_t covered = held + meter->pending_bytes;
        uint64_t total;

        *ret_added = need_once(exec, meter->generation);
        meter->promised_bytes += *ret_added;
        total = measure_pool_growth(meter->promised_bytes);
        meter->pending_bytes += total > covered ? total - covered : 0;
        return total > covered ? total - covered : 0;
}

static void note_launch(struct meter *meter, CUstream stream)
{
        uint64_t key = stream_key(stream);
        uint32_t owner = place_here().owner;
        bool is_first = meter->promised_bytes == 0;

        meter->launches++;
        meter->stream = is_first || meter->stream == key ? key : MANY_STREAMS;
        meter->owner = is_first || meter->owner == owner ? owner : 0;
}

static void promise_break(struct promise *promise, uint64_t granted)
{
        struct meter *meter = promise->meter;

        lock_take(&meter->lock);
        meter->promised_bytes -= promise->added;
        meter->pending_bytes -= granted;
        lock_drop(&meter->lock);
        if (promise->added)
                forget_launch(promise->exec);
        charge_drop(&promise->charge);
}

static CUresult promise_begin(struct promise *ret, CUgraphExec exec, CUstream stream)
{
        struct place place;
        uint64_t wanted;
        CUresult rc;

        *ret = (struct promise){ .exec = exec, .charge.device = CHARGE_NO_DEVICE };
        if (!load_relaxed(&state.graphs_with_memory))
                return CUDA_SUCCESS;
        place = place_of_exec(exec);
        ret->meter = meter_of_graphs(place);
        if (!ret->meter)
                return CUDA_SUCCESS;
        lock_take(&ret->meter->lock);
        note_launch(ret->meter, stream);
        wanted = promise(ret->meter, exec, &ret->added);
        lock_drop(&ret->meter->lock);
        rc = reserve_at(&ret->charge, place, wanted);
        if (rc != CUDA_SUCCESS)
                promise_break(ret, wanted);
        return rc;
}

static CUresult promise_end(struct promise *promise, CUresult rc)
{
        struct meter *meter = promise->meter;
        struct charge kept;
        uint64_t key;

        if (!meter)
                return rc;
        if (rc != CUDA_SUCCESS) {
                promise_break(promise, promise->charge.bytes);
                return rc;
        }
        key = load_relaxed(&meter->key);
        lock_take(&meter->lock);
        meter->pending_bytes -= promise->charge.bytes;
        charge_take(&kept, SPACE_GRAPH, key);
        charge_join(&kept, &promise->charge);
        charge_keep(&kept, SPACE_GRAPH, key);
        meter->version++;
        lock_drop(&meter->lock);
        return rc;
}

/* May upload at once: then it is a launch as far as memory goes, noted as one afterwards. */
static CUresult instantiated_with(CUresult rc, const CUgraphExec *exec, CUgraph graph,
                                  const CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
        struct promise promise;

        instantiated(rc, exec, graph);
        if (rc == CUDA_SUCCESS && (params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) &&
            promise_begin(&promise, *exec, params->hUploadStream) == CUDA_SUCCESS)
                promise_end(&promise, rc);
        return rc;
}

CUresult hook_cuGraphInstantiateWithParams(CUgraphExec *ret, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
        return instantiated_with(real.cuGraphInstantiateWithParams(ret, graph, params), ret, graph,
                                 params);
}

CUresult hook_cuGraphInstantiateWithParams_ptsz(CUgraphExec *ret, CUgraph graph,
                                                CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
        return instantiated_with(real.cuGraphInstantiateWithParams_ptsz(ret, graph, params), ret,
                                 graph, params);
}

static CUstream legacy(CUstream stream)
{
        return stream ? stream : CU_STREAM_LEGACY;
}

static CUstream per_thread(CUstream stream)
{
        return stream ? stream : CU_STREAM_PER_THREAD;
}

CUresult hook_cuGraphUpload(CUgraphExec exec, CUstream stream)
{
        struct promise promise;
        CUresult rc = promise_begin(&promise, exec, legacy(stream));

        if (rc != CUDA_SUCCESS)
                return rc;
        return promise_end(&promise, real.cuGraphUpload(exec, stream));
}

CUresult hook_cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream)
{
        struct promise promise;
        CUresult rc = promise_begin(&promise, exec, per_thread(stream));

        if (rc != CUDA_SUCCESS)
                return rc;
        return promise_end(&promise, real.cuGraphUpload_ptsz(exec, stream));
}

CUresult hook_cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
        struct promise promise;
        CUresult rc;

        gate_pass();
        rc = promise_begin(&promise, exec, legacy(stream));
        if (rc != CUDA_SUCCESS)
                return rc;
        return promise_end(&promise, real.cuGraphLaunch(exec, stream));
}

CUresult hook_cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream)
{
        struct promise promise;
        CUresult rc;

        gate_pass();
        rc = promise_begin(&promise, exec, per_thread(stream));
        if (rc != CUDA_SUCCESS)
                return rc;
        return promise_end(&promise, real.cuGraphLaunch_ptsz(exec, stream));
}

/* What it promised stays promised until the next idle moment: it may still be running. */
CUresult hook_cuGraphExecDestroy(CUgraphExec exec)
{
        struct node *node = NULL;
        CUresult rc;

        if (load_relaxed(&state.graphs_with_memory)) {
                lock_take(&state.graphs_lock);
                node = table_find(&state.graphs, key_of(exec));
                if (node)
                        table_remove(&state.graphs, node);
                lock_drop(&state.graphs_lock);
        }
        rc = real.cuGraphExecDestroy(exec);
        if (!node)
                return rc;
        lock_take(&state.graphs_lock);
        if (rc == CUDA_SUCCESS) {
                table_node_free(&state.graphs, node);
                add_relaxed(&state.graphs_with_memory, -1u);
        } else {
                table_put(&state.graphs, node);
        }
        lock_drop(&state.graphs_lock);
        return rc;
}

void graph_refresh(struct meter *meter)
{
        bool is_idle;

        lock_take(&meter->lock);
        is_idle = meter->promised_bytes == 0;
        lock_drop(&meter->lock);
        if (is_idle)
                meter_follow(meter);
}

CUresult hook_cuDeviceGraphMemTrim(CUdevice device)
{
        CUresult rc = real.cuDeviceGraphMemTrim(device);
        struct meter *meter = meter_find(SPACE_GRAPH, (uint64_t)device + 1);

        if (rc == CUDA_SUCCESS && meter)
                graph_refresh(meter);
        return rc;
}

/* Would all that was promised be over if this wait succeeds? */
static bool ends(struct meter *meter, CUstream stream, struct place here)
{
        if (!load_acquire(&meter->key) || load_relaxed(&meter->space) != SPACE_GRAPH ||
            !meter->promised_bytes)
                return false;
        if (stream == POOL_CONTEXT)
                return here.owner && meter->owner == here.owner;
        return meter->stream == stream_key(stream);
}

struct idle idle_begin(CUstream stream)
{
        struct idle idle = { NULL, 0 };
        uint32_t high = load_acquire(&state.meters_high);
        struct place here;

        if (!load_relaxed(&state.graphs_with_memory) && !high)
                return idle;
        here = place_here();
        for (uint32_t i = 0; i < high && !idle.meter; i++) {
                struct meter *meter = &state.meters[i];

                lock_take(&meter->lock);
                if (ends(meter, stream, here))
                        idle = (struct idle){ meter, meter->launches };
                lock_drop(&meter->lock);
        }
        return idle;
}

void idle_end(const struct idle *idle, CUresult rc)
{
        struct meter *meter = idle->meter;
        bool is_idle;

        if (rc != CUDA_SUCCESS || !meter)
                return;
        lock_take(&meter->lock);
        is_idle = meter->launches == idle->launches && !meter->pending_bytes;
        if (is_idle) {
                meter->promised_bytes = 0;
                meter->generation++;
        }
        lock_drop(&meter->lock);
        if (is_idle)
                graph_refresh(meter);
}
