/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of graphs: allocation nodes, charged as the device's graph memory grows.
 *
 * The need of an executable graph is found when it is instantiated, and noted by card; what a
 * launch or an upload of it costs is in graph_launch.h. A graph without memory nodes is not noted.
 */
#include "shim/cuda/access.h"
#include "shim/cuda/ask.h"
#include "shim/cuda/graph.h"

#include "shim/cuda/front.h"
#include "shim/cuda/graph_launch.h"
#include "shim/cuda/graph_mark.h"
#include "shim/cuda/graph_need.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/submit.h"
#include "shim/cuda/measure.h"
#include "shim/cuda/pool.h"
#include "shim/cuda/real.h"
#include "shim/cuda/remainder.h"
#include "shim/cuda/state.h"

static CUresult note(CUgraphExec exec, uint64_t need, struct place place, uint32_t mark)
{
        struct graph_part *part;

        if (place.row < 0)
                return refusal(place);
        lock_take(&state.graphs_lock);
        part = table_make(&state.graphs, sizeof(*part));
        if (part) {
                part->link.key = key_of(exec);
                part->place = place;
                part->need_bytes = need;
                part->mark = mark;
                table_put(&state.graphs, part);
                add_relaxed(&state.graphs_with_memory, 1u);
        }
        lock_drop(&state.graphs_lock);
        return part ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* A graph whose memory is not known, or is nobody's, does not get as far as a launch. Nor does one
 * that is not noted yet: the program's other threads see it when that is done (withheld). */
static CUresult instantiated(CUresult rc, CUgraphExec *exec, CUgraph graph)
{
        struct graph_need need;
        unsigned parts = 0;
        uint32_t mark;

        if (rc != CUDA_SUCCESS || !exec || !front_is_on())
                return rc;
        remainders_are_due();
        if (!graph_need(graph, &need))
                rc = CUDA_ERROR_NOT_PERMITTED;
        mark = need.total_bytes ? mark_make(key_of(*exec)) : 0;
        for (CUdevice device = 0; need.total_bytes && device < STATE_DEVICES; device++) {
                if (rc == CUDA_SUCCESS && need.bytes[device])
                        rc = parts++ < GRAPH_DEVICES ? note(*exec, need.bytes[device],
                                                            place_of_device(device), mark)
                                                     : CUDA_ERROR_NOT_PERMITTED;
        }
        if (rc != CUDA_SUCCESS) {
                mark_drop(mark, key_of(*exec));
                undone(hook_cuGraphExecDestroy(*exec));
                *exec = NULL;
        }
        return rc;
}

/* Where the driver leaves the handle until hand_out(). */
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

CUresult hook_cuGraphInstantiate(CUgraphExec *ret, CUgraph graph, CUgraphNode *error_node,
                                 char *log, size_t log_bytes)
{
        ACCESS;
        CUgraphExec own;
        CUgraphExec *exec = withheld(&own, ret);
        CUresult rc = real.cuGraphInstantiate(exec, graph, error_node, log, log_bytes);

        return hand_out(ret, exec, instantiated(rc, exec, graph));
}

CUresult hook_cuGraphInstantiate_v2(CUgraphExec *ret, CUgraph graph, CUgraphNode *error_node,
                                    char *log, size_t log_bytes)
{
        ACCESS;
        CUgraphExec own;
        CUgraphExec *exec = withheld(&own, ret);
        CUresult rc = real.cuGraphInstantiate_v2(exec, graph, error_node, log, log_bytes);

        return hand_out(ret, exec, instantiated(rc, exec, graph));
}

CUresult hook_cuGraphInstantiateWithFlags(CUgraphExec *ret, CUgraph graph, unsigned long long flags)
{
        ACCESS;
        CUgraphExec own;
        CUgraphExec *exec = withheld(&own, ret);
        CUresult rc = real.cuGraphInstantiateWithFlags(exec, graph, flags);

        return hand_out(ret, exec, instantiated(rc, exec, graph));
}

/*
 * May upload at once: then it is a launch as far as memory goes. Nothing is known of it before, so
 * its need is granted ahead of the call, card by card, and becomes that of the launch.
 */
struct upload {
        unsigned count;
        struct graph_promise part[GRAPH_DEVICES];
};

static void upload_drop(struct upload *upload)
{
        for (unsigned i = 0; i < upload->count; i++)
                charge_drop(&upload->part[i].charge);
}

/* The graph may have been uploaded before it was refused and destroyed. */
static void upload_undo(struct upload *upload)
{
        for (unsigned i = 0; i < upload->count; i++)
                undone(hook_cuDeviceGraphMemTrim(upload->part[i].place.device));
        upload_drop(upload);
}

static CUresult upload_add(struct upload *upload, CUdevice device, uint64_t need)
{
        struct place place = place_of_device(device);
        struct graph_promise *part = &upload->part[upload->count];
        CUresult rc;

        if (place.row < 0 || upload->count == GRAPH_DEVICES)
                return refusal(place);
        part->place = place;
        rc = reserve_at(&part->charge, place, measure_pool_growth(need));
        if (rc == CUDA_SUCCESS)
                upload->count++;
        return rc;
}

static CUresult upload_reserve(struct upload *ret, CUgraph graph,
                               const CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
        CUresult rc = CUDA_SUCCESS;
        struct graph_need need;

        ret->count = 0;
        if (!params || !(params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) || !front_is_on())
                return rc;
        if (!graph_need(graph, &need))
                return CUDA_ERROR_NOT_PERMITTED;
        for (CUdevice device = 0; device < STATE_DEVICES && rc == CUDA_SUCCESS; device++) {
                if (need.bytes[device])
                        rc = upload_add(ret, device, need.bytes[device]);
        }
        if (rc != CUDA_SUCCESS)
                upload_drop(ret);
        return rc;
}

/* What was granted ahead is enough: a rounded sum is never more than the sum of the rounded. */
static void upload_pay(struct launch *launch, struct upload *upload)
{
        for (unsigned i = 0; i < launch->count; i++) {
                for (unsigned j = 0; j < upload->count; j++) {
                        if (upload->part[j].place.device != launch->part[i].place.device)
                                continue;
                        launch->part[i].charge = upload->part[j].charge;
                        upload->part[j].charge = (struct charge){ .device = CHARGE_NO_DEVICE };
                }
        }
        upload_drop(upload);
}

/* Settles and returns `rc`, as the driver answered. */
static CUresult upload_settle(struct upload *upload, CUresult rc, CUgraphExec *exec,
                              CUstream stream)
{
        struct launch launch;

        if (rc != CUDA_SUCCESS || !upload->count) {
                upload_undo(upload);
                return rc;
        }
        launch = (struct launch){ .exec = *exec, .run = { .kind = RUN_UPLOAD } };
        launch_find_parts(&launch);
        upload_pay(&launch, upload);
        rc = launch_grant(&launch, stream);
        if (rc == CUDA_SUCCESS)
                return launch_end(&launch, rc);
        undone(hook_cuGraphExecDestroy(*exec));
        return rc;
}

CUresult hook_cuGraphInstantiateWithParams(CUgraphExec *ret, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
        ACCESS;
        CUgraphExec own;
        CUgraphExec *exec = withheld(&own, ret);
        struct upload upload;
        CUresult rc = upload_reserve(&upload, graph, params);

        if (rc != CUDA_SUCCESS)
                return rc;
        rc = instantiated(real.cuGraphInstantiateWithParams(exec, graph, params), exec, graph);
        rc = upload_settle(&upload, rc, exec, legacy(params ? params->hUploadStream : NULL));
        return hand_out(ret, exec, rc);
}

CUresult hook_cuGraphInstantiateWithParams_ptsz(CUgraphExec *ret, CUgraph graph,
                                                CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
        ACCESS;
        CUgraphExec own;
        CUgraphExec *exec = withheld(&own, ret);
        struct upload upload;
        CUresult rc = upload_reserve(&upload, graph, params);

        if (rc != CUDA_SUCCESS)
                return rc;
        rc = instantiated(real.cuGraphInstantiateWithParams_ptsz(exec, graph, params), exec, graph);
        rc = upload_settle(&upload, rc, exec, per_thread(params ? params->hUploadStream : NULL));
        return hand_out(ret, exec, rc);
}

CUresult hook_cuGraphUpload(CUgraphExec exec, CUstream stream)
{
        ACCESS;
        struct launch launch;
        CUresult rc;

        access_in(legacy(stream));
        rc = upload_begin(&launch, exec, legacy(stream));

        if (rc != CUDA_SUCCESS)
                return rc;
        return launch_end(&launch, real.cuGraphUpload(exec, stream));
}

CUresult hook_cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream)
{
        ACCESS;
        struct launch launch;
        CUresult rc;

        access_in(per_thread(stream));
        rc = upload_begin(&launch, exec, per_thread(stream));

        if (rc != CUDA_SUCCESS)
                return rc;
        return launch_end(&launch, real.cuGraphUpload_ptsz(exec, stream));
}

CUresult hook_cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
        struct launch launch;
        CUresult rc;

        submission_begin(submission_alike(submission_to(stream), (uintptr_t)exec, 0));
        rc = launch_begin(&launch, exec, legacy(stream));
        if (rc == CUDA_SUCCESS)
                rc = launch_end(&launch, real.cuGraphLaunch(exec, stream));
        return submission_end(rc);
}

CUresult hook_cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream)
{
        struct launch launch;
        CUresult rc;

        submission_begin(submission_alike(submission_per_thread(stream), (uintptr_t)exec, 0));
        rc = launch_begin(&launch, exec, per_thread(stream));
        if (rc == CUDA_SUCCESS)
                rc = launch_end(&launch, real.cuGraphLaunch_ptsz(exec, stream));
        return submission_end(rc);
}

/* Under graphs_lock: the parts and their mark get another key. Returns how many parts there are. */
static uint32_t rename_parts(uint64_t key, uint64_t new_key)
{
        struct graph_part *list = NULL;
        struct graph_part *part;
        uint32_t count = 0;

        while ((part = table_find(&state.graphs, key))) {
                table_remove(&state.graphs, part);
                part->next = list;
                list = part;
        }
        for (; list; list = list->next, count++) {
                list->link.key = new_key;
                table_put(&state.graphs, list);
                if (list->mark)
                        state.marks[list->mark - 1].key = new_key;
        }
        return count;
}

/* Under graphs_lock, of a graph that is destroyed: those with a mark stay until it says that all is
 * over. */
static void end_parts(uint64_t key, uint32_t count)
{
        struct graph_part *part = table_find(&state.graphs, key);

        add_relaxed(&state.graphs_with_memory, -count);
        if (part && part->mark)
                add_relaxed(&state.marks_gone, 1u);
        for (; part && !part->mark; part = table_find(&state.graphs, key)) {
                table_remove(&state.graphs, part);
                table_free(&state.graphs, part);
        }
}

/* What it promised stays promised, since it may still be running. Its handle may be another graph's
 * at once. */
CUresult hook_cuGraphExecDestroy(CUgraphExec exec)
{
        ACCESS;
        uint64_t gone;
        uint32_t count;
        CUresult rc;

        if (!load_relaxed(&state.graphs_with_memory))
                return real.cuGraphExecDestroy(exec);
        lock_take(&state.graphs_lock);
        gone = (state.graphs_last_gone += 2) + 1;
        count = rename_parts(key_of(exec), gone);
        lock_drop(&state.graphs_lock);
        rc = real.cuGraphExecDestroy(exec);
        lock_take(&state.graphs_lock);
        if (rc == CUDA_SUCCESS)
                end_parts(gone, count);
        else
                rename_parts(gone, key_of(exec));
        lock_drop(&state.graphs_lock);
        return rc;
}
