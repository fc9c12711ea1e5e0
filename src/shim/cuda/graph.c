/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of graphs: allocation nodes, charged as the device's graph memory grows.
 *
 * The driver keeps the memory of all graphs of a device in one reservation, grows it when a graph
 * is uploaded or runs, and gives it back only when trimmed. When exactly it grows is its own
 * affair, so it is charged ahead: an executable graph's *need* is the sum of its allocation nodes,
 * found by walking the graph when it is instantiated. A block without a free node stays in use
 * after the graph is over. So what may be in use once a graph runs is no more than the lesser of
 *
 *      in use at the last idle moment + needs of the graphs launched since
 *      needs of the graphs launched since a moment at which nothing was in use
 *
 * each graph counted once, and the charge is at least that while it may run. At an idle moment (a
 * synchronisation after which nothing launched can be running) the charge becomes what the driver
 * has reserved, above the limit if need be (meter_follow).
 *
 * Idle is known only if all those launches went to one stream and that stream, or the context, was
 * waited for. A graph without memory nodes is not noted, and its launch costs one load more.
 */
#include "shim/cuda/graph.h"

#include "interpose/gate.h"
#include "shim/cuda/front.h"
#include "shim/cuda/graph_need.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/measure.h"
#include "shim/cuda/pool.h"
#include "shim/cuda/real.h"
#include "shim/cuda/state.h"

/* A node of state.graphs, one for each card: key = executable graph, extent = need, count =
 * generation and value = era in which it was last launched, row and id = place. */
static CUresult note(CUgraphExec exec, uint64_t need, struct place place)
{
        struct node *node;

        if (place.row < 0)
                return refusal(place);
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
        return node ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* A graph whose memory is not known, or is nobody's, does not get as far as a launch. */
static CUresult instantiated(CUresult rc, const CUgraphExec *exec, CUgraph graph)
{
        struct graph_need need;
        unsigned parts = 0;

        if (rc != CUDA_SUCCESS || !exec || !front_is_on())
                return rc;
        if (!graph_need(graph, &need))
                rc = CUDA_ERROR_NOT_PERMITTED;
        for (CUdevice device = 0; need.total_bytes && device < STATE_DEVICES; device++) {
                if (rc == CUDA_SUCCESS && need.bytes[device])
                        rc = parts++ < GRAPH_DEVICES
                                     ? note(*exec, need.bytes[device], place_of_device(device))
                                     : CUDA_ERROR_NOT_PERMITTED;
        }
        if (rc != CUDA_SUCCESS)
                hook_cuGraphExecDestroy(*exec);
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

/* What a launch that is being made was granted on one card, and promised of it. */
struct promise {
        struct charge charge;
        struct meter *meter;
        struct place place;
        uint64_t added;  /* to what was promised since the idle moment */
        uint64_t owed;   /* to what was promised since nothing was in use */
        uint64_t launch; /* its number */
};

struct launch {
        CUgraphExec exec;
        unsigned count; /* 0: the graph has no memory */
        struct promise part[GRAPH_DEVICES];
};

/* What the driver said before the meter's lock was taken: a free may make it less meanwhile, and a
 * launch shows by its generation. */
struct reading {
        uint64_t generation;
        uint64_t used_bytes;
};

/* Under graphs_lock. */
static struct node *find_part(CUgraphExec exec, CUdevice device)
{
        struct node *node = table_find(&state.graphs, key_of(exec));

        while (node && node->id != (uint64_t)device)
                node = table_next(node);
        return node;
}

/* Under the meter's lock: what a launch would add to both sums. Each counts a graph once: its
 * blocks have their addresses for good, so it cannot hold them twice. */
static void find_need(struct promise *part, CUgraphExec exec)
{
        struct node *node;

        lock_take(&state.graphs_lock);
        node = find_part(exec, part->place.device);
        part->added = node && node->count != part->meter->generation ? node->extent : 0;
        part->owed = node && node->value != part->meter->era ? node->extent : 0;
        lock_drop(&state.graphs_lock);
}

static void mark_launch(CUgraphExec exec, CUdevice device, uint64_t generation, uint64_t era)
{
        struct node *node;

        lock_take(&state.graphs_lock);
        node = find_part(exec, device);
        if (node) {
                node->count = generation;
                node->value = era;
        }
        lock_drop(&state.graphs_lock);
}

/* The cards on which the graph has memory. */
static void find_parts(struct launch *launch)
{
        struct node *node;

        lock_take(&state.graphs_lock);
        node = table_find(&state.graphs, key_of(launch->exec));
        for (; node && launch->count < GRAPH_DEVICES; node = table_next(node))
                launch->part[launch->count++].place =
                        (struct place){ .row = (int)node->row, .device = (CUdevice)node->id };
        lock_drop(&state.graphs_lock);
}

static uint64_t sum(uint64_t a, uint64_t b)
{
        return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static struct reading read_used(struct meter *meter)
{
        struct reading reading;

        lock_take(&meter->lock);
        reading.generation = meter->generation;
        lock_drop(&meter->lock);
        if (!meter_read_used(meter, &reading.used_bytes))
                reading.used_bytes = UINT64_MAX;
        return reading;
}

/* Under the meter's lock. */
static void note_launch(struct meter *meter, CUstream stream, uint32_t owner)
{
        uint64_t key = stream_key(stream);
        bool is_first = meter->promised_bytes == 0;

        meter->launches++;
        meter->calls++;
        meter->stream = is_first || meter->stream == key ? key : MANY_STREAMS;
        meter->owner = is_first || meter->owner == owner ? owner : 0;
}

/* Under the meter's lock: what must be granted beside the part's charge to cover what may be in use
 * once the graph runs. */
static uint64_t find_missing(struct promise *part, CUgraphExec exec, const struct reading *reading)
{
        struct meter *meter = part->meter;
        uint64_t covered =
                charge_held(SPACE_GRAPH, load_relaxed(&meter->key)) + meter->pending_bytes;
        uint64_t since_idle, since_empty, most, missing;

        if (meter->promised_bytes == 0) {
                bool is_known = reading->generation == meter->generation;

                meter->base_bytes = is_known ? reading->used_bytes : UINT64_MAX;
                if (meter->base_bytes == 0) {
                        meter->owed_bytes = 0;
                        meter->era++;
                }
        }
        find_need(part, exec);
        since_idle = sum(meter->base_bytes, sum(meter->promised_bytes, part->added));
        since_empty = sum(meter->owed_bytes, part->owed);
        most = since_idle < since_empty ? since_idle : since_empty;
        missing = most > covered ? measure_pool_growth(most - covered) : 0;
        if (missing <= part->charge.bytes)
                charge_trim(&part->charge, missing);
        return missing - part->charge.bytes;
}

/* Under the meter's lock. */
static void promise(struct promise *part, CUgraphExec exec, CUstream stream, uint32_t owner)
{
        struct meter *meter = part->meter;

        note_launch(meter, stream, owner);
        part->launch = meter->launches;
        meter->promised_bytes += part->added;
        meter->owed_bytes += part->owed;
        meter->pending_bytes += part->charge.bytes;
        mark_launch(exec, part->place.device, meter->generation, meter->era);
}

/* Only what was granted is promised, so that nobody rests on a grant that is refused. */
static CUresult part_begin(struct promise *part, CUgraphExec exec, CUstream stream, uint32_t owner)
{
        CUresult rc = CUDA_SUCCESS;
        uint64_t missing = 0;

        part->meter = meter_of_graphs(part->place);
        if (!part->meter)
                rc = CUDA_ERROR_OUT_OF_MEMORY;
        while (rc == CUDA_SUCCESS) {
                struct reading reading = read_used(part->meter);
                struct charge more;

                lock_take(&part->meter->lock);
                missing = find_missing(part, exec, &reading);
                if (!missing)
                        promise(part, exec, stream, owner);
                lock_drop(&part->meter->lock);
                if (!missing)
                        return rc;
                rc = reserve_at(&more, part->place, missing);
                if (rc == CUDA_SUCCESS)
                        charge_join(&part->charge, &more);
        }
        charge_drop(&part->charge);
        return rc;
}

static void part_keep(struct promise *part)
{
        uint64_t key = load_relaxed(&part->meter->key);
        struct charge kept;

        lock_take(&part->meter->lock);
        part->meter->calls--;
        part->meter->pending_bytes -= part->charge.bytes;
        charge_take(&kept, SPACE_GRAPH, key);
        charge_join(&kept, &part->charge);
        charge_keep(&kept, SPACE_GRAPH, key);
        part->meter->version++;
        lock_drop(&part->meter->lock);
}

/* The launch was not made. Another one meanwhile may rest on what was promised: then it stays. */
static void part_break(struct promise *part, CUgraphExec exec)
{
        struct meter *meter = part->meter;
        bool is_last;

        lock_take(&meter->lock);
        is_last = meter->launches == part->launch;
        if (is_last) {
                meter->calls--;
                meter->promised_bytes -= part->added;
                meter->owed_bytes -= part->owed;
                meter->pending_bytes -= part->charge.bytes;
                if (part->added || part->owed)
                        mark_launch(exec, part->place.device, part->added ? 0 : meter->generation,
                                    part->owed ? 0 : meter->era);
        }
        lock_drop(&meter->lock);
        if (is_last)
                charge_drop(&part->charge);
        else
                part_keep(part);
}

static CUresult launch_grant(struct launch *launch, CUstream stream)
{
        uint32_t owner = launch->count ? place_here().owner : 0;
        CUresult rc = CUDA_SUCCESS;

        for (unsigned i = 0; i < launch->count && rc == CUDA_SUCCESS; i++) {
                rc = part_begin(&launch->part[i], launch->exec, stream, owner);
                for (unsigned j = 0; rc != CUDA_SUCCESS && j < i; j++)
                        part_break(&launch->part[j], launch->exec);
        }
        return rc;
}

static CUresult launch_begin(struct launch *ret, CUgraphExec exec, CUstream stream)
{
        ret->count = 0;
        if (!load_relaxed(&state.graphs_with_memory))
                return CUDA_SUCCESS;
        *ret = (struct launch){ .exec = exec };
        find_parts(ret);
        return launch_grant(ret, stream);
}

static CUresult launch_end(struct launch *launch, CUresult rc)
{
        for (unsigned i = 0; i < launch->count; i++) {
                struct promise *part = &launch->part[i];

                if (rc == CUDA_SUCCESS)
                        part_keep(part);
                else
                        part_break(part, launch->exec);
        }
        return rc;
}

/*
 * May upload at once: then it is a launch as far as memory goes. Nothing is known of it before, so
 * its need is granted ahead of the call, card by card, and becomes that of the launch.
 */
struct upload {
        unsigned count;
        struct promise part[GRAPH_DEVICES];
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
                hook_cuDeviceGraphMemTrim(upload->part[i].place.device);
        upload_drop(upload);
}

static CUresult upload_add(struct upload *upload, CUdevice device, uint64_t need)
{
        struct place place = place_of_device(device);
        struct promise *part = &upload->part[upload->count];
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
        launch = (struct launch){ .exec = *exec };
        find_parts(&launch);
        upload_pay(&launch, upload);
        rc = launch_grant(&launch, stream);
        if (rc == CUDA_SUCCESS)
                return launch_end(&launch, rc);
        hook_cuGraphExecDestroy(*exec);
        return rc;
}

static CUstream legacy(CUstream stream)
{
        return stream ? stream : CU_STREAM_LEGACY;
}

static CUstream per_thread(CUstream stream)
{
        return stream ? stream : CU_STREAM_PER_THREAD;
}

CUresult hook_cuGraphInstantiateWithParams(CUgraphExec *ret, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
        struct upload upload;
        CUresult rc = upload_reserve(&upload, graph, params);

        if (rc != CUDA_SUCCESS)
                return rc;
        rc = instantiated(real.cuGraphInstantiateWithParams(ret, graph, params), ret, graph);
        return upload_settle(&upload, rc, ret, legacy(params ? params->hUploadStream : NULL));
}

CUresult hook_cuGraphInstantiateWithParams_ptsz(CUgraphExec *ret, CUgraph graph,
                                                CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
        struct upload upload;
        CUresult rc = upload_reserve(&upload, graph, params);

        if (rc != CUDA_SUCCESS)
                return rc;
        rc = instantiated(real.cuGraphInstantiateWithParams_ptsz(ret, graph, params), ret, graph);
        return upload_settle(&upload, rc, ret, per_thread(params ? params->hUploadStream : NULL));
}

CUresult hook_cuGraphUpload(CUgraphExec exec, CUstream stream)
{
        struct launch launch;
        CUresult rc = launch_begin(&launch, exec, legacy(stream));

        if (rc != CUDA_SUCCESS)
                return rc;
        return launch_end(&launch, real.cuGraphUpload(exec, stream));
}

CUresult hook_cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream)
{
        struct launch launch;
        CUresult rc = launch_begin(&launch, exec, per_thread(stream));

        if (rc != CUDA_SUCCESS)
                return rc;
        return launch_end(&launch, real.cuGraphUpload_ptsz(exec, stream));
}

CUresult hook_cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
        struct launch launch;
        CUresult rc;

        gate_pass();
        rc = launch_begin(&launch, exec, legacy(stream));
        if (rc != CUDA_SUCCESS)
                return rc;
        return launch_end(&launch, real.cuGraphLaunch(exec, stream));
}

CUresult hook_cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream)
{
        struct launch launch;
        CUresult rc;

        gate_pass();
        rc = launch_begin(&launch, exec, per_thread(stream));
        if (rc != CUDA_SUCCESS)
                return rc;
        return launch_end(&launch, real.cuGraphLaunch_ptsz(exec, stream));
}

/* Takes the parts out, as a list. */
static struct node *take_parts(CUgraphExec exec)
{
        struct node *list = NULL;
        struct node *node;

        if (!load_relaxed(&state.graphs_with_memory))
                return NULL;
        lock_take(&state.graphs_lock);
        while ((node = table_find(&state.graphs, key_of(exec)))) {
                table_remove(&state.graphs, node);
                node->next = list;
                list = node;
        }
        lock_drop(&state.graphs_lock);
        return list;
}

/* What it promised stays promised until the next idle moment: it may still be running. */
CUresult hook_cuGraphExecDestroy(CUgraphExec exec)
{
        struct node *list = take_parts(exec);
        CUresult rc = real.cuGraphExecDestroy(exec);

        lock_take(&state.graphs_lock);
        for (struct node *next; list; list = next) {
                next = list->next;
                if (rc == CUDA_SUCCESS) {
                        table_node_free(&state.graphs, list);
                        add_relaxed(&state.graphs_with_memory, -1u);
                } else {
                        table_put(&state.graphs, list);
                }
        }
        lock_drop(&state.graphs_lock);
        return rc;
}
