/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a program says of a node to its body, and back. One function a kind each way.
 *
 * Making a body allocates what it owns; body_free() ends it. What is given back to the program
 * points into the node and lives as long as the node is unchanged. graph_lock is held throughout.
 */
#ifndef ALIQUOT_SIM_GRAPH_NODE_H
#define ALIQUOT_SIM_GRAPH_NODE_H

#include "sim/graph/graph.h"

CUresult body_of_kernel(const CUDA_KERNEL_NODE_PARAMS *params, struct node_body *ret);
CUresult body_of_memcpy(const CUDA_MEMCPY3D *box, CUcontext context, struct node_body *ret);
CUresult body_of_memset(const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context,
                        struct node_body *ret);
CUresult body_of_host(const CUDA_HOST_NODE_PARAMS *params, struct node_body *ret);
CUresult body_of_event(CUgraphNodeType type, CUevent event, struct node_body *ret);
CUresult body_of_batch(const CUDA_BATCH_MEM_OP_NODE_PARAMS *params, struct node_body *ret);
CUresult body_of_alloc(CUDA_MEM_ALLOC_NODE_PARAMS *params, struct node_body *ret);
CUresult body_of_free(CUgraph graph, CUdeviceptr address, struct node_body *ret);

/* Any kind. `graph` is the one it will be in. Params of an alloc node get their address. */
CUresult body_of(CUgraph graph, CUgraphNodeParams *params, struct node_body *ret);

void kernel_params_of(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *ret);

/* Replaces what the node does by `take_body`, of the same kind. The node's context stays unless the
 * body names one. */
void node_replace(CUgraphNode node, struct node_body *take_body);

#endif
