/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the files of the node: node.c, life.c, grant.c, share.c, oracle.c.
 */
#ifndef ALIQUOT_SIM_NODE_NODE_INTERNAL_H
#define ALIQUOT_SIM_NODE_NODE_INTERNAL_H

#include "sim/node/node.h"

/* As node_row_is_alive(), with the state folder's descriptor, or -1 to open it. */
bool life_is_alive(struct sim_node *node, unsigned row, int folder);

/* Sets the state folder: that of ALIQUOT_SIM, or one that a reader chose before it opened the
 * node. */
void life_state_dir_set(const char *state_dir);
const char *life_state_dir(void);

/* Allocates memory for a part of the mapped node that is still a hole in its file. 0, or a negative
 * errno. */
int node_reserve(const struct sim_node *node, const void *part, size_t bytes);

/* Whether any process lives in the state folder, whatever its node file contains. */
bool life_is_inhabited(int folder);

/* Advances the columns of dead rows, all or those of one tag (>= 0). The device's lock is held. */
void life_settle_device(struct sim_node *node, unsigned device, int tag);

/* The locks are held that node.h asks for. */
void column_drop_from_tag(struct sim_node *node, unsigned device, unsigned row);
void column_drop_from_device(struct sim_node *node, unsigned device, unsigned row);

#endif
