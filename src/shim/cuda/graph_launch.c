/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/graph_launch.h"

#include "shim/cuda/measure.h"
#include "shim/cuda/state.h"

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

void launch_find_parts(struct launch *launch)
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

CUresult launch_grant(struct launch *launch, CUstream stream)
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

CUresult launch_begin(struct launch *ret, CUgraphExec exec, CUstream stream)
{
        ret->count = 0;
        if (!load_relaxed(&state.graphs_with_memory))
                return CUDA_SUCCESS;
        *ret = (struct launch){ .exec = exec };
        launch_find_parts(ret);
        return launch_grant(ret, stream);
}

CUresult launch_end(struct launch *launch, CUresult rc)
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
