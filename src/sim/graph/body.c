/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes bodies of nodes from the parameters that programs pass. See body.h.
 */
#include "sim/graph/body.h"

#include "sim/context/context.h"
#include "sim/context/device.h"
#include "sim/exec/copy.h"
#include "sim/exec/event.h"
#include "sim/exec/launch.h"
#include "sim/memory/memory.h"
#include "sim/module/module.h"

#include <stdlib.h>
#include <string.h>

/* Returns the context in which a node runs: the given one, or else the current one. */
static CUresult context_of(CUcontext named, CUcontext *ret_context)
{
        CUresult rc = named ? context_check(named) : context_require(ret_context);

        if (named && rc == CUDA_SUCCESS)
                *ret_context = named;
        return rc;
}

static CUresult of_kernel(const CUDA_KERNEL_NODE_PARAMS *params, struct node_body *ret)
{
        struct launch_params given = { params->kernelParams, params->extra };
        struct op_launch shape = {
                .grid = { params->gridDimX, params->gridDimY, params->gridDimZ },
                .block = { params->blockDimX, params->blockDimY, params->blockDimZ },
                .shared_bytes = params->sharedMemBytes,
        };
        struct node_body body = { .type = CU_GRAPH_NODE_TYPE_KERNEL };
        CUfunction handle = params->func ? params->func : (CUfunction)params->kern;
        CUresult rc = CUDA_SUCCESS;

        if (params->func && params->func->magic == FUNCTION_MAGIC)
                body.context = params->func->context;
        else
                rc = context_of(params->ctx, &body.context);
        if (rc == CUDA_SUCCESS && !body.context)
                rc = CUDA_ERROR_INVALID_CONTEXT;
        if (rc == CUDA_SUCCESS)
                rc = function_of(handle, body.context, &shape.function);
        if (rc == CUDA_SUCCESS)
                rc = launch_check(shape.function, &shape);
        if (rc != CUDA_SUCCESS)
                return rc;
        body.launch = malloc(sizeof(shape) + shape.function->param_bytes);
        if (!body.launch)
                return CUDA_ERROR_OUT_OF_MEMORY;
        rc = launch_fill(body.launch, &shape, &given);
        if (rc != CUDA_SUCCESS) {
                free(body.launch);
                return rc;
        }
        *ret = body;
        return CUDA_SUCCESS;
}

static CUresult of_memcpy(const CUDA_MEMCPY3D *box, CUcontext context, struct node_body *ret)
{
        struct node_body body = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };
        struct copy_request request = { .box = *box };
        CUresult rc = context_of(context, &body.context);

        if (rc == CUDA_SUCCESS)
                rc = copy_plan(&request, body.context, &body.copy.copy);
        if (rc != CUDA_SUCCESS)
                return rc;
        body.copy.asked = *box;
        *ret = body;
        return CUDA_SUCCESS;
}

static CUresult of_memset(const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context,
                          struct node_body *ret)
{
        struct node_body body = { .type = CU_GRAPH_NODE_TYPE_MEMSET };
        unsigned size = params->elementSize;
        CUresult rc = context_of(context, &body.context);

        if (rc != CUDA_SUCCESS)
                return rc;
        if ((size != 1 && size != 2 && size != 4) || !params->width || !params->height ||
            params->dst % size || (params->height > 1 && params->pitch < params->width * size))
                return CUDA_ERROR_INVALID_VALUE;
        body.set.set = (struct op_set){ params->dst,   params->pitch, params->width, params->height,
                                        params->value, size,          body.context };
        body.set.asked = *params;
        *ret = body;
        return CUDA_SUCCESS;
}

static CUresult of_host(const CUDA_HOST_NODE_PARAMS *params, struct node_body *ret)
{
        struct node_body body = { .type = CU_GRAPH_NODE_TYPE_HOST };

        if (!params->fn)
                return CUDA_ERROR_INVALID_VALUE;
        body.host = (struct op_host){ params->fn, params->userData };
        *ret = body;
        return CUDA_SUCCESS;
}

static CUresult of_event(CUgraphNodeType type, CUevent event, struct node_body *ret)
{
        CUresult rc = event_check(event);

        if (rc != CUDA_SUCCESS)
                return rc;
        event_retain(event);
        *ret = (struct node_body){ .type = type, .context = event->context, .event = event };
        return CUDA_SUCCESS;
}

static CUresult of_batch(const CUDA_BATCH_MEM_OP_NODE_PARAMS *params, struct node_body *ret)
{
        struct node_body body = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };
        CUresult rc = context_of(params->ctx, &body.context);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!params->count || params->count > 256 || !params->paramArray || params->flags)
                return CUDA_ERROR_INVALID_VALUE;
        body.batch.context = body.context;
        body.batch.count = params->count;
        body.batch.operations = malloc(params->count * sizeof(*params->paramArray));
        if (!body.batch.operations)
                return CUDA_ERROR_OUT_OF_MEMORY;
        memcpy(body.batch.operations, params->paramArray,
               params->count * sizeof(*params->paramArray));
        *ret = body;
        return CUDA_SUCCESS;
}

static CUresult of_alloc(CUDA_MEM_ALLOC_NODE_PARAMS *params, struct node_body *ret)
{
        struct node_body body = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
        struct node_memory *memory = &body.memory;
        CUmemLocation location = location_plain(params->poolProps.location);
        CUresult rc;

        if (params->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
            location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
            params->poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE || !params->bytesize ||
            (params->accessDescCount && !params->accessDescs))
                return CUDA_ERROR_INVALID_VALUE;
        if (!device_is_valid(location.id))
                return CUDA_ERROR_INVALID_DEVICE;
        memory->device = location.id;
        memory->bytes = params->bytesize;
        memory->properties = params->poolProps;
        memory->properties.location = location;
        memory->access_count = params->accessDescCount;
        memory->access = calloc(params->accessDescCount + 1, sizeof(*memory->access));
        if (!memory->access)
                return CUDA_ERROR_OUT_OF_MEMORY;
        if (params->accessDescCount)
                memcpy(memory->access, params->accessDescs,
                       params->accessDescCount * sizeof(*memory->access));
        memory->shared = graph_address_make(memory->device, memory->bytes, &rc);
        if (!memory->shared) {
                free(memory->access);
                return rc;
        }
        memory->address = memory->shared->address;
        params->dptr = memory->address;
        *ret = body;
        return CUDA_SUCCESS;
}

/* Makes the body of a free node. The address must be that of a graph's allocation, and may be freed
 * only once within a graph. */
static CUresult of_free(CUgraph graph, CUdeviceptr address, struct node_body *ret)
{
        struct memory_block block;

        if (!memory_find(address, &block) || block.kind != MEMORY_GRAPH || block.base != address)
                return CUDA_ERROR_INVALID_VALUE;
        for (CUgraphNode at = graph->first; at; at = at->next)
                if (at->body.type == CU_GRAPH_NODE_TYPE_MEM_FREE &&
                    at->body.memory.address == address)
                        return CUDA_ERROR_INVALID_VALUE;
        *ret = (struct node_body){ .type = CU_GRAPH_NODE_TYPE_MEM_FREE };
        ret->memory.address = address;
        return CUDA_SUCCESS;
}

static CUresult of_child(CUDA_CHILD_GRAPH_NODE_PARAMS *params, struct node_body *ret)
{
        CUresult rc = graph_check(params->graph);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (params->ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)
                return CUDA_ERROR_NOT_SUPPORTED;
        *ret = (struct node_body){ .type = CU_GRAPH_NODE_TYPE_GRAPH };
        ret->child = graph_copy(params->graph);
        return ret->child ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult body_of(CUgraph graph, CUgraphNodeParams *params, struct node_body *ret)
{
        switch (params->type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
                return of_kernel((const CUDA_KERNEL_NODE_PARAMS *)&params->kernel, ret);
        case CU_GRAPH_NODE_TYPE_MEMCPY:
                return of_memcpy(&params->memcpy.copyParams, params->memcpy.copyCtx, ret);
        case CU_GRAPH_NODE_TYPE_MEMSET:
                return of_memset((const CUDA_MEMSET_NODE_PARAMS *)&params->memset,
                                 params->memset.ctx, ret);
        case CU_GRAPH_NODE_TYPE_HOST:
                return of_host((const CUDA_HOST_NODE_PARAMS *)&params->host, ret);
        case CU_GRAPH_NODE_TYPE_GRAPH:
                return of_child(&params->graph, ret);
        case CU_GRAPH_NODE_TYPE_EMPTY:
                *ret = (struct node_body){ .type = CU_GRAPH_NODE_TYPE_EMPTY };
                return CUDA_SUCCESS;
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
                return of_event(params->type, params->eventWait.event, ret);
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
                return of_event(params->type, params->eventRecord.event, ret);
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
                return of_alloc((CUDA_MEM_ALLOC_NODE_PARAMS *)&params->alloc, ret);
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
                return of_free(graph, params->free.dptr, ret);
        case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
                return of_batch((const CUDA_BATCH_MEM_OP_NODE_PARAMS *)&params->memOp, ret);
        case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
        case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        case CU_GRAPH_NODE_TYPE_CONDITIONAL:
                return CUDA_ERROR_NOT_SUPPORTED;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
}

/* The array of parameter pointers is in the node itself, so it lives as long as the node. */
void kernel_params_of(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *ret)
{
        struct op_launch *launch = node->body.launch;
        CUfunction function = launch->function;

        for (unsigned i = 0; i < function->param_count; i++)
                node->param_pointers[i] = launch->params + function->param_offset[i];
        *ret = (CUDA_KERNEL_NODE_PARAMS){
                .func = function,
                .gridDimX = launch->grid[0],
                .gridDimY = launch->grid[1],
                .gridDimZ = launch->grid[2],
                .blockDimX = launch->block[0],
                .blockDimY = launch->block[1],
                .blockDimZ = launch->block[2],
                .sharedMemBytes = launch->shared_bytes,
                .kernelParams = function->param_count ? node->param_pointers : NULL,
                .ctx = node->body.context,
        };
}

void node_replace(CUgraphNode node, struct node_body *take_body)
{
        if (!take_body->context)
                take_body->context = node->body.context;
        body_free(&node->body);
        node->body = *take_body;
        if (node->body.type == CU_GRAPH_NODE_TYPE_GRAPH)
                node->body.child->owner = node;
}
