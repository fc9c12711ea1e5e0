/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the memory of graphs is what the driver says: at idle moments, after a trim.
 *
 * While something that was launched may still run, what was promised to it stays charged
 * (graph_launch.h). A wait that ends all of it, on every card where it took memory, makes the
 * driver's word count; so does the driver when it is asked and says that all of it is over.
 */
#include "shim/cuda/graph.h"
#include "shim/cuda/graph_mark.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/real.h"
#include "shim/cuda/state.h"

/* The driver's word becomes the charge, if nothing can be running. */
static void graph_refresh(struct meter *meter)
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
                graph_look(meter);
        return rc;
}

/* Would all that was promised be over if this wait succeeds? Not if a launch is on its way: the
 * driver may get it after the wait. */
static bool ends(struct meter *meter, CUstream stream, struct place here)
{
        if (!load_acquire(&meter->key) || load_relaxed(&meter->space) != SPACE_GRAPH ||
            !meter->promised_bytes || meter->calls)
                return false;
        if (stream == POOL_CONTEXT)
                return here.owner && meter->owner == here.owner;
        return meter->stream == stream_key(stream);
}

struct idle idle_begin(CUstream stream)
{
        uint32_t high = load_acquire(&state.meters_high);
        struct place here;
        struct idle idle;

        idle.count = 0;
        if (!load_relaxed(&state.graphs_with_memory) && !high)
                return idle;
        here = place_here();
        for (uint32_t i = 0; i < high && idle.count < GRAPH_DEVICES; i++) {
                struct meter *meter = &state.meters[i];

                lock_take(&meter->lock);
                if (ends(meter, stream, here)) {
                        idle.part[idle.count].meter = meter;
                        idle.part[idle.count++].launches = meter->launches;
                }
                lock_drop(&meter->lock);
        }
        return idle;
}

static void meter_idle(struct meter *meter, uint64_t launches)
{
        bool is_idle;

        lock_take(&meter->lock);
        is_idle = meter->launches == launches && !meter->calls;
        if (is_idle) {
                meter->promised_bytes = 0;
                meter->generation++;
                meter->endings++;
        }
        lock_drop(&meter->lock);
        if (is_idle)
                graph_refresh(meter);
}

void idle_end(const struct idle *idle, CUresult rc)
{
        for (unsigned i = 0; rc == CUDA_SUCCESS && i < idle->count; i++)
                meter_idle(idle->part[i].meter, idle->part[i].launches);
}

struct graph_use graph_use_read(struct meter *meter)
{
        struct graph_use use;

        lock_take(&meter->lock);
        use.generation = meter->generation;
        lock_drop(&meter->lock);
        if (!meter_read_used(meter, &use.bytes))
                use.bytes = UINT64_MAX;
        return use;
}

struct graph_part *graph_part_find(uint64_t key, CUdevice device)
{
        struct graph_part *part = table_find(&state.graphs, key);

        while (part && part->place.device != device)
                part = table_next(part);
        return part;
}

/* Under the meter's lock and graphs_lock: what is promised to graphs that are over. With `is_end`
 * they are promised nothing from now on. */
static uint64_t promised_to_ended(struct meter *meter, bool is_end)
{
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < state.marks_high; i++) {
                struct mark *mark = &state.marks[i];
                struct graph_part *part = NULL;

                if (mark->key && mark_is_over(mark))
                        part = graph_part_find(mark->key, load_relaxed(&meter->device));
                if (!part)
                        continue;
                if (part->generation == meter->generation)
                        bytes += part->need_bytes;
                if (is_end || part->generation != meter->generation)
                        part->generation = 0;
        }
        return bytes;
}

/* Is it less than what is promised, if what the driver says is in use counts, and those still
 * running beside it? */
static bool is_less(const struct meter *meter, const struct graph_use *use, uint64_t ended)
{
        return use->generation == meter->generation && use->bytes != UINT64_MAX &&
               (use->bytes <= ended || use->bytes - ended < meter->base_bytes);
}

/* Under marks_lock, after the driver was asked: so what is over was so before the use was read.
 * `launches` is from before it was asked. */
static void promise_again(struct meter *meter, uint64_t launches)
{
        struct graph_use use = graph_use_read(meter);
        uint64_t ended;
        bool is_idle;

        lock_take(&meter->lock);
        lock_take(&state.graphs_lock);
        ended = promised_to_ended(meter, false);
        is_idle = ended == meter->promised_bytes && meter->launches == launches && !meter->calls;
        if (ended && (is_idle || is_less(meter, &use, ended))) {
                promised_to_ended(meter, true);
                meter->promised_bytes -= ended;
                meter->base_bytes = use.bytes;
                meter->generation += is_idle;
                meter->endings++;
        }
        lock_drop(&state.graphs_lock);
        lock_drop(&meter->lock);
}

/* Somebody is promised something, or something is left of a destroyed graph. `ret_launches` is how
 * many there were so far. */
static bool is_looked_at(struct meter *meter, uint64_t *ret_launches)
{
        bool is_promising;

        lock_take(&meter->lock);
        *ret_launches = meter->launches;
        is_promising = meter->promised_bytes != 0;
        lock_drop(&meter->lock);
        return is_promising || load_relaxed(&state.marks_gone);
}

void graph_look(struct meter *meter)
{
        uint64_t launches;

        if (is_looked_at(meter, &launches)) {
                lock_take(&state.marks_lock);
                marks_ask();
                promise_again(meter, launches);
                marks_bury();
                lock_drop(&state.marks_lock);
        }
        graph_refresh(meter);
}

void graphs_look(void)
{
        uint32_t high = load_acquire(&state.meters_high);
        uint64_t launches;

        for (uint32_t i = 0; i < high; i++) {
                struct meter *meter = &state.meters[i];

                if (load_acquire(&meter->key) && load_relaxed(&meter->space) == SPACE_GRAPH &&
                    is_looked_at(meter, &launches))
                        graph_look(meter);
        }
        if (load_relaxed(&state.marks_gone)) { /* of cards where nothing was ever launched */
                lock_take(&state.marks_lock);
                marks_ask();
                marks_bury();
                lock_drop(&state.marks_lock);
        }
}
