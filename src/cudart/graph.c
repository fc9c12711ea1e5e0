/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions for graph nodes: kernels and copies, whose parameters differ between runtime and
 * driver, and fills, for which the driver needs a context.
 */
#include "cudart/copy.h"
#include "cudart/hand.h"

#include <string.h>

static CUcontext context_here(const struct driver *d)
{
        CUcontext context = NULL;

        d->cuCtxGetCurrent(&context);
        return context;
}

static int kernel_params(const struct cudaKernelNodeParams *params, CUDA_KERNEL_NODE_PARAMS *ret)
{
        if (!params)
                return CUDA_ERROR_INVALID_VALUE;
        *ret = (CUDA_KERNEL_NODE_PARAMS){
                .gridDimX = params->gridDim.x,
                .gridDimY = params->gridDim.y,
                .gridDimZ = params->gridDim.z,
                .blockDimX = params->blockDim.x,
                .blockDimY = params->blockDim.y,
                .blockDimZ = params->blockDim.z,
                .sharedMemBytes = params->sharedMemBytes,
                .kernelParams = params->kernelParams,
                .extra = params->extra,
        };
        return registry_function(params->func, &ret->func);
}

int rt_cudaGraphAddKernelNode(const struct driver *d, cudaGraphNode_t *ret, cudaGraph_t graph,
                              const cudaGraphNode_t *after, size_t count,
                              const struct cudaKernelNodeParams *params)
{
        CUDA_KERNEL_NODE_PARAMS node;
        int rc = kernel_params(params, &node);

        return rc ? rc : (int)d->cuGraphAddKernelNode_v2(ret, graph, after, count, &node);
}

int rt_cudaGraphKernelNodeSetParams(const struct driver *d, cudaGraphNode_t node,
                                    const struct cudaKernelNodeParams *params)
{
        CUDA_KERNEL_NODE_PARAMS to;
        int rc = kernel_params(params, &to);

        return rc ? rc : (int)d->cuGraphKernelNodeSetParams_v2(node, &to);
}

int rt_cudaGraphExecKernelNodeSetParams(const struct driver *d, cudaGraphExec_t exec,
                                        cudaGraphNode_t node,
                                        const struct cudaKernelNodeParams *params)
{
        CUDA_KERNEL_NODE_PARAMS to;
        int rc = kernel_params(params, &to);

        return rc ? rc : (int)d->cuGraphExecKernelNodeSetParams_v2(exec, node, &to);
}

/* Returns the parameters of a kernel node. The driver returns a CUfunction, which is converted to
 * the host function by which the program knows the kernel. */
int rt_cudaGraphKernelNodeGetParams(const struct driver *d, cudaGraphNode_t node,
                                    struct cudaKernelNodeParams *ret)
{
        CUDA_KERNEL_NODE_PARAMS from;
        const char *name = NULL;
        int rc =
                ret ? (int)d->cuGraphKernelNodeGetParams_v2(node, &from) : CUDA_ERROR_INVALID_VALUE;

        if (rc)
                return rc;
        if (from.func)
                d->cuFuncGetName(&name, from.func);
        *ret = (struct cudaKernelNodeParams){
                .func = (void *)registry_host_function(from.kern, name),
                .gridDim = { from.gridDimX, from.gridDimY, from.gridDimZ },
                .blockDim = { from.blockDimX, from.blockDimY, from.blockDimZ },
                .sharedMemBytes = from.sharedMemBytes,
                .kernelParams = from.kernelParams,
                .extra = from.extra,
        };
        return 0;
}

int rt_cudaGraphAddMemcpyNode(const struct driver *d, cudaGraphNode_t *ret, cudaGraph_t graph,
                              const cudaGraphNode_t *after, size_t count,
                              const struct cudaMemcpy3DParms *p)
{
        CUDA_MEMCPY3D copy;
        int rc = copy_box(d, p, &copy);

        return rc ? rc
                  : (int)d->cuGraphAddMemcpyNode(ret, graph, after, count, &copy, context_here(d));
}

int rt_cudaGraphAddMemcpyNode1D(const struct driver *d, cudaGraphNode_t *ret, cudaGraph_t graph,
                                const cudaGraphNode_t *after, size_t count, void *to,
                                const void *from, size_t bytes, int kind)
{
        CUDA_MEMCPY3D copy;
        int rc = copy_row(to, from, bytes, kind, &copy);

        return rc ? rc
                  : (int)d->cuGraphAddMemcpyNode(ret, graph, after, count, &copy, context_here(d));
}

int rt_cudaGraphMemcpyNodeSetParams(const struct driver *d, cudaGraphNode_t node,
                                    const struct cudaMemcpy3DParms *p)
{
        CUDA_MEMCPY3D copy;
        int rc = copy_box(d, p, &copy);

        return rc ? rc : (int)d->cuGraphMemcpyNodeSetParams(node, &copy);
}

int rt_cudaGraphMemcpyNodeSetParams1D(const struct driver *d, cudaGraphNode_t node, void *to,
                                      const void *from, size_t bytes, int kind)
{
        CUDA_MEMCPY3D copy;
        int rc = copy_row(to, from, bytes, kind, &copy);

        return rc ? rc : (int)d->cuGraphMemcpyNodeSetParams(node, &copy);
}

int rt_cudaGraphExecMemcpyNodeSetParams(const struct driver *d, cudaGraphExec_t exec,
                                        cudaGraphNode_t node, const struct cudaMemcpy3DParms *p)
{
        CUDA_MEMCPY3D copy;
        int rc = copy_box(d, p, &copy);

        return rc ? rc : (int)d->cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context_here(d));
}

int rt_cudaGraphExecMemcpyNodeSetParams1D(const struct driver *d, cudaGraphExec_t exec,
                                          cudaGraphNode_t node, void *to, const void *from,
                                          size_t bytes, int kind)
{
        CUDA_MEMCPY3D copy;
        int rc = copy_row(to, from, bytes, kind, &copy);

        return rc ? rc : (int)d->cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context_here(d));
}

int rt_cudaGraphAddMemsetNode(const struct driver *d, cudaGraphNode_t *ret, cudaGraph_t graph,
                              const cudaGraphNode_t *after, size_t count,
                              const cudaMemsetParams *params)
{
        return (int)d->cuGraphAddMemsetNode(ret, graph, after, count, params, context_here(d));
}

int rt_cudaGraphExecMemsetNodeSetParams(const struct driver *d, cudaGraphExec_t exec,
                                        cudaGraphNode_t node, const cudaMemsetParams *params)
{
        return (int)d->cuGraphExecMemsetNodeSetParams(exec, node, params, context_here(d));
}
