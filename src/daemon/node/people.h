/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who the processes are that the driver lists, from look to look, within a bounded time.
 *
 * They are read by others (readers.h), for which a look waits for PEOPLE_LOOK_NS at most; what is
 * not read by then is known at a later look. Until all of a process is read, its identity says so
 * (is_partial).
 *
 * For the thread that asks NVML alone.
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
