/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of charge/host_frees.h: blocks of host memory that were freed in stream order. Wiped in a
 * forked child: state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_HOST_FREES_H
#define ALIQUOT_SHIM_CUDA_STATE_HOST_FREES_H

#include <stdint.h>

#include "common/atomic.h"
#include "shim/cuda/state/table.h"
#include "shim/lock.h"

struct host_frees_state {
        /* Calls in flight that may end contexts, and calls in flight that unpin blocks. No block is
         * unpinned while its context may end. */
        _Atomic uint32_t host_free_ends;
        _Atomic uint32_t host_free_sweeps;

        struct lock host_frees_lock;
        struct handle_table host_frees; /* struct host_free */
        uint64_t host_frees_last_number;
        _Atomic uint32_t host_frees_live; /* blocks that were freed and are still pinned */
};

extern struct host_frees_state host_frees_state;

#endif
