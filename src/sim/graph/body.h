/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a program says of a node to its body, and back.
 *
 * Making a body allocates what it owns; body_free() ends it. What is given back to the program
 * points into the node and lives as long as the node is unchanged. graph_lock is held throughout.
 */
#ifndef ALIQUOT_SIM_GRAPH_BODY_H
#define ALIQUOT_SIM_GRAPH_BODY_H

#include "sim/graph/graph.h"

/* Any kind. `graph` is the one it will be in. Params of an alloc node get their address. */
CUresult body_of(CUgraph graph, CUgraphNodeParams *params, struct node_body *ret);

void kernel_params_of(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *ret);

/* Replaces what the node does by `take_body`, of the same kind. The node's context stays unless the
 * body names one. */
void node_replace(CUgraphNode node, struct node_body *take_body);

#endif
