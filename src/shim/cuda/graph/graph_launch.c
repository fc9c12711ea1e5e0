/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/graph/graph_launch.h"

#include "common/minmax.h"
#include "common/sums.h"
#include "shim/cuda/charge/reserve.h"
#include "shim/cuda/measure/measure.h"
#include "shim/cuda/state/graphs.h"
#include "shim/cuda/state/meters.h"
#include "shim/cuda/state/places.h"
#include "shim/cuda/stream/capture.h"

/* Under graphs_lock: NULL if the graph has none there. */
static struct graph_part *part_find(CUgraphExec exec, CUdevice device)
{
        struct graph_part *part = table_find(&graph_state.graphs, key_of(exec));

        while (part && part->place.device != device)
                part = table_next(part);
        return part;
}

static void find_parts(struct launch *launch)
{
        struct graph_part *part;

        lock_take(&graph_state.graphs_lock);
        part = table_find(&graph_state.graphs, key_of(launch->exec));
        for (; part && launch->count < GRAPH_DEVICES; part = table_next(part))
                launch->part[launch->count++] = (struct launch_part){
                        .place = part->place, .need_bytes = part->need_bytes, .stays = part->stays
                };
        lock_drop(&graph_state.graphs_lock);
}

/* What may be reserved once a graph with that need was launched in that stream too. */
struct reach {
        uint64_t launched_bytes, staying_bytes, largest_bytes, stream;
};

/* Under the meter's lock. A graph counts once: its blocks have their addresses for good, so it
 * cannot hold them twice. */
static struct reach reach_with(const struct launch_part *part, bool is_new, uint64_t stream)
{
        const struct meter *meter = part->meter;
        struct reach reach = { .launched_bytes = meter->launched_bytes,
                               .staying_bytes = meter->staying_bytes,
                               .largest_bytes = meter->largest_bytes,
                               .stream = meter->stream };

        reach.stream = !reach.launched_bytes || reach.stream == stream ? stream : MANY_STREAMS;
        if (!is_new)
                return reach;
        reach.launched_bytes = sum_of(reach.launched_bytes, part->need_bytes);
        if (part->stays)
                reach.staying_bytes = sum_of(reach.staying_bytes, part->need_bytes);
        else
                reach.largest_bytes = max_u64(reach.largest_bytes, part->need_bytes);
        return reach;
}

/* Where more is reserved than graphs that share need, the driver lets them share nothing. */
static uint64_t most(const struct reach *reach, uint64_t covered)
{
        uint64_t shared = sum_of(reach->staying_bytes, reach->largest_bytes);

        return reach->stream == MANY_STREAMS || covered > measure_pool_growth(shared)
                       ? reach->launched_bytes
                       : shared;
}

/* Under the meter's lock: nothing is reserved, and nothing is about to be. */
static void forget_launches(struct meter *meter)
{
        meter->generation++;
        meter->launched_bytes = meter->staying_bytes = meter->largest_bytes = 0;
}

/* Under the meter's lock, where enough is granted: from now on others count with it. */
static void count_launch(struct launch_part *part, const struct reach *reach)
{
        struct meter *meter = part->meter;

        meter->launched_bytes = reach->launched_bytes;
        meter->staying_bytes = reach->staying_bytes;
        meter->largest_bytes = reach->largest_bytes;
        meter->stream = reach->stream;
        meter->pending_bytes += part->charge.bytes;
}

/* Whether the graph was launched since nothing was reserved; `generation` is noted if it is not 0.
 */
static bool is_launched(CUgraphExec exec, const struct launch_part *part, uint64_t generation)
{
        struct graph_part *known;
        bool is_launched;

        lock_take(&graph_state.graphs_lock);
        known = exec ? part_find(exec, part->place.device) : NULL;
        is_launched = known && known->generation == part->meter->generation;
        if (known && generation)
                known->generation = generation;
        lock_drop(&graph_state.graphs_lock);
        return is_launched;
}

/* One try: 0 if the grant is enough, and the launch is counted; else the missing bytes. */
static uint64_t try_to_enter(struct launch_part *part, CUgraphExec exec, uint64_t stream)
{
        struct meter *meter = part->meter;
        uint64_t covered, missing;
        struct reach reach;

        lock_take(&meter->lock);
        covered = charge_held(SPACE_GRAPH, load_relaxed(&meter->key)) + meter->pending_bytes;
        if (!covered)
                forget_launches(meter);
        reach = reach_with(part, !is_launched(exec, part, 0), stream);
        missing = most(&reach, covered) - min_u64(covered, most(&reach, covered));
        missing = measure_pool_growth(min_u64(missing, part->need_bytes));
        if (missing <= part->charge.bytes) {
                charge_trim(&part->charge, missing);
                count_launch(part, &reach);
                is_launched(exec, part, meter->generation);
                missing = 0;
        } else {
                missing -= part->charge.bytes;
        }
        lock_drop(&meter->lock);
        return missing;
}

static CUresult part_begin(struct launch_part *part, CUgraphExec exec, uint64_t stream)
{
        CUresult rc = CUDA_SUCCESS;
        uint64_t missing;

        part->charge = (struct charge){ .device = CHARGE_NO_DEVICE };
        part->meter = meter_of_graphs(part->place);
        if (!part->meter)
                return CUDA_ERROR_OUT_OF_MEMORY;
        while ((missing = try_to_enter(part, exec, stream)) != 0) {
                struct charge more;

                rc = reserve_at(&more, part->place, missing);
                if (rc != CUDA_SUCCESS) {
                        charge_drop(&part->charge);
                        return rc;
                }
                charge_join(&part->charge, &more);
        }
        return CUDA_SUCCESS;
}

/* Charges what the driver has reserved, whatever the result of the launch. */
static void part_end(struct launch_part *part)
{
        if (!meter_settle(part->meter, &part->charge))
                meter_follow(part->meter);
}

/* On all cards, or on none. */
static CUresult grant_launch(struct launch *launch)
{
        CUresult rc = CUDA_SUCCESS;
        unsigned begun = 0;

        while (begun < launch->count && rc == CUDA_SUCCESS)
                rc = part_begin(&launch->part[begun++], launch->exec, stream_key(launch->stream));
        if (rc == CUDA_SUCCESS)
                return rc;
        for (unsigned i = 0; i + 1 < begun; i++)
                part_end(&launch->part[i]);
        launch->count = 0;
        return rc;
}

/* A captured launch does not run: if the driver accepts it at all, it becomes part of another
 * graph, whose need is computed when that graph is made. The capture does not end before
 * launch_end(). */
CUresult launch_begin(struct launch *ret, CUgraphExec exec, CUstream stream)
{
        ret->count = 0;
        ret->capture = 0;
        if (!load_relaxed(&graph_state.graphs_with_memory))
                return CUDA_SUCCESS;
        ret->exec = exec;
        ret->stream = stream;
        find_parts(ret);
        if (ret->count)
                ret->capture = capture_hold(stream);
        return ret->capture ? CUDA_SUCCESS : grant_launch(ret);
}

CUresult launch_begin_unknown(struct launch *ret, const struct graph_need *need, CUstream stream)
{
        *ret = (struct launch){ .stream = stream };
        for (CUdevice device = 0; need->is_any && device < STATE_DEVICES; device++) {
                struct place place = place_of_device(device);

                if (!need->bytes[device])
                        continue;
                if (place.row < 0 || ret->count == GRAPH_DEVICES)
                        return refusal(place);
                ret->part[ret->count++] = (struct launch_part){ .place = place,
                                                                .need_bytes = need->bytes[device],
                                                                .stays = need->stays };
        }
        return grant_launch(ret);
}

/* A launch that was not captured after all runs, and is charged what the driver has reserved, above
 * the limit if needed. */
static void captured_end(struct launch *launch, CUresult rc)
{
        if (capture_let_go(launch->stream, launch->capture) || rc != CUDA_SUCCESS)
                return;
        for (unsigned i = 0; i < launch->count; i++) {
                struct meter *meter = meter_of_graphs(launch->part[i].place);

                if (meter)
                        meter_follow(meter);
        }
}

CUresult launch_end(struct launch *launch, CUresult rc)
{
        if (launch->capture) {
                captured_end(launch, rc);
                return rc;
        }
        for (unsigned i = 0; i < launch->count; i++)
                part_end(&launch->part[i]);
        return rc;
}
