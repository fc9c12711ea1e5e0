/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hardware queues that streams share (queues=N): a context has N *channels*, and its streams get
 * one after the other, in the order in which they are made.
 *
 * A channel gives the device its commands in the order in which they were queued, whatever their
 * streams. A command that cannot begin yet, since its stream has not got to it, holds up what is
 * behind it: a false dependency. It need not be over for the next one to begin, unless it is one
 * that waits: for an event, a word in memory, a host function.
 */
#ifndef ALIQUOT_SIM_EXEC_CHANNEL_H
#define ALIQUOT_SIM_EXEC_CHANNEL_H

#include "common/atomic.h"
#include "sim/node/config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Of one context. All zero is free; what was numbered is begun, or dropped, before it ends. */
struct exec_channels {
        pthread_mutex_t lock; /* numbers; whoever makes the context initialises it */
        unsigned streams;     /* that were made; guarded by it */
        struct exec_channel {
                uint64_t next;             /* number of the next command; likewise */
                _Atomic uint64_t turn;     /* of the command that may begin */
                _Atomic uint64_t begun_ns; /* when the latest began */
        } channel[CONFIG_QUEUES];
};

/* The channel of a new stream; NULL: streams share none. */
struct exec_channel *channel_of_new(struct exec_channels *channels);

static inline bool channel_is_turn(const struct exec_channel *channel, uint64_t number)
{
        return load_acquire(&channel->turn) == number;
}

/* The command whose turn it is began then; or the worker drops it. */
static inline void channel_pass(struct exec_channel *channel, uint64_t begun_ns)
{
        if (begun_ns > load_relaxed(&channel->begun_ns))
                store_relaxed(&channel->begun_ns, begun_ns);
        store_release(&channel->turn, load_relaxed(&channel->turn) + 1);
}

#endif
