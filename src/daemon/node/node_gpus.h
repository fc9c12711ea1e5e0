/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver says of the GPUs and of who is on them, beside what the sessions' ledgers say.
 *
 * All of it is of the latest whole look, about a second old; what is borrowed is valid until the
 * event loop goes on. Whose a process is, is the kernel's word (daemon/processes/identity.h): it
 * has the session's `slots` mapped.
 */
#ifndef ALIQUOT_DAEMON_NODE_NODE_GPUS_H
#define ALIQUOT_DAEMON_NODE_NODE_GPUS_H

#include "daemon/node/node.h"
#include "daemon/node/nvml_thread.h"

/* NULL: the driver has not answered for some seconds, or there is none. */
const struct nvml_look *node_gpus(const struct node *node);

/* A process of the look on one GPU, by its place in look->sample.process. */
struct node_holder {
        const struct sessions_one *session; /* NULL: of none */
        uint64_t ledger_bytes;              /* what its slot says; of a session's only */
};
struct node_holder node_holder(const struct node *node, unsigned at);

/* What the driver says that a session's processes hold of a GPU; SAMPLE_NONE: it does not say. */
uint64_t node_driver_bytes(const struct node *node, const struct sessions_one *session,
                           const uint8_t uuid[16]);

/* What the ledgers of those who are on it explain of a GPU, by its place in the look. */
uint64_t node_explained_bytes(const struct node *node, unsigned device);

/* For how long a session's processes used one of its GPUs since the daemon began, by the driver. */
uint64_t node_shown_ns(const struct node *node, const struct sessions_one *session, unsigned share);

/* The report that a session was seen to use more of a GPU than it says. */
struct node_compute_report {
        uint64_t since_ns; /* node_now_ns() */
        enum claims_why why;
        /* Of a percent, of the second in which it was found. */
        unsigned shown_tenths, claimed_tenths;
};

/* Fills in the report of a share; false: it is not reported. */
bool node_compute_report(const struct node *node, const struct sessions_one *session,
                         unsigned share, struct node_compute_report *ret);
unsigned node_compute_reported(const struct node *node); /* how many, by session and GPU */

const char *node_claims_why(enum claims_why why); /* "understated", "above-cap" */

/* It gets no more memory, as it holds some that its ledger does not explain. */
bool node_is_clamped(const struct node *node, const struct sessions_one *session);

#endif
