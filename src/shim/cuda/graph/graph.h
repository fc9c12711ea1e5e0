/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executable graphs with memory nodes, as they were found when they were instantiated.
 *
 * A graph without memory nodes is not noted, and its launch costs one load more.
 *
 * cuda.api makes hooks of the functions here. Each is given the driver's function; `stream` comes
 * with the default stream spelt out, `given` as the program said it.
 */
#ifndef ALIQUOT_SHIM_CUDA_GRAPH_GRAPH_H
#define ALIQUOT_SHIM_CUDA_GRAPH_GRAPH_H

#include "shim/cuda/graph/graph_need.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/state/table.h"
#include "shim/cuda/stream/submit.h"

/* Graphs that hold memory on more cards than this are refused. */
#define GRAPH_DEVICES 16u

/* The memory of an executable graph on one card. Guarded by graphs_lock. */
struct graph_part {
        struct table_link link; /* key: the graph */
        struct place place;
        uint64_t need_bytes;
        bool stays;              /* some of it stays allocated when the graph has completed */
        uint64_t generation;     /* of the meter when it was last launched; 0: never */
        struct graph_part *next; /* next of the parts that are taken out together */
};

CUresult graph_instantiate(__typeof__(&cuGraphInstantiate) driver, CUgraphExec *ret, CUgraph graph,
                           CUgraphNode *error_node, char *log, size_t log_bytes);
CUresult graph_instantiate_with(__typeof__(&cuGraphInstantiateWithParams) driver, CUgraphExec *ret,
                                CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params,
                                CUstream stream);
CUresult graph_upload(__typeof__(&cuGraphUpload) driver, CUgraphExec exec, CUstream given,
                      CUstream stream);
CUresult graph_launch(__typeof__(&cuGraphLaunch) driver, CUgraphExec exec, CUstream given,
                      struct submission submission);

#endif
