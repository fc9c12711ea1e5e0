/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU: contexts take turns by time slices, each runs its kernels in their order.
 *
 * A context that has nothing to run is left at once. Who is stopped in the middle of a kernel has
 * its state saved, which takes long; between kernels little is to be done. Neither is anybody's
 * time. The figures are of the order that is published for such cards; they are not measured here.
 */
#include "world.h"

#define SLICE (2 * MS)
#define SWITCH_INSIDE (100 * US)
#define SWITCH_BETWEEN (5 * US)

static unsigned other_of(const struct gpu *gpu)
{
        for (unsigned n = 1; n <= PROGRAMS; n++) {
                unsigned i = (gpu->current + n) % PROGRAMS;

                if (gpu->current == PROGRAMS)
                        i = n - 1;
                if (i != gpu->current && gpu->channel[i].count > 0)
                        return i;
        }
        return PROGRAMS;
}

static void switch_to(struct gpu *gpu, unsigned next, int64_t now)
{
        const struct channel *left = &gpu->channel[gpu->current % PROGRAMS];
        bool is_inside = gpu->current < PROGRAMS && left->count > 0 && left->is_started;

        gpu->next = next;
        gpu->switch_end = now + (is_inside ? SWITCH_INSIDE : SWITCH_BETWEEN);
}

/* Where something is to be run and nothing is, or the slice is over. */
static void settle(struct gpu *gpu, int64_t now)
{
        unsigned other;

        if (gpu->switch_end != NEVER) {
                if (now < gpu->switch_end)
                        return;
                gpu->current = gpu->next;
                gpu->switch_end = NEVER;
                gpu->slice_end = now + SLICE;
        }
        other = other_of(gpu);
        if (gpu->current < PROGRAMS && gpu->channel[gpu->current].count > 0) {
                if (now < gpu->slice_end)
                        return;
                gpu->slice_end = now + SLICE;
        }
        if (other < PROGRAMS)
                switch_to(gpu, other, now);
}

void gpu_push(struct gpu *gpu, unsigned i, int64_t ns, int64_t now)
{
        struct channel *channel = &gpu->channel[i];

        channel->left_ns[(channel->first + channel->count++) % CHANNEL] = ns;
        settle(gpu, now);
}

int64_t gpu_next(const struct gpu *gpu, int64_t now)
{
        const struct channel *channel;
        int64_t end;

        if (gpu->switch_end != NEVER)
                return gpu->switch_end;
        if (gpu->current == PROGRAMS || gpu->channel[gpu->current].count == 0)
                return NEVER;
        channel = &gpu->channel[gpu->current];
        end = now + channel->left_ns[channel->first];
        return end < gpu->slice_end ? end : gpu->slice_end;
}

static void deliver(struct channel *channel, int64_t from, int64_t to)
{
        channel->delivered_ns += to - from;
        while (from < to) {
                int64_t bin_end = (from / BIN_NS + 1) * BIN_NS;
                int64_t until = bin_end < to ? bin_end : to;

                channel->bin[from / BIN_NS] += until - from;
                from = until;
        }
}

void gpu_run(struct gpu *gpu, int64_t from, int64_t to)
{
        struct channel *channel;

        if (gpu->switch_end != NEVER || gpu->current == PROGRAMS || from == to)
                return;
        channel = &gpu->channel[gpu->current];
        if (channel->count == 0)
                return;
        if (!channel->is_started) {
                channel->is_started = true;
                channel->start_ns = from;
        }
        channel->left_ns[channel->first] -= to - from;
        deliver(channel, from, to);
}

unsigned gpu_ended(struct gpu *gpu, int64_t now, int64_t *ret_start)
{
        unsigned i = gpu->current;
        struct channel *channel = &gpu->channel[i % PROGRAMS];

        if (i == PROGRAMS || gpu->switch_end != NEVER || channel->count == 0 ||
            channel->left_ns[channel->first] > 0) {
                settle(gpu, now);
                return PROGRAMS;
        }
        *ret_start = channel->start_ns;
        channel->is_started = false;
        channel->first = (channel->first + 1) % CHANNEL;
        channel->count--;
        settle(gpu, now);
        return i;
}
