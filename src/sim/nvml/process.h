/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the processes on a GPU, for the files that implement queries about processes.
 */
#ifndef ALIQUOT_SIM_NVML_PROCESS_H
#define ALIQUOT_SIM_NVML_PROCESS_H

#include "sim/nvml/nvml.h"

struct gpu_process {
        unsigned pid; /* pid in the caller's PID namespace */
        unsigned row, unit;
        unsigned instance_id; /* id of the MIG instance; NVML_NO_INSTANCE on a whole card */
        uint64_t used_bytes;
        uint64_t high_bytes;
};

/* Lists all processes that this process can see; the caller frees the list. NULL: out of memory. */
struct gpu_process *gpu_process_list(const struct gpu *gpu, unsigned *ret_count);

/* Returns NVML's id of an instance; NVML_NO_INSTANCE for a card. */
unsigned gpu_instance_id(const struct gpu *gpu);

#endif
