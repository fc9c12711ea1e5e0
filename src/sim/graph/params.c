/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's calls that read and change what a node does.
 *
 * Each getter locks, checks the kind of the node, and copies its parameters. Each setter makes a
 * new body and replaces the node's body by it. Graphs that are already instantiated do not change.
 */
#include "sim/context/context.h"
#include "sim/entries.h"
#include "sim/graph/body.h"

#include <string.h>

/* Takes graph_lock and checks that the node is of this kind. On an error the lock is released
 * again. */
static CUresult lock_node(CUgraphNode node, CUgraphNodeType type, const void *params)
{
        CUresult rc;

        pthread_mutex_lock(&graph_lock);
        rc = params ? node_check(node) : CUDA_ERROR_INVALID_VALUE;
        if (rc == CUDA_SUCCESS && node->body.type != type)
                rc = CUDA_ERROR_INVALID_VALUE;
        if (rc != CUDA_SUCCESS)
                pthread_mutex_unlock(&graph_lock);
        return rc;
}

static CUresult set_params(CUgraphNode node, CUgraphNodeParams *params)
{
        struct node_body body;
        CUresult rc = lock_node(node, params->type, params);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
            params->type == CU_GRAPH_NODE_TYPE_MEM_FREE || params->type == CU_GRAPH_NODE_TYPE_GRAPH)
                rc = CUDA_ERROR_NOT_SUPPORTED;
        if (rc == CUDA_SUCCESS && params->type == CU_GRAPH_NODE_TYPE_MEMCPY &&
            !params->memcpy.copyCtx)
                params->memcpy.copyCtx = node->body.context;
        if (rc == CUDA_SUCCESS && params->type == CU_GRAPH_NODE_TYPE_MEMSET && !params->memset.ctx)
                params->memset.ctx = node->body.context;
        if (rc == CUDA_SUCCESS)
                rc = body_of(node->graph, params, &body);
        if (rc == CUDA_SUCCESS)
                node_replace(node, &body);
        pthread_mutex_unlock(&graph_lock);
        return rc;
}

CUresult sim_cuGraphNodeSetParams_v2(CUgraphNode node, CUgraphNodeParams *params)
{
        CUgraphNodeParams copy;

        copy = *params;
        return set_params(node, &copy);
}

CUresult sim_cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *ret)
{
        CUDA_KERNEL_NODE_PARAMS params;
        CUresult rc = lock_node(node, CU_GRAPH_NODE_TYPE_KERNEL, ret);

        if (rc != CUDA_SUCCESS)
                return rc;
        kernel_params_of(node, &params);
        memcpy(ret, &params, sizeof(*ret));
        pthread_mutex_unlock(&graph_lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *ret)
{
        CUresult rc = lock_node(node, CU_GRAPH_NODE_TYPE_KERNEL, ret);

        if (rc != CUDA_SUCCESS)
                return rc;
        kernel_params_of(node, ret);
        pthread_mutex_unlock(&graph_lock);
        return CUDA_SUCCESS;
}

static CUresult set_kernel(CUgraphNode node, const void *params, size_t bytes)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_KERNEL };

        if (!params)
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(&any.kernel, params, bytes);
        return set_params(node, &any);
}

CUresult sim_cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
        return set_kernel(node, params, sizeof(*params));
}

CUresult sim_cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
        return set_kernel(node, params, sizeof(*params));
}

CUresult sim_cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *ret)
{
        CUresult rc = lock_node(node, CU_GRAPH_NODE_TYPE_MEMCPY, ret);

        if (rc != CUDA_SUCCESS)
                return rc;
        *ret = node->body.copy.asked;
        pthread_mutex_unlock(&graph_lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };

        any.memcpy.copyParams = *params;
        return set_params(node, &any);
}

CUresult sim_cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *ret)
{
        CUresult rc = lock_node(node, CU_GRAPH_NODE_TYPE_MEMSET, ret);

        if (rc != CUDA_SUCCESS)
                return rc;
        *ret = node->body.set.asked;
        pthread_mutex_unlock(&graph_lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_MEMSET };

        memcpy(&any.memset, params, sizeof(*params));
        return set_params(node, &any);
}

CUresult sim_cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *ret)
{
        CUresult rc = lock_node(node, CU_GRAPH_NODE_TYPE_HOST, ret);

        if (rc != CUDA_SUCCESS)
                return rc;
        *ret = (CUDA_HOST_NODE_PARAMS){ node->body.host.function, node->body.host.argument };
        pthread_mutex_unlock(&graph_lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_HOST };

        memcpy(&any.host, params, sizeof(*params));
        return set_params(node, &any);
}

CUresult sim_cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *ret_graph)
{
        CUresult rc = lock_node(node, CU_GRAPH_NODE_TYPE_GRAPH, ret_graph);

        if (rc != CUDA_SUCCESS)
                return rc;
        *ret_graph = node->body.child;
        pthread_mutex_unlock(&graph_lock);
        return CUDA_SUCCESS;
}

static CUresult get_event(CUgraphNode node, CUgraphNodeType type, CUevent *ret_event)
{
        CUresult rc = lock_node(node, type, ret_event);

        if (rc != CUDA_SUCCESS)
                return rc;
        *ret_event = node->body.event;
        pthread_mutex_unlock(&graph_lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *ret_event)
{
        return get_event(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, ret_event);
}

CUresult sim_cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *ret_event)
{
        return get_event(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, ret_event);
}

CUresult sim_cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD };

        any.eventRecord.event = event;
        return set_params(node, &any);
}

CUresult sim_cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT };

        any.eventWait.event = event;
        return set_params(node, &any);
}

CUresult sim_cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS *ret)
{
        CUresult rc = lock_node(node, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, ret);

        if (rc != CUDA_SUCCESS)
                return rc;
        *ret = (CUDA_BATCH_MEM_OP_NODE_PARAMS){ node->body.batch.context, node->body.batch.count,
                                                node->body.batch.operations,
                                                node->body.batch.flags };
        pthread_mutex_unlock(&graph_lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphBatchMemOpNodeSetParams(CUgraphNode node,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
        CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };

        memcpy(&any.memOp, params, sizeof(*params));
        return set_params(node, &any);
}

CUresult sim_cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *ret)
{
        CUresult rc = lock_node(node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, ret);

        if (rc != CUDA_SUCCESS)
                return rc;
        *ret = (CUDA_MEM_ALLOC_NODE_PARAMS){
                .poolProps = node->body.memory.properties,
                .accessDescs = node->body.memory.access,
                .accessDescCount = node->body.memory.access_count,
                .bytesize = node->body.memory.bytes,
                .dptr = node->body.memory.address,
        };
        pthread_mutex_unlock(&graph_lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *ret_address)
{
        CUresult rc = lock_node(node, CU_GRAPH_NODE_TYPE_MEM_FREE, ret_address);

        if (rc != CUDA_SUCCESS)
                return rc;
        *ret_address = node->body.memory.address;
        pthread_mutex_unlock(&graph_lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
                                           CUkernelNodeAttrValue *ret)
{
        CUresult rc;

        if ((unsigned)id >= CU_LAUNCH_ATTRIBUTE_MAX)
                return CUDA_ERROR_INVALID_VALUE;
        rc = lock_node(node, CU_GRAPH_NODE_TYPE_KERNEL, ret);
        if (rc != CUDA_SUCCESS)
                return rc;
        *ret = node->attributes[id];
        if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
                ret->cooperative = (int)node->body.launch->is_cooperative;
        pthread_mutex_unlock(&graph_lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
                                           const CUkernelNodeAttrValue *value)
{
        CUresult rc;

        if ((unsigned)id >= CU_LAUNCH_ATTRIBUTE_MAX)
                return CUDA_ERROR_INVALID_VALUE;
        rc = lock_node(node, CU_GRAPH_NODE_TYPE_KERNEL, value);
        if (rc != CUDA_SUCCESS)
                return rc;
        node->attributes[id] = *value;
        if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
                node->body.launch->is_cooperative = value->cooperative != 0;
        pthread_mutex_unlock(&graph_lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from)
{
        CUresult rc = lock_node(to, CU_GRAPH_NODE_TYPE_KERNEL, to);

        if (rc != CUDA_SUCCESS)
                return rc;
        rc = node_check(from);
        if (rc == CUDA_SUCCESS && from->body.type != CU_GRAPH_NODE_TYPE_KERNEL)
                rc = CUDA_ERROR_INVALID_VALUE;
        if (rc == CUDA_SUCCESS) {
                memcpy(to->attributes, from->attributes, sizeof(to->attributes));
                to->body.launch->is_cooperative = from->body.launch->is_cooperative;
        }
        pthread_mutex_unlock(&graph_lock);
        return rc;
}
