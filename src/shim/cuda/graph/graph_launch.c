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

/* Returns the part of a graph on `device`; NULL if it needs no memory on it. The caller holds
 * graphs_lock. */
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

/* Needs of the graphs launched since the reservation was empty, including the graph to be launched:
 * the sum of all, the sum of those that leave memory allocated, and the largest of the others.
 * `stream` is their stream, or MANY_STREAMS. */
struct reach {
        uint64_t launched_bytes, staying_bytes, largest_bytes, stream;
};

/* Returns the needs with `part` included if it is new. A graph counts once, however often it is
 * launched: its blocks have fixed addresses, so it cannot hold them twice. The caller holds the
 * meter's lock. */
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

/* Returns the maximum that may be reserved. If more is reserved than graphs that share memory need,
 * the driver does not share memory between them. */
static uint64_t most(const struct reach *reach, uint64_t covered)
{
        uint64_t shared = sum_of(reach->staying_bytes, reach->largest_bytes);

        return reach->stream == MANY_STREAMS || covered > measure_pool_growth(shared)
                       ? reach->launched_bytes
                       : shared;
}

/* Forgets the earlier launches, because nothing is reserved and no launch with a grant is in
 * flight. The caller holds the meter's lock. */
static void forget_launches(struct meter *meter)
{
        meter->generation++;
        meter->launched_bytes = meter->staying_bytes = meter->largest_bytes = 0;
}

/* Stores the needs and the grant of a launch in the meter, so that later launches include them. The
 * caller holds the meter's lock, and has a grant that is large enough. */
static void count_launch(struct launch_part *part, const struct reach *reach)
{
        struct meter *meter = part->meter;

        meter->launched_bytes = reach->launched_bytes;
        meter->staying_bytes = reach->staying_bytes;
        meter->largest_bytes = reach->largest_bytes;
        meter->stream = reach->stream;
        meter->pending_bytes += part->charge.bytes;
}

/* Whether the graph was launched on this card since the reservation was last empty. If `generation`
 * is not 0, notes it as that of the graph's last launch. */
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

/* Tries once to begin a launch. 0: the grant is large enough, and the launch is counted; else the
 * number of bytes that are missing. */
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

/* Charges what the driver has reserved, whether the launch succeeded or not. */
static void part_end(struct launch_part *part)
{
        if (!meter_settle(part->meter, &part->charge))
                meter_follow(part->meter);
}

/* Grants the memory of a launch on all cards, or on none. */
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

/* A captured launch is not executed: if the driver accepts it at all, it becomes part of another
 * graph, whose need is computed when that graph is instantiated. capture_hold() keeps the capture
 * from ending before launch_end(). */
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

/* Ends a launch that began during a capture. If the launch was executed after all, because the
 * stream was not capturing any more, what the driver has reserved is charged, even above the
 * limit. */
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
