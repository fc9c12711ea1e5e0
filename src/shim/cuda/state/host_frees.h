/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's memory that was freed in stream order (charge/host_frees.h). Wiped in a forked child:
 * state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_HOST_FREES_H
#define ALIQUOT_SHIM_CUDA_STATE_HOST_FREES_H

#include <stdint.h>

#include "common/atomic.h"
#include "shim/cuda/state/table.h"
#include "shim/lock.h"

struct host_frees_state {
        /* Calls in flight: that may end contexts, and that unpin blocks. A block is not unpinned
         * while its context may end. */
        _Atomic uint32_t host_free_ends;
        _Atomic uint32_t host_free_sweeps;

        struct lock host_frees_lock;
        struct handle_table host_frees; /* struct host_free */
        uint64_t host_frees_last_number;
        _Atomic uint32_t host_frees_live; /* freed and still pinned */
};

extern struct host_frees_state host_frees_state;

#endif
