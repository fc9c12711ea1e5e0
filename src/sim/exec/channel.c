/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the channel of a new stream. See channel.h.
 */
#include "sim/exec/channel.h"

#include <stdlib.h>

#include "common/environment.h"

/* Returns the number of channels of a context: CUDA_DEVICE_MAX_CONNECTIONS if it is within the
 * hardware's range, otherwise the configured number. */
static unsigned channel_count(void)
{
        const char *text = environment_get("CUDA_DEVICE_MAX_CONNECTIONS");
        unsigned configured = (unsigned)config_get()->queues;
        unsigned long asked = text ? strtoul(text, NULL, 10) : 0;

        if (!configured || asked < 1 || asked > CONFIG_QUEUES)
                return configured;
        return (unsigned)asked;
}

struct exec_channel *channel_of_new(struct exec_channels *channels)
{
        unsigned count = channel_count();
        struct exec_channel *channel;

        if (!count)
                return NULL;
        pthread_mutex_lock(&channels->lock);
        channel = &channels->channel[channels->streams++ % count];
        pthread_mutex_unlock(&channels->lock);
        return channel;
}
