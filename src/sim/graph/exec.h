/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executable graphs: instantiated from a graph, launched, updated.
 *
 * An executable graph keeps a copy of its graph (to find corresponding nodes and compare the shape)
 * and the program compiled from that copy. A launch queues the program. Launches of one executable
 * graph run one after the other, even in different streams.
 */
#ifndef ALIQUOT_SIM_GRAPH_EXEC_H
#define ALIQUOT_SIM_GRAPH_EXEC_H

#include "sim/exec/event.h"
#include "sim/graph/graph.h"
#include "sim/graph/program.h"
#include "sim/memory/memory.h"

#define GRAPH_EXEC_MAGIC 0x47726558u

struct program_node {
        struct node_body body;       /* owned; empty for a child graph node, see `child` */
        struct graph_program *child; /* a reference to the program of a child graph, or NULL */
        uint32_t *after;             /* indices of the nodes on which this one depends; owned */
        size_t after_count;
        bool is_disabled;
        uint64_t end_ns, end_clock; /* end of the node in the launch that runs now */
};

struct graph_program {
        _Atomic uint32_t references;
        size_t count;
        struct program_node *nodes;
        /* of the unfinished launch; a program that allocates memory has at most one */
        struct graph_mapping mapping;
};

struct CUgraphExec_st {
        uint32_t magic;
        unsigned long long flags;
        /* its own copy, in which node->original is the node of the program's graph */
        CUgraph graph;
        struct graph_program *program; /* NULL after a change of the graph, until the next launch */
        CUevent last; /* event that is recorded after each launch; NULL before the first */
};

CUresult graph_exec_check(CUgraphExec exec);

/* Returns the node of the executable graph, or of a child graph in it, that was copied from this
 * node of the original graph. */
CUgraphNode graph_exec_node(CUgraphExec exec, CUgraphNode node);

/* Compiles a program from the graph. The caller holds graph_lock. NULL: out of host memory. */
struct graph_program *graph_compile(CUgraph graph);

/* Frees a program that has no references. The caller holds graph_lock. */
void graph_program_discard(struct graph_program *program);

#endif
