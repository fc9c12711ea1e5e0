/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is on a GPU, for the files that tell of processes.
 */
#ifndef ALIQUOT_SIM_NVML_PROCESS_H
#define ALIQUOT_SIM_NVML_PROCESS_H

#include "sim/nvml/nvml.h"

struct gpu_process {
        unsigned pid; /* in this process's PID namespace */
        unsigned row, unit;
        unsigned instance_id; /* NVML_NO_INSTANCE on a whole card */
        uint64_t used_bytes;
        uint64_t high_bytes;
};

/* All that are visible from here; taken by the caller, who frees it. NULL: no memory. */
struct gpu_process *gpu_process_list(const struct gpu *gpu, unsigned *ret_count);

/* NVML's number of an instance, NVML_NO_INSTANCE for a card. */
unsigned gpu_instance_id(const struct gpu *gpu);

#endif
