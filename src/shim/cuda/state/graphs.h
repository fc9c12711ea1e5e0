/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of graph.h: executable graphs with memory nodes. Wiped in a forked child: state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_GRAPHS_H
#define ALIQUOT_SHIM_CUDA_STATE_GRAPHS_H

#include <stdint.h>

#include "common/atomic.h"
#include "shim/cuda/state/table.h"
#include "shim/lock.h"

struct graph_state {
        struct lock graphs_lock;
        struct handle_table graphs;          /* struct graph_part */
        _Atomic uint32_t graphs_with_memory; /* entries of `graphs`; 0 in most programs */
};

extern struct graph_state graph_state;

#endif
