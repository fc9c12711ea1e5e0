/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the memory need of executable graphs with memory nodes, as computed when they were
 * instantiated.
 *
 * Nothing is stored for a graph without memory nodes; its launch costs one load more.
 *
 * gen-api makes hooks from the functions here, as cuda.api says. Parameters: `driver` is the
 * driver's function; `stream` is the stream with CU_STREAM_LEGACY or CU_STREAM_PER_THREAD for a
 * default stream; `given` is the stream as the program gave it.
 */
#ifndef ALIQUOT_SHIM_CUDA_GRAPH_GRAPH_H
#define ALIQUOT_SHIM_CUDA_GRAPH_GRAPH_H

#include "shim/cuda/graph/graph_need.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/state/table.h"
#include "shim/cuda/stream/submit.h"

/* Maximum number of cards on which one graph may hold memory. Other graphs are refused. */
#define GRAPH_DEVICES 16u

/* The memory that an executable graph needs on one card. Guarded by graphs_lock. */
struct graph_part {
        struct table_link link; /* key: handle of the executable graph */
        struct place place;
        uint64_t need_bytes;
        /* Some of the memory stays allocated after the graph has completed. */
        bool stays;
        /* The meter's generation at the last launch of the graph; 0: never launched. */
        uint64_t generation;
        struct graph_part *next; /* next part in the list that take_parts() returns */
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
