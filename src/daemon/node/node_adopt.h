/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's beginning: the sessions of the database, compared with those that have a folder. What
 * runs and what is there is never forgotten; see node_adopt.c.
 */
#ifndef ALIQUOT_DAEMON_NODE_NODE_ADOPT_H
#define ALIQUOT_DAEMON_NODE_NODE_ADOPT_H

#include "daemon/node/node_parts.h"

struct node_adoption {
        struct node *node;
        struct error *err;
        /* Whether a session has a folder, by the session's place. */
        bool has_folder[SESSIONS_MOST];
        bool is_news[SESSIONS_MOST]; /* the database did not know, or knew it as it was before */
        bool has_lost;               /* the database lost something */
};

/* Restores every session that the database or a folder knows, and saves what is news to it.
 * Negative: what is there makes no sense, and the daemon must not promise anything. */
int node_adopt(struct node *node, struct node_adoption *ret, struct error *err);

/* Ends sessions that are in the database alone where it lost something and a GPU is promised above
 * its bound: what was lost is that they were removed. */
void node_adopt_room(struct node *node, const struct node_adoption *adoption);

#endif
