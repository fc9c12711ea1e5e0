/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accounting: always switched on, for the running processes only. Ended processes are not kept.
 */
#include <stdlib.h>

#include "common/atomic.h"
#include "sim/node/clock.h"
#include "sim/nvml/process.h"

nvmlReturn_t nvmlDeviceGetAccountingPids(nvmlDevice_t handle, unsigned *count, unsigned *ret_pids)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, count, &gpu);
        unsigned found;

        if (rc != NVML_SUCCESS)
                return rc;
        struct gpu_process *list = gpu_process_list(gpu, &found);
        if (!list)
                return NVML_ERROR_MEMORY;
        if (*count < found)
                rc = NVML_ERROR_INSUFFICIENT_SIZE;
        for (unsigned i = 0; i < found && rc == NVML_SUCCESS && ret_pids; i++)
                ret_pids[i] = list[i].pid;
        *count = found;
        free(list);
        return rc;
}

static void stats_fill(const struct gpu_process *process, nvmlAccountingStats_t *ret)
{
        const struct node_row *row = &nvml.node->row[process->row];
        const struct node_meter *meter = nvml.node->meter[process->row][process->unit];
        uint64_t life_ns = sim_now_ns() - row->attached_ns;

        if (life_ns == 0)
                life_ns = 1;
        *ret = (nvmlAccountingStats_t){
                .gpuUtilization =
                        (unsigned)(load_relaxed(&meter[ENGINE_COMPUTE].total_ns) * 100 / life_ns),
                .memoryUtilization =
                        (unsigned)(load_relaxed(&meter[ENGINE_COPY].total_ns) * 100 / life_ns),
                .maxMemoryUsage = process->high_bytes,
                .time = 0,
                .startTime = wall_us(row->attached_ns),
                .isRunning = 1,
        };
}

/* `time` is 0 while the process runs, as in the real NVML. */
nvmlReturn_t nvmlDeviceGetAccountingStats(nvmlDevice_t handle, unsigned pid,
                                          nvmlAccountingStats_t *ret_stats)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_stats, &gpu);
        unsigned found;

        if (rc != NVML_SUCCESS)
                return rc;
        struct gpu_process *list = gpu_process_list(gpu, &found);
        if (!list)
                return NVML_ERROR_MEMORY;
        rc = NVML_ERROR_NOT_FOUND;
        for (unsigned i = 0; i < found && rc != NVML_SUCCESS; i++) {
                if (list[i].pid != pid)
                        continue;
                stats_fill(&list[i], ret_stats);
                rc = NVML_SUCCESS;
        }
        free(list);
        return rc;
}
