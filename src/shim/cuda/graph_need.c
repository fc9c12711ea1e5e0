/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/graph_need.h"

#include <sys/mman.h>

#include "shim/cuda/measure.h"
#include "shim/cuda/real.h"

/* Children within children: the driver's own bound is unknown, a cycle is impossible. */
#define GRAPHS_DEEP 32u

static void add_graph(CUgraph graph, unsigned depth, struct graph_need *need);

/* Memory on the host is not the card's. */
static void add_memory(CUgraphNode node, struct graph_need *need)
{
        CUDA_MEM_ALLOC_NODE_PARAMS params;
        const CUmemLocation *location = &params.poolProps.location;
        uint64_t bytes;

        if (real.cuGraphMemAllocNodeGetParams(node, &params) != CUDA_SUCCESS ||
            location->type != CU_MEM_LOCATION_TYPE_DEVICE || location->id < 0 ||
            location->id >= STATE_DEVICES)
                return;
        bytes = measure_graph_node(params.bytesize);
        need->bytes[location->id] += bytes;
        need->total_bytes += bytes;
}

/* The bodies of conditional nodes may not hold memory nodes, so they need no visit. */
static void add_node(CUgraphNode node, unsigned depth, struct graph_need *need)
{
        CUgraphNodeType type;
        CUgraph child;

        if (real.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS)
                return;
        if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
                add_memory(node, need);
        else if (type == CU_GRAPH_NODE_TYPE_GRAPH &&
                 real.cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS)
                add_graph(child, depth + 1, need);
}

static void add_graph(CUgraph graph, unsigned depth, struct graph_need *need)
{
        CUgraphNode *nodes;
        size_t count = 0;
        size_t bytes;

        if (depth == GRAPHS_DEEP || real.cuGraphGetNodes(graph, NULL, &count) != CUDA_SUCCESS ||
            !count)
                return;
        bytes = count * sizeof(void *);
        nodes = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (nodes == MAP_FAILED)
                return;
        if (real.cuGraphGetNodes(graph, nodes, &count) == CUDA_SUCCESS) {
                for (size_t i = 0; i < count; i++)
                        add_node(nodes[i], depth, need);
        }
        munmap(nodes, bytes);
}

void graph_need(CUgraph graph, struct graph_need *ret)
{
        *ret = (struct graph_need){ .total_bytes = 0 };
        add_graph(graph, 0, ret);
}
