/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures a graph again: the body of each of its nodes is replaced, the nodes stay.
 *
 * The stream captures into a new graph, which is compared with the old one at the end, in order of
 * creation. If they differ in shape, the end of the capture returns GRAPH_RECAPTURE_FAILURE. The
 * real driver instead refuses the call that makes them differ.
 */
#include "sim/graph/body.h"
#include "sim/graph/capture.h"

static size_t position(CUgraph graph, CUgraphNode node)
{
        size_t count = 0;

        for (CUgraphNode at = graph->first; at && at != node; at = at->next)
                count++;
        return count;
}

static bool is_alike(CUgraphNode old, CUgraphNode new)
{
        if (old->body.type != new->body.type || old->edge_count != new->edge_count)
                return false;
        for (size_t i = 0; i < old->edge_count; i++) {
                if (position(old->graph, old->edges[i].from) !=
                    position(new->graph, new->edges[i].from))
                        return false;
        }
        return true;
}

CUresult graph_retake(CUgraph graph, CUgraph fresh)
{
        CUgraphNode new = fresh->first;

        if (graph->node_count != fresh->node_count)
                return CUDA_ERROR_GRAPH_RECAPTURE_FAILURE;
        for (CUgraphNode old = graph->first; old; old = old->next, new = new->next) {
                if (!is_alike(old, new))
                        return CUDA_ERROR_GRAPH_RECAPTURE_FAILURE;
        }
        new = fresh->first;
        for (CUgraphNode old = graph->first; old; old = old->next, new = new->next) {
                struct node_body body = new->body;

                new->body.type = CU_GRAPH_NODE_TYPE_EMPTY;
                node_replace(old, &body);
        }
        return CUDA_SUCCESS;
}
