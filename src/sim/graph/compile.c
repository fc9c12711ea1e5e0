/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles a graph into the program that runs it.
 *
 * Nodes are put in an order in which each node follows all nodes on which it depends. If several
 * nodes could be next, the one that was created first is, so that the order is always the same.
 */
#include "sim/graph/exec.h"

#include <stdlib.h>
#include <string.h>

struct compiler {
        CUgraphNode *order; /* the nodes in order, as far as done */
        size_t done;
};

static size_t index_of(const struct compiler *compiler, CUgraphNode node)
{
        size_t i = 0;

        while (i < compiler->done && compiler->order[i] != node)
                i++;
        return i;
}

static bool is_ready(const struct compiler *compiler, CUgraphNode node)
{
        for (size_t i = 0; i < node->edge_count; i++)
                if (index_of(compiler, node->edges[i].from) == compiler->done)
                        return false;
        return true;
}

static bool sort_nodes(struct compiler *compiler, CUgraph graph)
{
        while (compiler->done < graph->node_count) {
                CUgraphNode node = graph->first;

                while (node &&
                       (index_of(compiler, node) < compiler->done || !is_ready(compiler, node)))
                        node = node->next;
                if (!node)
                        return false;
                compiler->order[compiler->done++] = node;
        }
        return true;
}

static bool fill_node(struct program_node *to, CUgraphNode node, const struct compiler *compiler)
{
        to->is_disabled = node->is_disabled;
        to->after = calloc(node->edge_count + 1, sizeof(*to->after));
        if (!to->after)
                return false;
        for (size_t i = 0; i < node->edge_count; i++)
                to->after[i] = (uint32_t)index_of(compiler, node->edges[i].from);
        to->after_count = node->edge_count;
        if (node->body.type != CU_GRAPH_NODE_TYPE_GRAPH)
                return body_copy(&to->body, &node->body);
        to->child = graph_compile(node->body.child);
        to->body.type = CU_GRAPH_NODE_TYPE_GRAPH;
        return to->child;
}

struct graph_program *graph_compile(CUgraph graph)
{
        struct compiler compiler = { calloc(graph->node_count + 1, sizeof(CUgraphNode)), 0 };
        struct graph_program *program = calloc(1, sizeof(*program));
        bool is_good = compiler.order && program && sort_nodes(&compiler, graph);

        if (is_good) {
                program->references = 1;
                program->nodes = calloc(graph->node_count + 1, sizeof(*program->nodes));
                is_good = program->nodes;
        }
        for (size_t i = 0; is_good && i < graph->node_count; i++) {
                is_good = fill_node(&program->nodes[i], compiler.order[i], &compiler);
                if (!is_good && !program->nodes[i].child)
                        program->nodes[i].body.type = CU_GRAPH_NODE_TYPE_EMPTY;
                program->count = i + 1;
        }
        free(compiler.order);
        if (is_good)
                return program;
        if (program)
                graph_program_discard(program);
        return NULL;
}
