/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hardware queues that streams share (queues=N): a context has N *channels*, and its streams are
 * assigned to them in turn, in the order of their creation.
 *
 * A channel gives the device its commands in the order in which they were queued, whatever their
 * streams. A command that cannot begin yet, because its stream has not reached it, delays the
 * commands behind it: a false dependency. The next command may begin before it ends, unless it is
 * one that waits: for an event, a word in memory, a host function.
 */
#ifndef ALIQUOT_SIM_EXEC_CHANNEL_H
#define ALIQUOT_SIM_EXEC_CHANNEL_H

#include "common/atomic.h"
#include "sim/node/config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The channels of one context. All zero is free; every numbered command begins, or is dropped,
 * before it ends. */
struct exec_channels {
        pthread_mutex_t lock; /* guards the numbers; initialised with the context */
        unsigned streams;     /* created so far; guarded by `lock` */
        struct exec_channel {
                uint64_t next;             /* number of the next command; likewise */
                _Atomic uint64_t turn;     /* of the command that may begin */
                _Atomic uint64_t begun_ns; /* when the latest began */
        } channel[CONFIG_QUEUES];
};

/* The channel of a new stream; NULL: streams share no channels. */
struct exec_channel *channel_of_new(struct exec_channels *channels);

static inline bool channel_is_turn(const struct exec_channel *channel, uint64_t number)
{
        return load_acquire(&channel->turn) == number;
}

/* Passes on: the command at the head began then, or the worker drops it. */
static inline void channel_pass(struct exec_channel *channel, uint64_t begun_ns)
{
        if (begun_ns > load_relaxed(&channel->begun_ns))
                store_relaxed(&channel->begun_ns, begun_ns);
        store_release(&channel->turn, load_relaxed(&channel->turn) + 1);
}

#endif
