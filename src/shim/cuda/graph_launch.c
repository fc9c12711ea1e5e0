/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/graph_launch.h"

#include "common/minmax.h"
#include "common/sums.h"
#include "shim/cuda/capture.h"
#include "shim/cuda/measure.h"
#include "shim/cuda/state.h"

/* Under the meter's lock: what a launch would add to both sums. Each counts a graph once: its
 * blocks have their addresses for good, so it cannot hold them twice. */
static void find_need(struct graph_promise *promised, CUgraphExec exec)
{
        const struct meter *meter = promised->meter;
        const struct graph_part *part;

        lock_take(&state.graphs_lock);
        part = graph_part_find(key_of(exec), promised->place.device);
        promised->added = part && part->generation != meter->generation ? part->need_bytes : 0;
        promised->owed = part && part->era != meter->era ? part->need_bytes : 0;
        lock_drop(&state.graphs_lock);
}

static void mark_launch(CUgraphExec exec, CUdevice device, uint64_t generation, uint64_t era)
{
        struct graph_part *part;

        lock_take(&state.graphs_lock);
        part = graph_part_find(key_of(exec), device);
        if (part) {
                part->generation = generation;
                part->era = era;
        }
        lock_drop(&state.graphs_lock);
}

void launch_find_parts(struct launch *launch)
{
        struct graph_part *part;

        lock_take(&state.graphs_lock);
        part = table_find(&state.graphs, key_of(launch->exec));
        launch->run.mark = part ? part->mark : 0;
        for (; part && launch->count < GRAPH_DEVICES; part = table_next(part))
                launch->part[launch->count++].place = part->place;
        lock_drop(&state.graphs_lock);
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
static uint64_t find_missing(struct graph_promise *part, CUgraphExec exec,
                             const struct graph_use *use)
{
        struct meter *meter = part->meter;
        uint64_t covered =
                charge_held(SPACE_GRAPH, load_relaxed(&meter->key)) + meter->pending_bytes;
        uint64_t since_idle, since_empty, most, missing;

        if (meter->promised_bytes == 0) {
                bool is_known = use->generation == meter->generation;

                meter->base_bytes = is_known ? use->bytes : UINT64_MAX;
                if (meter->base_bytes == 0) {
                        meter->owed_bytes = 0;
                        meter->era++;
                }
        }
        find_need(part, exec);
        since_idle = sum_of(meter->base_bytes, sum_of(meter->promised_bytes, part->added));
        since_empty = sum_of(meter->owed_bytes, part->owed);
        most = min_u64(since_idle, since_empty);
        missing = most > covered ? measure_pool_growth(most - covered) : 0;
        if (missing <= part->charge.bytes)
                charge_trim(&part->charge, missing);
        return missing - part->charge.bytes;
}

/* Under the meter's lock. */
static void promise(struct graph_promise *part, CUgraphExec exec, CUstream stream, uint32_t owner)
{
        struct meter *meter = part->meter;

        note_launch(meter, stream, owner);
        part->launch = meter->launches;
        meter->promised_bytes += part->added;
        meter->owed_bytes += part->owed;
        meter->pending_bytes += part->charge.bytes;
        store_relaxed(&meter->is_dirty, 1);
        mark_launch(exec, part->place.device, meter->generation, meter->era);
}

static uint64_t endings_of(struct meter *meter)
{
        uint64_t endings;

        lock_take(&meter->lock);
        endings = meter->endings;
        lock_drop(&meter->lock);
        return endings;
}

/* Only what was granted is promised, so that nobody rests on a grant that is refused. A refusal
 * counts only if what was promised to others is the same after it: reserve_at() asked which of
 * their graphs are over. */
static CUresult part_begin(struct graph_promise *part, CUgraphExec exec, CUstream stream,
                           uint32_t owner)
{
        CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;
        uint64_t missing, endings;

        part->meter = meter_of_graphs(part->place);
        if (!part->meter)
                goto out;
        do {
                struct graph_use use = graph_use_read(part->meter);
                struct charge more;

                lock_take(&part->meter->lock);
                endings = part->meter->endings;
                missing = find_missing(part, exec, &use);
                if (!missing)
                        promise(part, exec, stream, owner);
                lock_drop(&part->meter->lock);
                if (!missing)
                        return CUDA_SUCCESS;
                rc = reserve_at(&more, part->place, missing);
                if (rc == CUDA_SUCCESS)
                        charge_join(&part->charge, &more);
        } while (rc == CUDA_SUCCESS || endings != endings_of(part->meter));
out:
        charge_drop(&part->charge);
        return rc;
}

static void part_keep(struct graph_promise *part)
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
static void part_break(struct graph_promise *part, CUgraphExec exec)
{
        struct meter *meter = part->meter;
        bool is_last;

        lock_take(&meter->lock);
        is_last = meter->launches == part->launch;
        if (is_last) {
                meter->calls--;
                meter->endings++;
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
        uint32_t owner = launch->count ? place_of_stream(stream).owner : 0;
        CUresult rc = CUDA_SUCCESS;

        if (launch->count)
                mark_begin(&launch->run, stream, owner);
        for (unsigned i = 0; i < launch->count && rc == CUDA_SUCCESS; i++) {
                rc = part_begin(&launch->part[i], launch->exec, stream, owner);
                for (unsigned j = 0; rc != CUDA_SUCCESS && j < i; j++)
                        part_break(&launch->part[j], launch->exec);
        }
        if (launch->count && rc != CUDA_SUCCESS)
                mark_end(&launch->run, rc);
        return rc;
}

/* What is captured does not run: if the driver takes it at all, it becomes part of another graph,
 * whose need is found when that is made. The capture does not end before launch_end(). */
static CUresult begin(struct launch *ret, CUgraphExec exec, CUstream stream, unsigned kind)
{
        ret->count = 0;
        ret->capture = 0;
        if (!load_relaxed(&state.graphs_with_memory))
                return CUDA_SUCCESS;
        *ret = (struct launch){ .exec = exec, .run = { .kind = kind, .stream = stream } };
        launch_find_parts(ret);
        if (ret->count)
                ret->capture = capture_hold(stream);
        return ret->capture ? CUDA_SUCCESS : launch_grant(ret, stream);
}

CUresult launch_begin(struct launch *ret, CUgraphExec exec, CUstream stream)
{
        return begin(ret, exec, stream, RUN_LAUNCH);
}

CUresult upload_begin(struct launch *ret, CUgraphExec exec, CUstream stream)
{
        return begin(ret, exec, stream, RUN_UPLOAD);
}

/* A graph that was not captured after all runs, and is charged what the driver has reserved, now
 * and at every look: above the limit if need be. */
static void captured_end(struct launch *launch, CUresult rc)
{
        if (capture_let_go(launch->run.stream, launch->capture) || rc != CUDA_SUCCESS)
                return;
        for (unsigned i = 0; i < launch->count; i++) {
                struct meter *meter = meter_of_graphs(launch->part[i].place);

                if (!meter)
                        continue;
                store_relaxed(&meter->is_dirty, 1);
                meter_follow(meter);
        }
}

/* What was promised is taken back before the run is over, so that nobody else ends the promise. */
CUresult launch_end(struct launch *launch, CUresult rc)
{
        if (launch->capture) {
                captured_end(launch, rc);
                return rc;
        }
        if (launch->count && rc == CUDA_SUCCESS)
                mark_end(&launch->run, rc);
        for (unsigned i = 0; i < launch->count; i++) {
                struct graph_promise *part = &launch->part[i];

                if (rc == CUDA_SUCCESS)
                        part_keep(part);
                else
                        part_break(part, launch->exec);
        }
        if (launch->count && rc != CUDA_SUCCESS)
                mark_end(&launch->run, rc);
        return rc;
}
