/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies the processes that the driver lists, from poll to poll, within bounded time.
 *
 * readers.h does the reading; a poll waits for it for PEOPLE_LOOK_NS at most. A process that is not
 * read by then is identified in a later poll. Until all of a process is read, its identity is
 * marked is_partial.
 *
 * For the thread that calls NVML only.
 */
#ifndef ALIQUOT_DAEMON_NODE_PEOPLE_H
#define ALIQUOT_DAEMON_NODE_PEOPLE_H

#include "daemon/node/nvml_thread.h"

#define PEOPLE_LOOK_NS UINT64_C(100000000) /* CLOCK_MONOTONIC */

struct held;
struct readers;

/* The processes on the cards; all zeroes at first. */
struct people {
        unsigned count;
        struct held *held; /* in the order of their pids */
        uint32_t from;     /* the pid that got no ticket at the look before is asked for first */
        struct readers *readers;
        unsigned asks; /* looks so far, of any extent */
};

/* Fills in look->who by its sample. -ENOMEM. */
int people_find(struct people *people, const struct nvml_ask *ask, unsigned looks,
                struct nvml_look *look);
void people_release(struct people *people);

#endif
