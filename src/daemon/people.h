/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who the processes are that the driver lists, from look to look, within a bounded time.
 *
 * A process can have more than 65,000 mappings, and many processes can have them. So a look reads
 * mappings for PEOPLE_LOOK_NS of processor time at most, PEOPLE_SLICE_NS of one process; the next
 * look goes on where this one stopped, and until all are read the identity says so (is_partial).
 * Whoever is new comes first: nobody's mappings keep another from being known.
 *
 * For the thread that asks NVML alone.
 */
#ifndef ALIQUOT_DAEMON_PEOPLE_H
#define ALIQUOT_DAEMON_PEOPLE_H

#include "daemon/nvml_thread.h"

#define PEOPLE_LOOK_NS UINT64_C(100000000)
#define PEOPLE_SLICE_NS UINT64_C(5000000)

struct held;

/* Zero to begin with. */
struct people {
        unsigned count;
        struct held *held; /* in the order of their pids */
        unsigned from;     /* whose mappings are read on first */
        unsigned readings; /* that are kept open from look to look */
        uint64_t until_ns; /* clock_thread_ns() at which this look has to end */
};

/* Fills in look->who by its sample. -ENOMEM. */
int people_find(struct people *people, const struct nvml_ask *ask, unsigned looks,
                struct nvml_look *look);
void people_release(struct people *people);

#endif
