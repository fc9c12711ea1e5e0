/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates the parameters of a node into its body, and back.
 *
 * Making a body allocates what it owns; body_free() frees it. What the program gets back points
 * into the node and is valid as long as the node is unchanged. graph_lock is held throughout.
 */
#ifndef ALIQUOT_SIM_GRAPH_BODY_H
#define ALIQUOT_SIM_GRAPH_BODY_H

#include "sim/graph/graph.h"

/* For any kind. `graph` is the graph that it will be in. The params of an alloc node get their
 * address. */
CUresult body_of(CUgraph graph, CUgraphNodeParams *params, struct node_body *ret);

void kernel_params_of(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *ret);

/* Replaces the node's body by `take_body`, of the same kind. The node's context stays unless the
 * body names one. */
void node_replace(CUgraphNode node, struct node_body *take_body);

#endif
