/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's calls that add a node to a graph.
 */
#include "sim/entries.h"
#include "sim/graph/body.h"

#include <stdlib.h>
#include <string.h>

/* Where a new node is added: the graph, and the nodes on which the new node depends. */
struct insertion {
        CUgraphNode *ret_node;
        CUgraph graph;
        const CUgraphNode *before;
        const CUgraphEdgeData *data;
        size_t count;
};

static CUresult insertion_check(const struct insertion *into)
{
        if (!into->ret_node || graph_check(into->graph) != CUDA_SUCCESS ||
            (into->count && !into->before))
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < into->count; i++) {
                if (node_check(into->before[i]) != CUDA_SUCCESS ||
                    into->before[i]->graph != into->graph)
                        return CUDA_ERROR_INVALID_VALUE;
                for (size_t j = 0; j < i; j++)
                        if (into->before[i] == into->before[j] && !into->data)
                                return CUDA_ERROR_INVALID_VALUE;
        }
        return CUDA_SUCCESS;
}

/* Adds a node with a copy of the body, and frees the given body. The caller holds graph_lock. */
static CUresult put_body(const struct insertion *into, struct node_body *body)
{
        struct graph_edge *edges = calloc(into->count + 1, sizeof(*edges));
        CUgraphNode node = NULL;

        for (size_t i = 0; edges && i < into->count; i++) {
                edges[i].from = into->before[i];
                if (into->data)
                        edges[i].data = into->data[i];
        }
        if (edges)
                node = graph_add(into->graph, edges, into->count, body);
        free(edges);
        body_free(body);
        if (!node)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *into->ret_node = node;
        return CUDA_SUCCESS;
}

static CUresult add_node(const struct insertion *into, CUgraphNodeParams *params)
{
        struct node_body body;
        CUresult rc;

        if (!params)
                return CUDA_ERROR_INVALID_VALUE;
        pthread_mutex_lock(&graph_lock);
        rc = insertion_check(into);
        if (rc == CUDA_SUCCESS && params->type == CU_GRAPH_NODE_TYPE_GRAPH &&
            graph_check(params->graph.graph) == CUDA_SUCCESS &&
            graph_has_memory(params->graph.graph))
                rc = CUDA_ERROR_NOT_SUPPORTED;
        if (rc == CUDA_SUCCESS)
                rc = body_of(into->graph, params, &body);
        if (rc == CUDA_SUCCESS)
                rc = put_body(into, &body);
        pthread_mutex_unlock(&graph_lock);
        graph_users_bury();
        return rc;
}

/* Also used for cuGraphAddNode_v3. The contexts that its node parameters may give are ignored: as
 * with earlier forms, the current context is used. */
CUresult sim_cuGraphAddNode_v2(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *before,
                               const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *params)
{
        return add_node(&(struct insertion){ ret_node, graph, before, data, count }, params);
}

CUresult sim_cuGraphAddKernelNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *before,
                                  size_t count, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_KERNEL };

        memcpy(&any.kernel, params, sizeof(*params));
        return add_node(&(struct insertion){ ret_node, graph, before, NULL, count }, &any);
}

CUresult sim_cuGraphAddKernelNode_v2(CUgraphNode *ret_node, CUgraph graph,
                                     const CUgraphNode *before, size_t count,
                                     const CUDA_KERNEL_NODE_PARAMS *params)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_KERNEL };

        memcpy(&any.kernel, params, sizeof(*params));
        return add_node(&(struct insertion){ ret_node, graph, before, NULL, count }, &any);
}

CUresult sim_cuGraphAddMemcpyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *before,
                                  size_t count, const CUDA_MEMCPY3D *params, CUcontext context)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };

        any.memcpy.copyParams = *params;
        any.memcpy.copyCtx = context;
        return add_node(&(struct insertion){ ret_node, graph, before, NULL, count }, &any);
}

CUresult sim_cuGraphAddMemsetNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *before,
                                  size_t count, const CUDA_MEMSET_NODE_PARAMS *params,
                                  CUcontext context)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_MEMSET };

        memcpy(&any.memset, params, sizeof(*params));
        any.memset.ctx = context;
        return add_node(&(struct insertion){ ret_node, graph, before, NULL, count }, &any);
}

CUresult sim_cuGraphAddHostNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *before,
                                size_t count, const CUDA_HOST_NODE_PARAMS *params)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_HOST };

        memcpy(&any.host, params, sizeof(*params));
        return add_node(&(struct insertion){ ret_node, graph, before, NULL, count }, &any);
}

CUresult sim_cuGraphAddChildGraphNode(CUgraphNode *ret_node, CUgraph graph,
                                      const CUgraphNode *before, size_t count, CUgraph child)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_GRAPH };

        any.graph.graph = child;
        return add_node(&(struct insertion){ ret_node, graph, before, NULL, count }, &any);
}

CUresult sim_cuGraphAddEmptyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *before,
                                 size_t count)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_EMPTY };

        return add_node(&(struct insertion){ ret_node, graph, before, NULL, count }, &any);
}

CUresult sim_cuGraphAddEventRecordNode(CUgraphNode *ret_node, CUgraph graph,
                                       const CUgraphNode *before, size_t count, CUevent event)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD };

        any.eventRecord.event = event;
        return add_node(&(struct insertion){ ret_node, graph, before, NULL, count }, &any);
}

CUresult sim_cuGraphAddEventWaitNode(CUgraphNode *ret_node, CUgraph graph,
                                     const CUgraphNode *before, size_t count, CUevent event)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT };

        any.eventWait.event = event;
        return add_node(&(struct insertion){ ret_node, graph, before, NULL, count }, &any);
}

CUresult sim_cuGraphAddBatchMemOpNode(CUgraphNode *ret_node, CUgraph graph,
                                      const CUgraphNode *before, size_t count,
                                      const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };

        memcpy(&any.memOp, params, sizeof(*params));
        return add_node(&(struct insertion){ ret_node, graph, before, NULL, count }, &any);
}

CUresult sim_cuGraphAddMemAllocNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *before,
                                    size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
        CUresult rc;

        memcpy(&any.alloc, params, sizeof(*params));
        rc = add_node(&(struct insertion){ ret_node, graph, before, NULL, count }, &any);
        if (rc == CUDA_SUCCESS)
                params->dptr = any.alloc.dptr;
        return rc;
}

CUresult sim_cuGraphAddMemFreeNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *before,
                                   size_t count, CUdeviceptr address)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE };

        any.free.dptr = address;
        return add_node(&(struct insertion){ ret_node, graph, before, NULL, count }, &any);
}
