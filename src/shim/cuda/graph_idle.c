/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the memory of graphs is what the driver says: at idle moments, after a trim.
 *
 * While something that was launched may still run, what was promised to it stays charged (graph.c).
 * A wait that ends all of it, on every card where it took memory, makes the driver's word count.
 */
#include "shim/cuda/graph.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/real.h"
#include "shim/cuda/state.h"

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
