/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks for graphs with memory nodes: their memory is charged as the device's graph memory grows.
 *
 * The need of an executable graph is computed when the graph is instantiated, and stored for each
 * card. graph_launch.h charges a launch or an upload.
 */
#include "shim/cuda/graph/graph.h"

#include "shim/cuda/charge/meter.h"
#include "shim/cuda/charge/remainder.h"
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/graph/graph_launch.h"
#include "shim/cuda/graph/graph_need.h"
#include "shim/cuda/measure/measure.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/state/graphs.h"
#include "shim/cuda/state/meters.h"
#include "shim/cuda/state/places.h"
#include "shim/cuda/stream/access.h"
#include "shim/cuda/stream/ask.h"
#include "shim/cuda/stream/submit.h"

static CUresult note_graph(CUgraphExec exec, struct place place, const struct graph_need *need)
{
        struct graph_part *part;

        if (place.row < 0)
                return refusal(place);
        lock_take(&graph_state.graphs_lock);
        part = table_make(&graph_state.graphs, sizeof(*part));
        if (part) {
                part->link.key = key_of(exec);
                part->place = place;
                part->need_bytes = need->bytes[place.device];
                part->stays = need->stays;
                table_put(&graph_state.graphs, part);
                add_relaxed(&graph_state.graphs_with_memory, 1u);
        }
        lock_drop(&graph_state.graphs_lock);
        return part ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Stores the need of a new executable graph. Destroys the graph and returns an error if its need is
 * unknown or if a device of its memory has no row. The program gets the handle only afterwards
 * (withheld(), hand_out()), so its other threads cannot use an unfinished graph. */
static CUresult instantiated(CUresult rc, CUgraphExec *exec, CUgraph graph)
{
        struct graph_need need;
        unsigned parts = 0;

        if (rc != CUDA_SUCCESS || !exec || !front_is_on())
                return rc;
        remainders_are_due();
        if (!graph_need(graph, &need))
                rc = CUDA_ERROR_NOT_PERMITTED;
        for (CUdevice device = 0; need.is_any && device < STATE_DEVICES; device++) {
                if (rc == CUDA_SUCCESS && need.bytes[device])
                        rc = parts++ < GRAPH_DEVICES
                                     ? note_graph(*exec, place_of_device(device), &need)
                                     : CUDA_ERROR_NOT_PERMITTED;
        }
        if (rc != CUDA_SUCCESS) {
                scoped_relaxed struct relaxed was = relax();

                hook_cuGraphExecDestroy(*exec);
                *exec = NULL;
        }
        return rc;
}

/* Returns where the driver writes the handle, until hand_out() gives it to the program. */
static CUgraphExec *withheld(CUgraphExec *exec, CUgraphExec *ret)
{
        *exec = ret ? *ret : NULL;
        return ret ? exec : NULL;
}

static CUresult hand_out(CUgraphExec *ret, const CUgraphExec *exec, CUresult rc)
{
        if (exec)
                *ret = *exec;
        return rc;
}

CUresult graph_instantiate(__typeof__(&cuGraphInstantiate) driver, CUgraphExec *ret, CUgraph graph,
                           CUgraphNode *error_node, char *log, size_t log_bytes)
{
        scoped_access const struct credit *access = access_scope();
        CUgraphExec own;
        CUgraphExec *exec = withheld(&own, ret);
        CUresult rc = driver(exec, graph, error_node, log, log_bytes);

        return hand_out(ret, exec, instantiated(rc, exec, graph));
}

CUresult hook_cuGraphInstantiateWithFlags(CUgraphExec *ret, CUgraph graph, unsigned long long flags)
{
        scoped_access const struct credit *access = access_scope();
        CUgraphExec own;
        CUgraphExec *exec = withheld(&own, ret);
        CUresult rc = real.cuGraphInstantiateWithFlags(exec, graph, flags);

        return hand_out(ret, exec, instantiated(rc, exec, graph));
}

/* Begins an instantiation that may also upload the graph. An upload needs memory as a launch does,
 * but the graph has no handle yet. */
static CUresult upload_begin(struct launch *ret, CUgraph graph,
                             const CUDA_GRAPH_INSTANTIATE_PARAMS *params, CUstream stream)
{
        struct graph_need need;

        *ret = (struct launch){ .count = 0 };
        if (!params || !(params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) || !front_is_on())
                return CUDA_SUCCESS;
        return graph_need(graph, &need) ? launch_begin_unknown(ret, &need, stream)
                                        : CUDA_ERROR_NOT_PERMITTED;
}

CUresult graph_instantiate_with(__typeof__(&cuGraphInstantiateWithParams) driver, CUgraphExec *ret,
                                CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params,
                                CUstream stream)
{
        scoped_access const struct credit *access = access_scope();
        CUgraphExec own;
        CUgraphExec *exec = withheld(&own, ret);
        struct launch launch;
        CUresult rc = upload_begin(&launch, graph, params, stream);

        if (rc != CUDA_SUCCESS)
                return rc;
        rc = launch_end(&launch, driver(exec, graph, params));
        return hand_out(ret, exec, instantiated(rc, exec, graph));
}

CUresult graph_upload(__typeof__(&cuGraphUpload) driver, CUgraphExec exec, CUstream given,
                      CUstream stream)
{
        scoped_access const struct credit *access = access_scope();
        struct launch launch;
        CUresult rc;

        access_in(stream);
        rc = launch_begin(&launch, exec, stream);
        return rc == CUDA_SUCCESS ? launch_end(&launch, driver(exec, given)) : rc;
}

CUresult graph_launch(__typeof__(&cuGraphLaunch) driver, CUgraphExec exec, CUstream given,
                      struct submission submission)
{
        struct launch launch;
        CUresult rc;

        submission_begin(submission_alike(submission, (uintptr_t)exec, 0));
        rc = launch_begin(&launch, exec, submission.stream);
        if (rc == CUDA_SUCCESS)
                rc = launch_end(&launch, driver(exec, given));
        return submission_end(rc);
}

/* Removes the stored needs of a graph and returns them as a list. The caller holds graphs_lock. */
static struct graph_part *take_parts(uint64_t key)
{
        struct graph_part *list = NULL;
        struct graph_part *part;

        while ((part = table_find(&graph_state.graphs, key))) {
                table_remove(&graph_state.graphs, part);
                part->next = list;
                list = part;
        }
        return list;
}

/* The needs are removed first, because the driver may give the handle to another graph at once. */
CUresult hook_cuGraphExecDestroy(CUgraphExec exec)
{
        scoped_access const struct credit *access = access_scope();
        struct graph_part *list, *part;
        CUresult rc;

        if (!load_relaxed(&graph_state.graphs_with_memory))
                return real.cuGraphExecDestroy(exec);
        lock_take(&graph_state.graphs_lock);
        list = take_parts(key_of(exec));
        lock_drop(&graph_state.graphs_lock);
        rc = real.cuGraphExecDestroy(exec);
        lock_take(&graph_state.graphs_lock);
        while ((part = list)) {
                list = part->next;
                if (rc == CUDA_SUCCESS) {
                        add_relaxed(&graph_state.graphs_with_memory, -1u);
                        table_free(&graph_state.graphs, part);
                } else {
                        table_put(&graph_state.graphs, part);
                }
        }
        lock_drop(&graph_state.graphs_lock);
        return rc;
}

CUresult hook_cuDeviceGraphMemTrim(CUdevice device)
{
        CUresult rc = real.cuDeviceGraphMemTrim(device);
        struct meter *meter = meter_find(SPACE_GRAPH, (uint64_t)device + 1);

        if (rc == CUDA_SUCCESS && meter)
                meter_follow(meter);
        return rc;
}
