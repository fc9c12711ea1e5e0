/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hardware queues that streams share (setting queues=N): a context has N *channels*, and each new
 * stream is assigned to the next channel in turn.
 *
 * A channel starts the commands of all its streams in the order in which the program queued them. A
 * command that cannot start yet, because its stream still runs an earlier command, therefore delays
 * every later command of the channel: a false dependency. The next command may start before the
 * previous one ends, unless the previous one waits for an event, a word in memory or a host
 * function.
 */
#ifndef ALIQUOT_SIM_EXEC_CHANNEL_H
#define ALIQUOT_SIM_EXEC_CHANNEL_H

#include "common/atomic.h"
#include "sim/node/config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The channels of one context. An all-zero structure is ready for use, except for its lock. Each
 * numbered command is started or dropped before the context ends. */
struct exec_channels {
        pthread_mutex_t lock; /* guards `streams` and each `next`; initialised with the context */
        unsigned streams;     /* number of streams created so far; guarded by `lock` */
        struct exec_channel {
                uint64_t next;         /* number for the next queued command; guarded by `lock` */
                _Atomic uint64_t turn; /* number of the command that may start now */
                _Atomic uint64_t begun_ns; /* time at which the latest command started */
        } channel[CONFIG_QUEUES];
};

/* Returns the channel for a new stream, or NULL when streams share no channels. */
struct exec_channel *channel_of_new(struct exec_channels *channels);

static inline bool channel_is_turn(const struct exec_channel *channel, uint64_t number)
{
        return load_acquire(&channel->turn) == number;
}

/* Lets the channel's next command start. The worker calls it when it has started the command whose
 * turn it was, at `begun_ns`, or when it drops that command. */
static inline void channel_pass(struct exec_channel *channel, uint64_t begun_ns)
{
        if (begun_ns > load_relaxed(&channel->begun_ns))
                store_relaxed(&channel->begun_ns, begun_ns);
        store_release(&channel->turn, load_relaxed(&channel->turn) + 1);
}

#endif
