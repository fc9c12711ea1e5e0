/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes an executable graph: node by node, or as a whole from a graph of the same shape.
 *
 * The change is made in the executable graph's own copy. The program is dropped and compiled again
 * at the next launch, so launches that are already queued run the old one.
 */
#include "sim/entries.h"
#include "sim/graph/exec.h"
#include "sim/graph/body.h"
#include "sim/module/module.h"

#include <string.h>

static void drop_program(CUgraphExec exec)
{
        struct graph_program *program = exec->program;

        exec->program = NULL;
        if (program && add_acq_rel(&program->references, (uint32_t)-1) == 1)
                graph_program_discard(program);
}

/* Checks that an update changes neither the node's type nor its context. */
static CUresult change_check(const struct node_body *was, const struct node_body *is)
{
        if (was->type != is->type)
                return CUDA_ERROR_INVALID_VALUE;
        if (was->context && is->context && was->context != is->context)
                return CUDA_ERROR_INVALID_VALUE;
        return CUDA_SUCCESS;
}

static CUresult set_locked(CUgraphExec exec, CUgraphNode original, CUgraphNodeParams *params)
{
        struct node_body body;
        CUgraphNode node;
        CUresult rc = graph_exec_check(exec);

        if (rc != CUDA_SUCCESS)
                return rc;
        node = graph_exec_node(exec, original);
        if (!node || node->body.type != params->type)
                return CUDA_ERROR_INVALID_VALUE;
        if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
            params->type == CU_GRAPH_NODE_TYPE_MEM_FREE || params->type == CU_GRAPH_NODE_TYPE_EMPTY)
                return CUDA_ERROR_NOT_SUPPORTED;
        if (params->type == CU_GRAPH_NODE_TYPE_MEMCPY && !params->memcpy.copyCtx)
                params->memcpy.copyCtx = node->body.context;
        if (params->type == CU_GRAPH_NODE_TYPE_MEMSET && !params->memset.ctx)
                params->memset.ctx = node->body.context;
        rc = body_of(node->graph, params, &body);
        if (rc != CUDA_SUCCESS)
                return rc;
        rc = change_check(&node->body, &body);
        if (rc != CUDA_SUCCESS) {
                body_free(&body);
                return rc;
        }
        node_replace(node, &body);
        drop_program(exec);
        return CUDA_SUCCESS;
}

static CUresult set_params(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
        CUresult rc;

        pthread_mutex_lock(&graph_lock);
        rc = set_locked(exec, node, params);
        pthread_mutex_unlock(&graph_lock);
        graph_users_bury();
        return rc;
}

CUresult sim_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
        CUgraphNodeParams copy = *params;

        return set_params(exec, node, &copy);
}

CUresult sim_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_KERNEL };

        memcpy(&any.kernel, params, sizeof(*params));
        return set_params(exec, node, &any);
}

CUresult sim_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                               const CUDA_KERNEL_NODE_PARAMS *params)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_KERNEL };

        memcpy(&any.kernel, params, sizeof(*params));
        return set_params(exec, node, &any);
}

CUresult sim_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_MEMCPY3D *params, CUcontext context)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };

        any.memcpy.copyParams = *params;
        any.memcpy.copyCtx = context;
        return set_params(exec, node, &any);
}

CUresult sim_cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_MEMSET_NODE_PARAMS *params,
                                            CUcontext context)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_MEMSET };

        memcpy(&any.memset, params, sizeof(*params));
        any.memset.ctx = context;
        return set_params(exec, node, &any);
}

CUresult sim_cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                          const CUDA_HOST_NODE_PARAMS *params)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_HOST };

        memcpy(&any.host, params, sizeof(*params));
        return set_params(exec, node, &any);
}

CUresult sim_cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_GRAPH };

        any.graph.graph = child;
        return set_params(exec, node, &any);
}

CUresult sim_cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD };

        any.eventRecord.event = event;
        return set_params(exec, node, &any);
}

CUresult sim_cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT };

        any.eventWait.event = event;
        return set_params(exec, node, &any);
}

CUresult sim_cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };

        memcpy(&any.memOp, params, sizeof(*params));
        return set_params(exec, node, &any);
}

/* Returns the node of the executable graph, if it can be disabled: only kernel, copy and fill nodes
 * can be. */
static CUgraphNode switchable(CUgraphExec exec, CUgraphNode node)
{
        CUgraphNode own =
                graph_exec_check(exec) == CUDA_SUCCESS ? graph_exec_node(exec, node) : NULL;

        if (own && own->body.type != CU_GRAPH_NODE_TYPE_KERNEL &&
            own->body.type != CU_GRAPH_NODE_TYPE_MEMCPY &&
            own->body.type != CU_GRAPH_NODE_TYPE_MEMSET)
                return NULL;
        return own;
}

CUresult sim_cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int is_enabled)
{
        CUgraphNode own;

        pthread_mutex_lock(&graph_lock);
        own = switchable(exec, node);
        if (own) {
                own->is_disabled = !is_enabled;
                drop_program(exec);
        }
        pthread_mutex_unlock(&graph_lock);
        return own ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int *ret_is_enabled)
{
        CUgraphNode own = NULL;

        pthread_mutex_lock(&graph_lock);
        if (ret_is_enabled)
                own = switchable(exec, node);
        if (own)
                *ret_is_enabled = !own->is_disabled;
        pthread_mutex_unlock(&graph_lock);
        return own ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Returns the index of the node in its graph. */
static size_t position(CUgraph graph, CUgraphNode node)
{
        size_t n = 0;

        for (CUgraphNode at = graph->first; at && at != node; at = at->next)
                n++;
        return n;
}

static bool same_edges(CUgraphNode a, CUgraphNode b)
{
        if (a->edge_count != b->edge_count)
                return false;
        for (size_t i = 0; i < a->edge_count; i++)
                if (position(a->graph, a->edges[i].from) != position(b->graph, b->edges[i].from))
                        return false;
        return true;
}

static CUgraphExecUpdateResult compare_node(CUgraphNode own, CUgraphNode with);

/* Compares `with` with `own`, node by node in order of creation. Success if they have the same
 * shape. */
static CUgraphExecUpdateResult compare(CUgraph own, CUgraph with, CUgraphExecUpdateResultInfo *info)
{
        CUgraphNode a = own->first, b = with->first;

        for (; a && b; a = a->next, b = b->next) {
                CUgraphExecUpdateResult result =
                        a->body.type == CU_GRAPH_NODE_TYPE_GRAPH && b->body.type == a->body.type
                                ? compare(a->body.child, b->body.child, info)
                                : compare_node(a, b);

                if (result == CU_GRAPH_EXEC_UPDATE_SUCCESS && !same_edges(a, b)) {
                        result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
                }
                if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
                        if (!info->errorNode)
                                info->errorNode = b;
                        return result;
                }
        }
        if (a || b) {
                info->errorNode = b;
                return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        }
        return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUgraphExecUpdateResult compare_node(CUgraphNode own, CUgraphNode with)
{
        const struct node_body *a = &own->body, *b = &with->body;

        if (a->type != b->type)
                return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        if (a->context != b->context && a->context && b->context)
                return a->type == CU_GRAPH_NODE_TYPE_KERNEL
                               ? CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE
                               : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
        if (a->type == CU_GRAPH_NODE_TYPE_KERNEL &&
            a->launch->is_cooperative != b->launch->is_cooperative)
                return CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
        if (a->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || a->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
                return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
        return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUresult copy_bodies(CUgraph own, CUgraph with)
{
        CUgraphNode a = own->first, b = with->first;

        for (; a && b; a = a->next, b = b->next) {
                struct node_body body;

                if (a->body.type == CU_GRAPH_NODE_TYPE_GRAPH) {
                        CUresult rc = copy_bodies(a->body.child, b->body.child);

                        if (rc != CUDA_SUCCESS)
                                return rc;
                        continue;
                }
                if (!body_copy(&body, &b->body))
                        return CUDA_ERROR_OUT_OF_MEMORY;
                node_replace(a, &body);
        }
        return CUDA_SUCCESS;
}

static CUresult update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
        CUresult rc;

        *info = (CUgraphExecUpdateResultInfo){ .result = CU_GRAPH_EXEC_UPDATE_ERROR };
        pthread_mutex_lock(&graph_lock);
        rc = graph_exec_check(exec);
        if (rc == CUDA_SUCCESS)
                rc = graph_check(graph);
        if (rc == CUDA_SUCCESS) {
                info->result = compare(exec->graph, graph, info);
                rc = info->result == CU_GRAPH_EXEC_UPDATE_SUCCESS
                             ? copy_bodies(exec->graph, graph)
                             : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
        }
        if (rc == CUDA_SUCCESS)
                drop_program(exec);
        pthread_mutex_unlock(&graph_lock);
        graph_users_bury();
        return rc;
}

CUresult sim_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *ret_node,
                               CUgraphExecUpdateResult *ret_result)
{
        CUgraphExecUpdateResultInfo info;
        CUresult rc = update(exec, graph, &info);

        *ret_result = info.result;
        if (ret_node)
                *ret_node = info.errorNode;
        return rc;
}

CUresult sim_cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                                  CUgraphExecUpdateResultInfo *ret_info)
{
        return ret_info ? update(exec, graph, ret_info) : CUDA_ERROR_INVALID_VALUE;
}
