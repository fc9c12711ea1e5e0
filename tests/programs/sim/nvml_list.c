/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml-list: prints "INDEX PID BYTES" for every process that NVML lists on every card; with an
 * argument instead "INDEX TOTAL RESERVED FREE USED", the memory of every card.
 */
#include <stdio.h>

#include "abi/nvml.h"

#define MOST 64

static int card_memory(unsigned index)
{
        nvmlMemory_v2_t memory = { .version = nvmlMemory_v2 };
        nvmlDevice_t device;
        nvmlReturn_t rc = nvmlDeviceGetHandleByIndex_v2(index, &device);

        if (rc == NVML_SUCCESS)
                rc = nvmlDeviceGetMemoryInfo_v2(device, &memory);
        printf("%u %llu %llu %llu %llu\n", index, memory.total, memory.reserved, memory.free,
               memory.used);
        return rc != NVML_SUCCESS;
}

static int card_list(unsigned index)
{
        nvmlProcessInfo_t infos[MOST];
        nvmlDevice_t device;
        unsigned count = MOST;
        nvmlReturn_t rc = nvmlDeviceGetHandleByIndex_v2(index, &device);

        if (rc == NVML_SUCCESS)
                rc = nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos);
        if (rc != NVML_SUCCESS) {
                fprintf(stderr, "nvml-list: card %u: %s\n", index, nvmlErrorString(rc));
                return 1;
        }
        for (unsigned i = 0; i < count; i++)
                printf("%u %u %llu\n", index, infos[i].pid, infos[i].usedGpuMemory);
        return 0;
}

int main(int argc, char **argv)
{
        (void)argv;
        unsigned count = 0;
        int failed = nvmlInit_v2() != NVML_SUCCESS || nvmlDeviceGetCount_v2(&count) != NVML_SUCCESS;

        for (unsigned index = 0; index < count; index++)
                failed |= argc > 1 ? card_memory(index) : card_list(index);
        return failed;
}
