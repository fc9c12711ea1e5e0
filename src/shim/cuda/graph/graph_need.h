/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes how much memory a graph needs on each device, by walking the graph.
 *
 * It is the sum of the graph's allocation nodes, including those of child graphs, each rounded up
 * to a block. The order in which they run does not matter: nodes that are freed in between make the
 * sum an upper bound. If the driver does not describe a part, the whole is unknown.
 */
#ifndef ALIQUOT_SHIM_CUDA_GRAPH_GRAPH_NEED_H
#define ALIQUOT_SHIM_CUDA_GRAPH_GRAPH_NEED_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "shim/cuda/state/places.h"

struct graph_need {
        uint64_t bytes[STATE_DEVICES]; /* by ordinal */
        bool is_any;
        bool stays; /* some of it stays allocated when the graph has completed */
        bool is_unknown;
        /* Hashes of the addresses that it allocates, less those of the addresses that it frees; and
         * the same for their number. Both are 0 if it frees all that it allocates. */
        uint64_t sum, count;
        uint64_t key; /* of the hashes: random, the process's own */
};

/* False: it is unknown. */
bool graph_need(CUgraph graph, struct graph_need *ret);

#endif
