/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executable graphs with memory (graph.h). Wiped in a forked child: state.h.
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
        _Atomic uint32_t graphs_with_memory; /* parts in there: most programs have none */
};

extern struct graph_state graph_state;

#endif
