/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions shared by the files of the node: node.c, life.c, grant.c, share.c, oracle.c.
 */
#ifndef ALIQUOT_SIM_NODE_NODE_INTERNAL_H
#define ALIQUOT_SIM_NODE_NODE_INTERNAL_H

#include "sim/node/node.h"

/* Like node_row_is_alive(). `folder`: a descriptor of the state folder, or -1 to open it. */
bool life_is_alive(struct sim_node *node, unsigned row, int folder);

/* Sets and returns the state folder: the one that ALIQUOT_SIM configures, or another one that a
 * reader set before it opened the node. */
void life_state_dir_set(const char *state_dir);
const char *life_state_dir(void);

/* Allocates memory for a part of the mapped node that is still a hole in the node's file. Returns 0
 * or a negative errno. */
int node_reserve(const struct sim_node *node, const void *part, size_t bytes);

/* Returns whether any process lives in the state folder, whatever the folder's node file
 * contains. */
bool life_is_inhabited(int folder);

/* Updates the columns of dead rows: all, or those of one tag (>= 0). The caller holds the device's
 * lock. */
void life_settle_device(struct sim_node *node, unsigned device, int tag);

/* Remove a row's column from the sums of its tag or of its device. The caller holds the locks that
 * node.h demands. */
void column_drop_from_tag(struct sim_node *node, unsigned device, unsigned row);
void column_drop_from_device(struct sim_node *node, unsigned device, unsigned row);

#endif
