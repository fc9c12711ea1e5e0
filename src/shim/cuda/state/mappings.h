/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of vmm.c: handles and mappings of virtual memory. Wiped in a forked child: state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_MAPPINGS_H
#define ALIQUOT_SHIM_CUDA_STATE_MAPPINGS_H

#include <stdint.h>

#include "shim/cuda/state/table.h"
#include "shim/lock.h"

struct mapping_state {
        struct lock vmm_lock;
        struct handle_table vmm_handles;  /* struct vmm_allocation */
        struct handle_table vmm_mappings; /* struct vmm_mapping */
        uint64_t vmm_last_id;
};

extern struct mapping_state mapping_state;

#endif
