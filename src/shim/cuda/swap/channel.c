/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The channel of a context: a stream and STATE_MOVES events, with which the mover copies the
 * segments of the context's blocks (move.h).
 *
 * The allocation of a context's first block creates the channel, because the context is current
 * then, and the mover has no context of its own. If the driver refuses, or the table is full, there
 * is no channel, and the caller allocates plain memory. The driver destroys the stream and the
 * events with the context. swap_lock guards the table, and is not held across driver calls.
 */
#include <stddef.h>

#include "shim/cuda/driver/real.h"
#include "shim/cuda/stream/ask.h"
#include "shim/cuda/swap/move.h"

static struct swap_channel *find_channel(uint32_t owner)
{
        struct swap_channel *channel;

        lock_take(&swap_state.swap_lock);
        channel = table_find(&swap_state.swap_channels, owner);
        lock_drop(&swap_state.swap_lock);
        return channel;
}

/* Destroys the stream and events of a channel that is not in the table. */
static void close_channel(struct swap_channel *channel)
{
        for (unsigned i = 0; i < STATE_MOVES; i++) {
                if (channel->event[i])
                        real.cuEventDestroy_v2(channel->event[i]);
        }
        if (channel->stream)
                real.cuStreamDestroy_v2(channel->stream);
}

/* Creates the stream and events in the current context. The stream and the default stream do not
 * wait for each other. */
static bool open_channel(struct swap_channel *channel)
{
        struct relaxed was = relax();
        CUresult rc = real.cuCtxGetCurrent(&channel->context);

        if (rc == CUDA_SUCCESS)
                rc = real.cuStreamCreate(&channel->stream, CU_STREAM_NON_BLOCKING);
        for (unsigned i = 0; i < STATE_MOVES && rc == CUDA_SUCCESS; i++)
                rc = real.cuEventCreate(&channel->event[i],
                                        CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC);
        if (rc != CUDA_SUCCESS)
                close_channel(channel);
        unrelax(was);
        return rc == CUDA_SUCCESS;
}

/* Puts a new channel into the table and returns it. If another thread has put one there first,
 * returns that one. NULL: out of memory. */
static struct swap_channel *put_channel(uint32_t owner, const struct swap_channel *made)
{
        struct swap_channel *channel, *found;

        lock_take(&swap_state.swap_lock);
        found = table_find(&swap_state.swap_channels, owner);
        channel = found ? NULL : table_make(&swap_state.swap_channels, sizeof(*channel));
        if (channel) {
                struct table_link link = channel->link;

                *channel = *made;
                channel->link = link;
                channel->link.key = owner;
                table_put(&swap_state.swap_channels, channel);
        }
        lock_drop(&swap_state.swap_lock);
        return channel ? channel : found;
}

struct swap_channel *swap_channel(struct place place)
{
        struct swap_channel *channel = place.owner ? find_channel(place.owner) : NULL;
        struct swap_channel made = { .context = NULL };

        if (channel || !place.owner || !open_channel(&made))
                return channel;
        channel = put_channel(place.owner, &made);
        if (!channel || channel->stream != made.stream)
                close_channel(&made);
        return channel;
}

void swap_channel_gone(uint32_t owner)
{
        struct swap_channel *channel;

        lock_take(&swap_state.swap_lock);
        channel = table_find(&swap_state.swap_channels, owner);
        if (channel) {
                table_remove(&swap_state.swap_channels, channel);
                table_free(&swap_state.swap_channels, channel);
        }
        lock_drop(&swap_state.swap_lock);
}
