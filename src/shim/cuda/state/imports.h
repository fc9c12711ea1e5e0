/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of import.h and orphan.h: memory that is shared with other processes. Wiped in a forked
 * child: state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_IMPORTS_H
#define ALIQUOT_SHIM_CUDA_STATE_IMPORTS_H

#include <stdint.h>

#include "common/atomic.h"
#include "shim/cuda/state/table.h"
#include "shim/lock.h"

struct shared_state {
        struct lock imports_lock;
        /* struct memory_import: memory of other processes that this process imports. */
        struct handle_table imports;
        struct handle_table import_handles; /* struct import_handle: imports by address or handle */
        /* struct memory_export: memory of this process that others may import. */
        struct handle_table exports;
        _Atomic uint32_t exports_live;
        _Atomic uint32_t imports_uncharged;
        /* struct orphan: memory freed by this process that others still import. */
        struct handle_table orphans;
        _Atomic uint32_t orphans_live;
        uint64_t imports_last_id;
};

extern struct shared_state shared_state;

#endif
