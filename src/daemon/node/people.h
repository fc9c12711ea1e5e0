/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies the processes that the driver lists, from poll to poll, within bounded time.
 *
 * The processes are read through readers.h; a poll waits at most PEOPLE_LOOK_NS for that. A process
 * that is not read by then is identified in a later poll. Until everything about a process is read,
 * its identity is marked is_partial.
 *
 * Only the thread that calls NVML uses this.
 */
#ifndef ALIQUOT_DAEMON_NODE_PEOPLE_H
#define ALIQUOT_DAEMON_NODE_PEOPLE_H

#include "daemon/node/nvml_thread.h"

#define PEOPLE_LOOK_NS UINT64_C(100000000) /* maximum wait of one poll, in CLOCK_MONOTONIC */

struct held;
struct readers;

/* The processes on the cards. Set it to zeroes before the first call. */
struct people {
        unsigned count;
        struct held *held; /* sorted by pid */
        /* pid of the process that is requested first in the next poll, because the last poll had no
         * ticket for it */
        uint32_t from;
        struct readers *readers;
        unsigned asks; /* polls so far, complete or not */
};

/* Fills in look->who for the processes of look->sample. `looks`: number of complete polls so far.
 * -ENOMEM: out of memory. */
int people_find(struct people *people, const struct nvml_ask *ask, unsigned looks,
                struct nvml_look *look);
void people_release(struct people *people);

#endif
