/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An NVML that hangs when it is told to, for tests of those who ask it: the simulated node's, but
 * the memory of a GPU is told only while the file HANGING_NVML does not exist, and its temperature
 * never.
 */
#include <stdlib.h>
#include <unistd.h>

#pragma GCC visibility push(default)
#include "abi/nvml.h"
#pragma GCC visibility pop

#define LOOK_US 5000

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *ret)
{
        const char *path = getenv("HANGING_NVML");
        nvmlMemory_t memory;
        nvmlReturn_t rc;

        while (path && access(path, F_OK) == 0)
                usleep(LOOK_US);
        rc = nvmlDeviceGetMemoryInfo(device, &memory);
        if (rc == NVML_SUCCESS) {
                ret->total = memory.total;
                ret->used = memory.used;
                ret->free = memory.free;
                ret->reserved = 0;
        }
        return rc;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
                                      unsigned *ret)
{
        return NVML_ERROR_NOT_SUPPORTED;
}
