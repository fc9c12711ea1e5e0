/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies to and from device variables of the program's images.
 */
#include "cudart/copy.h"
#include "cudart/hand.h"

/* Finds the address of the part of a variable that a copy uses, and checks that the part is inside
 * the variable. Returns an error, or 0. */
static int part_of(const void *symbol, size_t bytes, size_t offset, void **ret)
{
        CUdeviceptr address;
        size_t size;
        int rc = registry_variable(symbol, &address, &size);

        if (rc)
                return rc;
        if (offset > size || bytes > size - offset)
                return CUDA_ERROR_INVALID_VALUE;
        *ret = (void *)(uintptr_t)(address + offset);
        return 0;
}

int rt_cudaMemcpyToSymbol(const struct driver *d, const void *symbol, const void *from,
                          size_t bytes, size_t offset, int kind)
{
        void *to;
        int rc = part_of(symbol, bytes, offset, &to);

        return rc ? rc : rt_cudaMemcpy(d, to, from, bytes, kind);
}

int rt_cudaMemcpyToSymbolAsync(const struct driver *d, const void *symbol, const void *from,
                               size_t bytes, size_t offset, int kind, cudaStream_t stream)
{
        void *to;
        int rc = part_of(symbol, bytes, offset, &to);

        return rc ? rc : rt_cudaMemcpyAsync(d, to, from, bytes, kind, stream);
}

int rt_cudaMemcpyFromSymbol(const struct driver *d, void *to, const void *symbol, size_t bytes,
                            size_t offset, int kind)
{
        void *from;
        int rc = part_of(symbol, bytes, offset, &from);

        return rc ? rc : rt_cudaMemcpy(d, to, from, bytes, kind);
}

int rt_cudaMemcpyFromSymbolAsync(const struct driver *d, void *to, const void *symbol, size_t bytes,
                                 size_t offset, int kind, cudaStream_t stream)
{
        void *from;
        int rc = part_of(symbol, bytes, offset, &from);

        return rc ? rc : rt_cudaMemcpyAsync(d, to, from, bytes, kind, stream);
}

int rt_cudaGraphAddMemcpyNodeToSymbol(const struct driver *d, cudaGraphNode_t *ret,
                                      cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                      const void *symbol, const void *from, size_t bytes,
                                      size_t offset, int kind)
{
        void *to;
        int rc = part_of(symbol, bytes, offset, &to);

        return rc ? rc
                  : rt_cudaGraphAddMemcpyNode1D(d, ret, graph, after, count, to, from, bytes, kind);
}

int rt_cudaGraphAddMemcpyNodeFromSymbol(const struct driver *d, cudaGraphNode_t *ret,
                                        cudaGraph_t graph, const cudaGraphNode_t *after,
                                        size_t count, void *to, const void *symbol, size_t bytes,
                                        size_t offset, int kind)
{
        void *from;
        int rc = part_of(symbol, bytes, offset, &from);

        return rc ? rc
                  : rt_cudaGraphAddMemcpyNode1D(d, ret, graph, after, count, to, from, bytes, kind);
}
