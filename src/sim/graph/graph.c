/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structure of graphs: nodes, edges, copies. The driver's calls are in other files of this
 * folder.
 */
#include "sim/graph/graph.h"

#include "common/atomic.h"
#include "sim/exec/event.h"
#include "sim/memory/memory.h"
#include "sim/module/module.h"

#include <stdlib.h>
#include <string.h>

pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER;

static void *duplicate(const void *from, size_t bytes)
{
        void *to = malloc(bytes ? bytes : 1);

        if (to && bytes)
                memcpy(to, from, bytes);
        return to;
}

struct graph_address *graph_address_make(CUdevice device, uint64_t bytes, CUresult *ret_error)
{
        struct graph_address *shared = malloc(sizeof(*shared));

        *ret_error = CUDA_ERROR_OUT_OF_MEMORY;
        if (!shared)
                return NULL;
        *ret_error = memory_graph_reserve(device, bytes, &shared->address);
        if (*ret_error != CUDA_SUCCESS) {
                free(shared);
                return NULL;
        }
        shared->references = 1;
        return shared;
}

/* Releases a reference to an address. If a launch left its memory allocated, the memory stays until
 * the program frees it. */
void graph_address_release(struct graph_address *shared)
{
        if (add_acq_rel(&shared->references, (uint32_t)-1) != 1)
                return;
        if (!memory_graph_is_committed(shared->address))
                memory_graph_unreserve(shared->address);
        free(shared);
}

bool graph_has_memory(CUgraph graph)
{
        for (CUgraphNode at = graph->first; at; at = at->next)
                if (at->body.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
                    at->body.type == CU_GRAPH_NODE_TYPE_MEM_FREE)
                        return true;
        return false;
}

bool body_copy(struct node_body *to, const struct node_body *from)
{
        *to = *from;
        switch (from->type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
                to->launch =
                        duplicate(from->launch, sizeof(*from->launch) + from->launch->param_bytes);
                return to->launch;
        case CU_GRAPH_NODE_TYPE_GRAPH:
                to->child = graph_copy(from->child);
                return to->child;
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
                event_retain(from->event);
                return true;
        case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
                to->batch.operations =
                        duplicate(from->batch.operations,
                                  from->batch.count * sizeof(*from->batch.operations));
                return to->batch.operations;
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
                to->memory.access =
                        duplicate(from->memory.access,
                                  from->memory.access_count * sizeof(*from->memory.access));
                if (!to->memory.access)
                        return false;
                add_relaxed(&to->memory.shared->references, 1);
                return true;
        default:
                return true;
        }
}

void body_free(struct node_body *body)
{
        switch (body->type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
                free(body->launch);
                break;
        case CU_GRAPH_NODE_TYPE_GRAPH:
                graph_free(body->child);
                break;
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
                event_release(body->event);
                break;
        case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
                free(body->batch.operations);
                break;
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
                free(body->memory.access);
                graph_address_release(body->memory.shared);
                break;
        default:
                break;
        }
        body->type = CU_GRAPH_NODE_TYPE_EMPTY;
}

/* Destroyed graphs and nodes. They are kept so that calls with their handles return an error; their
 * memory is reused for new ones. */
static CUgraph dead_graphs;
static CUgraphNode dead_nodes;

CUgraph graph_make(void)
{
        CUgraph graph = dead_graphs;

        if (graph)
                dead_graphs = graph->original;
        else
                graph = malloc(sizeof(*graph));
        if (!graph)
                return NULL;
        memset(graph, 0, sizeof(*graph));
        graph->magic = GRAPH_MAGIC;
        graph->last = &graph->first;
        return graph;
}

static CUgraphNode node_make(void)
{
        CUgraphNode node = dead_nodes;

        if (node)
                dead_nodes = node->next;
        else
                node = malloc(sizeof(*node));
        if (node)
                memset(node, 0, sizeof(*node));
        return node;
}

static void node_free(CUgraphNode node)
{
        body_free(&node->body);
        free(node->edges);
        node->edges = NULL;
        node->magic = 0;
        node->next = dead_nodes;
        dead_nodes = node;
}

void graph_free(CUgraph graph)
{
        if (!graph)
                return;
        while (graph->first) {
                CUgraphNode node = graph->first;

                graph->first = node->next;
                node_free(node);
        }
        graph_users_release(graph);
        graph->magic = 0;
        graph->original = dead_graphs;
        dead_graphs = graph;
}

CUresult graph_check(CUgraph graph)
{
        return graph && graph->magic == GRAPH_MAGIC ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult node_check(CUgraphNode node)
{
        return node && node->magic == NODE_MAGIC_GRAPH ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUgraphNode graph_add(CUgraph graph, const struct graph_edge *edges, size_t count,
                      const struct node_body *body)
{
        CUgraphNode node = node_make();

        if (!node)
                return NULL;
        node->edges = duplicate(edges, count * sizeof(*edges));
        if (!node->edges || !body_copy(&node->body, body)) {
                node->body.type = CU_GRAPH_NODE_TYPE_EMPTY;
                node_free(node);
                return NULL;
        }
        if (node->body.type == CU_GRAPH_NODE_TYPE_GRAPH)
                node->body.child->owner = node;
        node->edge_count = count;
        node->graph = graph;
        node->id = graph->next_id++;
        node->magic = NODE_MAGIC_GRAPH;
        *graph->last = node;
        graph->last = &node->next;
        graph->node_count++;
        return node;
}

bool node_unlink(CUgraphNode node, const struct graph_edge *edge)
{
        for (size_t i = 0; i < node->edge_count; i++) {
                if (node->edges[i].from != edge->from ||
                    memcmp(&node->edges[i].data, &edge->data, sizeof(edge->data)) != 0)
                        continue;
                memmove(&node->edges[i], &node->edges[i + 1],
                        (node->edge_count - i - 1) * sizeof(*node->edges));
                node->edge_count--;
                return true;
        }
        return false;
}

void graph_remove(CUgraphNode node)
{
        CUgraph graph = node->graph;
        CUgraphNode *at = &graph->first;

        for (CUgraphNode other = graph->first; other; other = other->next) {
                for (size_t i = other->edge_count; i-- > 0;)
                        if (other->edges[i].from == node)
                                node_unlink(other,
                                            &(struct graph_edge){ node, other->edges[i].data });
        }
        while (*at && *at != node)
                at = &(*at)->next;
        *at = node->next;
        if (graph->last == &node->next)
                graph->last = at;
        graph->node_count--;
        node_free(node);
}

bool node_reaches(CUgraphNode from, CUgraphNode to)
{
        if (from == to)
                return true;
        for (size_t i = 0; i < to->edge_count; i++)
                if (node_reaches(from, to->edges[i].from))
                        return true;
        return false;
}

CUresult node_link(CUgraphNode node, const struct graph_edge *edge)
{
        struct graph_edge *edges;

        if (edge->from->graph != node->graph || node_reaches(node, edge->from))
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < node->edge_count; i++)
                if (node->edges[i].from == edge->from &&
                    memcmp(&node->edges[i].data, &edge->data, sizeof(edge->data)) == 0)
                        return CUDA_ERROR_INVALID_VALUE;
        edges = realloc(node->edges, (node->edge_count + 1) * sizeof(*edges));
        if (!edges)
                return CUDA_ERROR_OUT_OF_MEMORY;
        edges[node->edge_count++] = *edge;
        node->edges = edges;
        return CUDA_SUCCESS;
}

/* Returns the copy of `node` in `copy`, a copy of the node's graph. Both lists of nodes have the
 * same order. */
static CUgraphNode counterpart(CUgraph copy, CUgraphNode node)
{
        CUgraphNode at = copy->first;

        for (CUgraphNode other = node->graph->first; at && other != node; other = other->next)
                at = at->next;
        return at;
}

static bool copy_edges(CUgraph copy, CUgraphNode to, CUgraphNode from)
{
        struct graph_edge *edges = duplicate(from->edges, from->edge_count * sizeof(*edges));

        if (!edges)
                return false;
        for (size_t i = 0; i < from->edge_count; i++)
                edges[i].from = counterpart(copy, from->edges[i].from);
        free(to->edges);
        to->edges = edges;
        to->edge_count = from->edge_count;
        return true;
}

CUgraph graph_copy(CUgraph graph)
{
        CUgraph copy = graph_make();
        CUgraphNode at;

        if (!copy)
                return NULL;
        copy->original = graph;
        for (CUgraphNode node = graph->first; node; node = node->next) {
                CUgraphNode made = graph_add(copy, NULL, 0, &node->body);

                if (!made)
                        goto failed;
                made->original = node;
                made->id = node->id;
                made->is_disabled = node->is_disabled;
                memcpy(made->attributes, node->attributes, sizeof(node->attributes));
        }
        copy->next_id = graph->next_id;
        at = copy->first;
        for (CUgraphNode node = graph->first; node; node = node->next, at = at->next)
                if (!copy_edges(copy, at, node))
                        goto failed;
        if (!graph_users_copy(copy, graph))
                goto failed;
        return copy;

failed:
        graph_free(copy);
        return NULL;
}
