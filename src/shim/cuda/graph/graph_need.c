/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/graph/graph_need.h"

#include <sys/mman.h>

#include "common/atomic.h"
#include "common/random.h"
#include "common/scramble.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/measure/measure.h"
#include "shim/cuda/place/front.h"

/* Maximum nesting of child graphs. The driver's own maximum is unknown; a cycle is impossible. */
#define GRAPHS_DEEP 32u

static void add_graph(CUgraph graph, unsigned depth, struct graph_need *need);

/* Gets the process's random key, which the first thread to call this draws; never 0. False: the
 * kernel gives no random bytes. */
static bool read_key(uint64_t *ret)
{
        static _Atomic uint64_t key;
        uint64_t drawn = 0, none = 0;

        *ret = load_relaxed(&key);
        if (*ret)
                return true;
        if (random_fill(&drawn, sizeof(drawn), NULL) < 0)
                return false;
        drawn |= 1;
        *ret = cas_acq_rel(&key, &none, drawn) ? drawn : none;
        return true;
}

/* Hashes an address. A program can influence its addresses through the sizes that it requests, so
 * it could make two sums of plain addresses equal. Without the key it cannot do so with hashes. */
static uint64_t hash_of(CUdeviceptr address, uint64_t key)
{
        return scramble(scramble(address ^ key) + key);
}

/* Adds an allocation node. Host memory does not count. False: the need is unknown, for example
 * because the location is. */
static bool add_memory(CUgraphNode node, struct graph_need *need)
{
        CUDA_MEM_ALLOC_NODE_PARAMS params;
        CUdevice device = -1;
        enum site site;

        if (real.cuGraphMemAllocNodeGetParams(node, &params) != CUDA_SUCCESS)
                return false;
        site = site_of(&params.poolProps.location, &device);
        if (site != SITE_CARD)
                return site == SITE_ELSEWHERE;
        if (device < 0 || device >= STATE_DEVICES)
                return false;
        need->bytes[device] += measure_graph_node(params.bytesize);
        need->is_any = true;
        need->sum += hash_of(params.dptr, need->key);
        need->count++;
        return true;
}

/* Subtracts a free node, whose memory may also belong to another graph. */
static bool add_free(CUgraphNode node, struct graph_need *need)
{
        CUdeviceptr address;

        if (real.cuGraphMemFreeNodeGetParams(node, &address) != CUDA_SUCCESS)
                return false;
        need->sum -= hash_of(address, need->key);
        need->count--;
        return true;
}

static bool add_child(CUgraphNode node, unsigned depth, struct graph_need *need)
{
        CUgraph child;

        if (real.cuGraphChildGraphNodeGetGraph(node, &child) != CUDA_SUCCESS)
                return false;
        add_graph(child, depth + 1, need);
        return true;
}

/* Adds a node. The bodies of conditional nodes may not contain memory nodes, so they are not
 * visited. */
static bool add_node(CUgraphNode node, unsigned depth, struct graph_need *need)
{
        CUgraphNodeType type;

        if (real.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS)
                return false;
        if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
                return add_memory(node, need);
        if (type == CU_GRAPH_NODE_TYPE_MEM_FREE)
                return add_free(node, need);
        return type == CU_GRAPH_NODE_TYPE_GRAPH ? add_child(node, depth, need) : true;
}

static void add_graph(CUgraph graph, unsigned depth, struct graph_need *need)
{
        CUgraphNode *nodes;
        size_t count = 0;
        size_t bytes;

        need->is_unknown |=
                depth == GRAPHS_DEEP || real.cuGraphGetNodes(graph, NULL, &count) != CUDA_SUCCESS;
        if (need->is_unknown || !count)
                return;
        bytes = count * sizeof(void *);
        nodes = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        need->is_unknown |=
                nodes == MAP_FAILED || real.cuGraphGetNodes(graph, nodes, &count) != CUDA_SUCCESS;
        for (size_t i = 0; i < count && !need->is_unknown; i++)
                need->is_unknown |= !add_node(nodes[i], depth, need);
        if (nodes != MAP_FAILED)
                munmap(nodes, bytes);
}

bool graph_need(CUgraph graph, struct graph_need *ret)
{
        bool has_key;

        *ret = (struct graph_need){ .is_any = false };
        has_key = read_key(&ret->key);
        add_graph(graph, 0, ret);
        ret->stays = !has_key || ret->sum != 0 || ret->count != 0;
        return !ret->is_unknown;
}
