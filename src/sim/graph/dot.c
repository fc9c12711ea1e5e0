/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a graph as text for Graphviz. Child graphs become clusters.
 */
#include "common/scoped.h"
#include "sim/entries.h"
#include "sim/graph/graph.h"
#include "sim/module/module.h"

static const char *type_name(CUgraphNodeType type)
{
        static const char *const names[] = {
                "KERNEL",    "MEMCPY",     "MEMSET",       "HOST",        "GRAPH",
                "EMPTY",     "EVENT_WAIT", "EVENT_RECORD", "EXT_SIGNAL",  "EXT_WAIT",
                "MEM_ALLOC", "MEM_FREE",   "BATCH_MEM_OP", "CONDITIONAL",
        };

        return (unsigned)type < sizeof(names) / sizeof(*names) ? names[type] : "UNKNOWN";
}

static void print_label(FILE *out, CUgraphNode node, unsigned flags)
{
        const struct node_body *body = &node->body;

        fprintf(out, "%u\\n%s", node->id, type_name(body->type));
        if (body->type == CU_GRAPH_NODE_TYPE_KERNEL)
                fprintf(out, "\\n%s", body->launch->function->name);
        if (flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE |
                     CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS) &&
            body->type == CU_GRAPH_NODE_TYPE_KERNEL)
                fprintf(out, "\\n<<<(%u,%u,%u),(%u,%u,%u),%u>>>", body->launch->grid[0],
                        body->launch->grid[1], body->launch->grid[2], body->launch->block[0],
                        body->launch->block[1], body->launch->block[2], body->launch->shared_bytes);
        if (flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE | CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES))
                fprintf(out, "\\n%p", (void *)node);
}

static void print_graph(FILE *out, CUgraph graph, unsigned flags)
{
        for (CUgraphNode at = graph->first; at; at = at->next) {
                fprintf(out, "        \"n%p\" [label=\"", (void *)at);
                print_label(out, at, flags);
                fprintf(out, "\"];\n");
                if (at->body.type == CU_GRAPH_NODE_TYPE_GRAPH) {
                        fprintf(out, "subgraph \"cluster_%p\" {\n", (void *)at);
                        print_graph(out, at->body.child, flags);
                        fprintf(out, "}\n");
                }
                for (size_t i = 0; i < at->edge_count; i++)
                        fprintf(out, "        \"n%p\" -> \"n%p\";\n", (void *)at->edges[i].from,
                                (void *)at);
        }
}

CUresult sim_cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned int flags)
{
        scoped_file FILE *out = NULL;
        CUresult rc;

        if (!path)
                return CUDA_ERROR_INVALID_VALUE;
        pthread_mutex_lock(&graph_lock);
        rc = graph_check(graph);
        if (rc == CUDA_SUCCESS) {
                out = fopen(path, "we");
                rc = out ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
        }
        if (rc == CUDA_SUCCESS) {
                fprintf(out, "digraph dot {\n");
                print_graph(out, graph, flags);
                fprintf(out, "}\n");
        }
        pthread_mutex_unlock(&graph_lock);
        return rc;
}
