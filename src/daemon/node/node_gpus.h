/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver reports about the GPUs and their processes, with what the sessions' ledgers
 * count.
 *
 * All figures are from the latest complete poll, about a second old. Borrowed pointers are valid
 * until the caller returns to the event loop. A process belongs to the session whose `slots` it
 * maps, as the kernel reports (daemon/processes/identity.h).
 */
#ifndef ALIQUOT_DAEMON_NODE_NODE_GPUS_H
#define ALIQUOT_DAEMON_NODE_NODE_GPUS_H

#include "daemon/node/node.h"
#include "daemon/node/nvml_thread.h"

/* Returns the latest complete poll. NULL: there is no driver, or it has not answered for 5 s. */
const struct nvml_look *node_gpus(const struct node *node);

/* The session of a process that the poll found on one GPU. `at`: index in look->sample.process. */
struct node_holder {
        const struct sessions_one *session; /* NULL: the process has no session */
        /* bytes that the process's slot counts; 0 if it has no session */
        uint64_t ledger_bytes;
};
struct node_holder node_holder(const struct node *node, unsigned at);

/* Returns how many bytes of a GPU a session's processes hold, as the driver reports. SAMPLE_NONE:
 * the driver does not report it. */
uint64_t node_driver_bytes(const struct node *node, const struct sessions_one *session,
                           const uint8_t uuid[16]);

/* Returns how many bytes of a GPU the ledgers of sessions on it explain. `device`: index in the
 * poll. */
uint64_t node_explained_bytes(const struct node *node, unsigned device);

/* Returns how long a session's processes used one of its GPUs since the daemon's start, as the
 * driver reports. */
uint64_t node_shown_ns(const struct node *node, const struct sessions_one *session, unsigned share);

/* A report that a session used more GPU time than it claims, or than its cap. */
struct node_compute_report {
        uint64_t since_ns; /* node_now_ns() when the report began */
        enum claims_why why;
        /* Part of the GPU's time, in tenths of a percent, in the window of the finding. */
        unsigned shown_tenths, claimed_tenths;
};

/* Fills in the present report about a share. False: there is none. */
bool node_compute_report(const struct node *node, const struct sessions_one *session,
                         unsigned share, struct node_compute_report *ret);
/* returns how many shares of sessions are reported */
unsigned node_compute_reported(const struct node *node);

const char *node_claims_why(enum claims_why why); /* returns "understated" or "above-cap" */

/* Whether the session is clamped: it gets no more memory, because its ledger does not explain the
 * memory that it holds. */
bool node_is_clamped(const struct node *node, const struct sessions_one *session);

#endif
