/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares, at the daemon's start, the sessions in the database with the sessions that have a
 * folder. No session that runs or has a folder is forgotten; see node_adopt.c.
 */
#ifndef ALIQUOT_DAEMON_NODE_NODE_ADOPT_H
#define ALIQUOT_DAEMON_NODE_NODE_ADOPT_H

#include "daemon/node/node_parts.h"

struct node_adoption {
        struct node *node;
        struct error *err;
        /* Whether a session has a folder, by session index. */
        bool has_folder[SESSIONS_MAX];
        /* by session index: the database did not have the session, or had an older state of it */
        bool is_news[SESSIONS_MAX];
        bool has_lost; /* whether the database lost anything */
};

/* Restores every session of the database or of a folder, and saves the differences to the database.
 * Negative: the state is inconsistent, and the daemon must not promise any memory. */
int node_adopt(struct node *node, struct node_adoption *ret, struct error *err);

/* Ends sessions that are only in the database, on GPUs of which more memory is promised than
 * allowed. Does nothing unless the database lost something: then the removals of these sessions are
 * probably among what it lost. */
void node_adopt_room(struct node *node, const struct node_adoption *adoption);

#endif
