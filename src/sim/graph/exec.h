/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executable graphs: instantiated from a graph, launched, updated.
 *
 * An executable graph keeps a copy of its graph (to find its nodes and its shape) and the program
 * compiled from it. A launch queues the program; launches of one executable graph run one after the
 * other, in any streams.
 */
#ifndef ALIQUOT_SIM_GRAPH_EXEC_H
#define ALIQUOT_SIM_GRAPH_EXEC_H

#include "sim/exec/event.h"
#include "sim/graph/graph.h"
#include "sim/graph/program.h"
#include "sim/memory/memory.h"

#define GRAPH_EXEC_MAGIC 0x47726558u

struct program_node {
        struct node_body body;       /* owned; of a child graph node empty, see `child` */
        struct graph_program *child; /* a reference, or NULL */
        uint32_t *after;             /* indices of the nodes on which it depends; owned */
        size_t after_count;
        bool is_disabled;
        uint64_t end_ns, end_clock; /* of the launch that runs */
};

struct graph_program {
        _Atomic uint32_t references;
        size_t count;
        struct program_node *nodes;
        struct graph_mapping
                mapping; /* of its unfinished launch: there is at most one if it allocates */
};

struct CUgraphExec_st {
        uint32_t magic;
        unsigned long long flags;
        CUgraph graph;                 /* its own copy; node->original is the original node */
        struct graph_program *program; /* NULL after a change, until the next launch */
        CUevent last;                  /* recorded after each launch; NULL before the first */
};

CUresult graph_exec_check(CUgraphExec exec);

/* The copy, in the executable graph or its children, of a node of the original graph. */
CUgraphNode graph_exec_node(CUgraphExec exec, CUgraphNode node);

/* graph_lock held. NULL: out of host memory. */
struct graph_program *graph_compile(CUgraph graph);

/* graph_lock held: frees a program without references. */
void graph_program_discard(struct graph_program *program);

#endif
