/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is shared with other processes (import.h, orphan.h). Wiped in a forked child:
 * state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_IMPORTS_H
#define ALIQUOT_SHIM_CUDA_STATE_IMPORTS_H

#include <stdint.h>

#include "common/atomic.h"
#include "shim/cuda/state/table.h"
#include "shim/lock.h"

struct shared_state {
        struct lock imports_lock;
        struct handle_table imports;        /* struct memory_import: what we hold of others */
        struct handle_table import_handles; /* struct import_handle */
        struct handle_table exports;        /* struct memory_export: of ours, others may hold it */
        _Atomic uint32_t exports_live;
        _Atomic uint32_t imports_uncharged;
        struct handle_table orphans; /* struct orphan: given back by us, held by others */
        _Atomic uint32_t orphans_live;
        uint64_t imports_last_id;
};

extern struct shared_state shared_state;

#endif
