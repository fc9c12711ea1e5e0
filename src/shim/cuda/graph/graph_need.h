/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What memory a graph will need on each device, found by walking it.
 *
 * The sum of its allocation nodes, those of child graphs included, each rounded up to a block. It
 * does not matter in which order they run: nodes that are freed in between make the sum an upper
 * bound. A part that the driver does not tell makes all of it unknown.
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
        bool stays; /* some of it is allocated still when the graph is over */
        bool is_unknown;
        /* Hashes of the addresses that it allocates, less those of the addresses that it frees; and
         * the same of their number. Both are 0 where it frees what it allocates. */
        uint64_t sum, count;
        uint64_t key; /* of the hashes: random, the process's own */
};

/* False: it is unknown. */
bool graph_need(CUgraph graph, struct graph_need *ret);

#endif
