/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver reports of the GPUs and their processes, beside what the sessions' ledgers say.
 *
 * All of it is from the latest complete poll, about a second old; what is borrowed is valid until
 * the event loop goes on. A process belongs to the session whose `slots` it maps, by the kernel's
 * word (daemon/processes/identity.h).
 */
#ifndef ALIQUOT_DAEMON_NODE_NODE_GPUS_H
#define ALIQUOT_DAEMON_NODE_NODE_GPUS_H

#include "daemon/node/node.h"
#include "daemon/node/nvml_thread.h"

/* The latest poll. NULL: the driver has not answered for some seconds, or there is none. */
const struct nvml_look *node_gpus(const struct node *node);

/* A process of the poll on one GPU, by its index in look->sample.process. */
struct node_holder {
        const struct sessions_one *session; /* NULL: it has no session */
        uint64_t ledger_bytes;              /* by its slot; only for a session's process */
};
struct node_holder node_holder(const struct node *node, unsigned at);

/* How much of a GPU a session's processes hold by the driver; SAMPLE_NONE: the driver does not
 * say. */
uint64_t node_driver_bytes(const struct node *node, const struct sessions_one *session,
                           const uint8_t uuid[16]);

/* How much of a GPU the ledgers of its users explain, by the GPU's index in the poll. */
uint64_t node_explained_bytes(const struct node *node, unsigned device);

/* How long a session's processes used one of its GPUs since the daemon began, by the driver. */
uint64_t node_shown_ns(const struct node *node, const struct sessions_one *session, unsigned share);

/* The report that a session used more of a GPU than it claims. */
struct node_compute_report {
        uint64_t since_ns; /* node_now_ns() */
        enum claims_why why;
        /* In tenths of a percent, for the second of the finding. */
        unsigned shown_tenths, claimed_tenths;
};

/* Fills in the report of a share; false: there is none. */
bool node_compute_report(const struct node *node, const struct sessions_one *session,
                         unsigned share, struct node_compute_report *ret);
unsigned node_compute_reported(const struct node *node); /* how many, by session and GPU */

const char *node_claims_why(enum claims_why why); /* "understated", "above-cap" */

/* Whether the session is clamped: it gets no more memory, because its ledger does not explain what
 * it holds. */
bool node_is_clamped(const struct node *node, const struct sessions_one *session);

#endif
