/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's calls on the shape of graphs: creating, copying, listing, linking.
 *
 * Lists are returned as by the driver: without an array, only the count; with an array, as many
 * entries as fit, zeros in the rest of the array, and the count that was written. Forms without
 * edge data return LOSSY_QUERY if an edge has data.
 */
#include "sim/entries.h"
#include "sim/graph/graph.h"

#include <stdlib.h>
#include <string.h>

static const CUgraphEdgeData plain_edge;

static bool is_plain(const CUgraphEdgeData *data)
{
        return memcmp(data, &plain_edge, sizeof(plain_edge)) == 0;
}

CUresult sim_cuGraphCreate(CUgraph *ret_graph, unsigned int flags)
{
        CUgraph graph;

        if (!ret_graph || flags)
                return CUDA_ERROR_INVALID_VALUE;
        pthread_mutex_lock(&graph_lock);
        graph = graph_make();
        pthread_mutex_unlock(&graph_lock);
        if (!graph)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *ret_graph = graph;
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphDestroy(CUgraph graph)
{
        CUresult rc;

        pthread_mutex_lock(&graph_lock);
        rc = graph_check(graph);
        if (rc == CUDA_SUCCESS && (graph->owner || graph->is_captured_into))
                rc = CUDA_ERROR_INVALID_VALUE;
        if (rc == CUDA_SUCCESS)
                graph_free(graph);
        pthread_mutex_unlock(&graph_lock);
        graph_users_bury();
        return rc;
}

CUresult sim_cuGraphClone(CUgraph *ret_clone, CUgraph graph)
{
        CUgraph clone = NULL;
        CUresult rc;

        pthread_mutex_lock(&graph_lock);
        rc = graph_check(graph);
        if (rc == CUDA_SUCCESS && graph_has_memory(graph))
                rc = CUDA_ERROR_NOT_SUPPORTED;
        if (rc == CUDA_SUCCESS) {
                clone = graph_copy(graph);
                rc = clone ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        }
        pthread_mutex_unlock(&graph_lock);
        if (rc == CUDA_SUCCESS)
                *ret_clone = clone;
        return rc;
}

CUresult sim_cuGraphNodeFindInClone(CUgraphNode *ret_node, CUgraphNode original, CUgraph clone)
{
        CUgraphNode at = NULL;
        CUresult rc;

        pthread_mutex_lock(&graph_lock);
        rc = graph_check(clone);
        if (rc == CUDA_SUCCESS)
                rc = node_check(original);
        if (rc == CUDA_SUCCESS) {
                for (at = clone->first; at && at->original != original; at = at->next)
                        ;
                rc = at ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        }
        pthread_mutex_unlock(&graph_lock);
        if (rc == CUDA_SUCCESS)
                *ret_node = at;
        return rc;
}

CUresult sim_cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *ret_type)
{
        CUresult rc;

        pthread_mutex_lock(&graph_lock);
        rc = ret_type ? node_check(node) : CUDA_ERROR_INVALID_VALUE;
        if (rc == CUDA_SUCCESS)
                *ret_type = node->body.type;
        pthread_mutex_unlock(&graph_lock);
        return rc;
}

/* Collects edges in the program's arrays. For a list of nodes, each node is an edge without a
 * second end. */
struct edge_list {
        CUgraphNode *from, *to;
        CUgraphEdgeData *data;
        size_t room, count;
        bool is_lossy;
};

static void list_put(struct edge_list *list, CUgraphNode from, CUgraphNode to,
                     const CUgraphEdgeData *data)
{
        if (list->count < list->room) {
                if (list->from)
                        list->from[list->count] = from;
                if (list->to)
                        list->to[list->count] = to;
                if (list->data)
                        list->data[list->count] = *data;
        }
        if (!list->data && (list->from || list->to) && !is_plain(data))
                list->is_lossy = true;
        list->count++;
}

/* Adds the node `to` to the list, once for each edge from `from` to it. */
static void list_put_edges_between(struct edge_list *list, CUgraphNode from, CUgraphNode to)
{
        for (size_t i = 0; i < to->edge_count; i++) {
                if (to->edges[i].from == from)
                        list_put(list, to, NULL, &to->edges[i].data);
        }
}

static CUresult list_end(struct edge_list *list, size_t *count)
{
        for (size_t i = list->count; i < list->room; i++) {
                if (list->from)
                        list->from[i] = NULL;
                if (list->to)
                        list->to[i] = NULL;
        }
        *count = list->room && list->room < list->count ? list->room : list->count;
        return list->is_lossy ? CUDA_ERROR_LOSSY_QUERY : CUDA_SUCCESS;
}

static CUresult list_nodes(CUgraph graph, bool is_roots_only, CUgraphNode *nodes, size_t *count)
{
        struct edge_list list = { .from = nodes };
        CUresult rc;

        if (!count)
                return CUDA_ERROR_INVALID_VALUE;
        list.room = nodes ? *count : 0;
        pthread_mutex_lock(&graph_lock);
        rc = graph_check(graph);
        if (rc == CUDA_SUCCESS) {
                for (CUgraphNode at = graph->first; at; at = at->next)
                        if (!is_roots_only || !at->edge_count)
                                list_put(&list, at, NULL, &plain_edge);
                rc = list_end(&list, count);
        }
        pthread_mutex_unlock(&graph_lock);
        return rc;
}

CUresult sim_cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
        return list_nodes(graph, false, nodes, count);
}

CUresult sim_cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
        return list_nodes(graph, true, nodes, count);
}

CUresult sim_cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                                CUgraphEdgeData *data, size_t *count)
{
        struct edge_list list = { .from = from, .to = to, .data = data };
        CUresult rc;

        if (!count || !from != !to || (data && !from))
                return CUDA_ERROR_INVALID_VALUE;
        list.room = from ? *count : 0;
        pthread_mutex_lock(&graph_lock);
        rc = graph_check(graph);
        if (rc == CUDA_SUCCESS) {
                for (CUgraphNode at = graph->first; at; at = at->next)
                        for (size_t i = 0; i < at->edge_count; i++)
                                list_put(&list, at->edges[i].from, at, &at->edges[i].data);
                rc = list_end(&list, count);
        }
        pthread_mutex_unlock(&graph_lock);
        return rc;
}

CUresult sim_cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes,
                                           CUgraphEdgeData *data, size_t *count)
{
        struct edge_list list = { .from = nodes, .data = data };
        CUresult rc;

        if (!count || (data && !nodes))
                return CUDA_ERROR_INVALID_VALUE;
        list.room = nodes ? *count : 0;
        pthread_mutex_lock(&graph_lock);
        rc = node_check(node);
        if (rc == CUDA_SUCCESS) {
                for (size_t i = 0; i < node->edge_count; i++)
                        list_put(&list, node->edges[i].from, NULL, &node->edges[i].data);
                rc = list_end(&list, count);
        }
        pthread_mutex_unlock(&graph_lock);
        return rc;
}

CUresult sim_cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes,
                                             CUgraphEdgeData *data, size_t *count)
{
        struct edge_list list = { .from = nodes, .data = data };
        CUresult rc;

        if (!count || (data && !nodes))
                return CUDA_ERROR_INVALID_VALUE;
        list.room = nodes ? *count : 0;
        pthread_mutex_lock(&graph_lock);
        rc = node_check(node);
        if (rc == CUDA_SUCCESS) {
                for (CUgraphNode at = node->graph->first; at; at = at->next)
                        list_put_edges_between(&list, node, at);
                rc = list_end(&list, count);
        }
        pthread_mutex_unlock(&graph_lock);
        return rc;
}

/* The edges that a call gives as arrays. */
struct edge_request {
        const CUgraphNode *from, *to;
        const CUgraphEdgeData *data;
        size_t count;
};

static CUresult request_check(CUgraph graph, const struct edge_request *request)
{
        if (graph_check(graph) != CUDA_SUCCESS ||
            (request->count && (!request->from || !request->to)))
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < request->count; i++)
                if (node_check(request->from[i]) != CUDA_SUCCESS ||
                    node_check(request->to[i]) != CUDA_SUCCESS ||
                    request->from[i]->graph != graph || request->to[i]->graph != graph)
                        return CUDA_ERROR_INVALID_VALUE;
        return CUDA_SUCCESS;
}

static struct graph_edge edge_at(const struct edge_request *request, size_t i)
{
        return (struct graph_edge){ request->from[i],
                                    request->data ? request->data[i] : plain_edge };
}

static CUresult add_edges(CUgraph graph, const struct edge_request *request)
{
        CUresult rc;
        size_t done = 0;

        pthread_mutex_lock(&graph_lock);
        rc = request_check(graph, request);
        while (rc == CUDA_SUCCESS && done < request->count) {
                struct graph_edge edge = edge_at(request, done);

                rc = node_link(request->to[done], &edge);
                if (rc == CUDA_SUCCESS)
                        done++;
        }
        while (rc != CUDA_SUCCESS && done > 0) {
                struct graph_edge edge = edge_at(request, --done);

                node_unlink(request->to[done], &edge);
        }
        pthread_mutex_unlock(&graph_lock);
        return rc;
}

CUresult sim_cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from,
                                       const CUgraphNode *to, const CUgraphEdgeData *data,
                                       size_t count)
{
        return add_edges(graph, &(struct edge_request){ from, to, data, count });
}

static CUresult remove_edges(CUgraph graph, const struct edge_request *request)
{
        CUresult rc;

        pthread_mutex_lock(&graph_lock);
        rc = request_check(graph, request);
        if (rc == CUDA_SUCCESS && graph_has_memory(graph))
                rc = CUDA_ERROR_NOT_SUPPORTED;
        for (size_t i = 0; rc == CUDA_SUCCESS && i < request->count; i++) {
                struct graph_edge edge = edge_at(request, i);

                if (!node_unlink(request->to[i], &edge))
                        rc = CUDA_ERROR_INVALID_VALUE;
        }
        pthread_mutex_unlock(&graph_lock);
        return rc;
}

CUresult sim_cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from,
                                          const CUgraphNode *to, const CUgraphEdgeData *data,
                                          size_t count)
{
        return remove_edges(graph, &(struct edge_request){ from, to, data, count });
}

CUresult sim_cuGraphDestroyNode(CUgraphNode node)
{
        CUresult rc;

        pthread_mutex_lock(&graph_lock);
        rc = node_check(node);
        if (rc == CUDA_SUCCESS && graph_has_memory(node->graph))
                rc = CUDA_ERROR_NOT_SUPPORTED;
        if (rc == CUDA_SUCCESS)
                graph_remove(node);
        pthread_mutex_unlock(&graph_lock);
        graph_users_bury();
        return rc;
}
