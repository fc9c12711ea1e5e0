/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's start: compares the sessions of the database with the sessions that have a folder. No
 * session that runs or has a folder is forgotten; see node_adopt.c.
 */
#ifndef ALIQUOT_DAEMON_NODE_NODE_ADOPT_H
#define ALIQUOT_DAEMON_NODE_NODE_ADOPT_H

#include "daemon/node/node_parts.h"

struct node_adoption {
        struct node *node;
        struct error *err;
        /* Whether a session has a folder, by the session's place. */
        bool has_folder[SESSIONS_MAX];
        bool is_news[SESSIONS_MAX]; /* the database did not have it, or had an older state of it */
        bool has_lost;              /* the database lost something */
};

/* Restores every session of the database or of a folder, and saves the differences to the database.
 * Negative: the state is inconsistent, and the daemon must not promise any memory. */
int node_adopt(struct node *node, struct node_adoption *ret, struct error *err);

/* Ends sessions that only the database has, if the database lost something and a GPU is promised
 * above its bound: the lost entries are then their removals. */
void node_adopt_room(struct node *node, const struct node_adoption *adoption);

#endif
