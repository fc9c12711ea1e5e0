/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the processes on a GPU, for the files that answer questions about them.
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

/* All processes visible from here; the caller frees the list. NULL: no memory. */
struct gpu_process *gpu_process_list(const struct gpu *gpu, unsigned *ret_count);

/* NVML's number of an instance, NVML_NO_INSTANCE for a card. */
unsigned gpu_instance_id(const struct gpu *gpu);

#endif
