/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes how much memory a graph needs on each device, from the graph's nodes.
 *
 * The need is the sum of the graph's allocation nodes, including those of child graphs, each
 * rounded up to the driver's block size. The order in which the nodes run is ignored: memory that
 * is freed in between makes the sum an upper bound. If the driver does not describe some node, the
 * whole need is unknown.
 */
#ifndef ALIQUOT_SHIM_CUDA_GRAPH_GRAPH_NEED_H
#define ALIQUOT_SHIM_CUDA_GRAPH_GRAPH_NEED_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "shim/cuda/state/places.h"

struct graph_need {
        uint64_t bytes[STATE_DEVICES]; /* by device ordinal */
        /* The graph has an allocation node on a card. */
        bool is_any;
        bool stays; /* some of the memory stays allocated after the graph has completed */
        bool is_unknown;
        /* `sum`: hashes of the addresses that the graph allocates, minus the hashes of those that
         * it frees. `count`: the number of allocations minus the number of frees. Both are 0 if the
         * graph frees all that it allocates. */
        uint64_t sum, count;
        uint64_t key; /* random key of the hashes, one per process */
};

/* Computes the need of `graph`. False: the need is unknown. */
bool graph_need(CUgraph graph, struct graph_need *ret);

#endif
