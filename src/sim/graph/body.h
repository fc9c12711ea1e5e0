/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates the parameters of a node into the node's body (what it does), and back.
 *
 * A new body owns what it points to; body_free() frees that. What the program gets back points into
 * the node and is valid as long as the node is unchanged. The caller holds graph_lock during all of
 * these functions.
 */
#ifndef ALIQUOT_SIM_GRAPH_BODY_H
#define ALIQUOT_SIM_GRAPH_BODY_H

#include "sim/graph/graph.h"

/* Makes a body for a node of any kind. `graph` is the graph in which the node will be. For an alloc
 * node, also stores the address in `params`. */
CUresult body_of(CUgraph graph, CUgraphNodeParams *params, struct node_body *ret);

void kernel_params_of(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *ret);

/* Replaces the node's body by `take_body`, which is of the same kind. The node keeps its context
 * unless the new body has one. */
void node_replace(CUgraphNode node, struct node_body *take_body);

#endif
