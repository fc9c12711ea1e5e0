/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory and utilisation of a GPU, from what the node granted and from the meters of its engines.
 *
 * The total memory is memory= plus reserved=, and free memory is what cuMemGetInfo returns as free.
 * The old call counts the reserved memory as used, the new one reports it separately. Utilisation
 * is the part of the last second in which kernels ran; `memory` is the part in which copies ran,
 * since the memory traffic of kernels is not modelled. Instances and divided cards have no
 * utilisation, as in the real NVML.
 */
#include "sim/nvml/nvml.h"

#include <string.h>

#include "sim/node/clock.h"

struct memory_sum {
        uint64_t total_bytes; /* includes the reserved memory */
        uint64_t reserved_bytes;
        uint64_t used_bytes; /* granted memory */
        uint64_t free_bytes;
};

static void device_add(unsigned unit, struct memory_sum *sum)
{
        const struct node_device *device = &nvml.node->device[unit];

        node_device_lock(nvml.node, unit);
        uint64_t left = device->memory_bytes - device->used_bytes;
        uint64_t managed = device->managed_bytes < left ? device->managed_bytes : left;
        sum->total_bytes += device->memory_bytes;
        sum->used_bytes += device->used_bytes + managed;
        node_device_unlock(nvml.node, unit);
}

/* Reads the memory of all units of the GPU, after the memory of dead processes was removed if
 * due. */
static void read_memory(const struct gpu *gpu, struct memory_sum *ret)
{
        struct memory_sum sum = { 0 };

        node_settle(nvml.node);
        for (unsigned i = 0; i < gpu->unit_count; i++)
                device_add(gpu->first_unit + i, &sum);
        sum.free_bytes = sum.total_bytes - sum.used_bytes;
        if (!gpu->is_instance)
                sum.reserved_bytes = nvml.config->reserved_bytes;
        sum.total_bytes += sum.reserved_bytes;
        *ret = sum;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t handle, nvmlMemory_t *ret_memory)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(__func__, handle, ret_memory, &gpu);
        struct memory_sum memory;

        if (rc != NVML_SUCCESS)
                return rc;
        read_memory(gpu, &memory);
        *ret_memory = (nvmlMemory_t){ .total = memory.total_bytes,
                                      .free = memory.free_bytes,
                                      .used = memory.used_bytes + memory.reserved_bytes };
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t handle, nvmlMemory_v2_t *ret_memory)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(__func__, handle, ret_memory, &gpu);
        struct memory_sum memory;

        if (rc != NVML_SUCCESS)
                return rc;
        if (ret_memory->version != nvmlMemory_v2)
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        read_memory(gpu, &memory);
        ret_memory->total = memory.total_bytes;
        ret_memory->reserved = memory.reserved_bytes;
        ret_memory->free = memory.free_bytes;
        ret_memory->used = memory.used_bytes;
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t handle, nvmlBAR1Memory_t *ret_memory)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(__func__, handle, ret_memory, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        ret_memory->bar1Total = nvml.model->bar1_bytes;
        ret_memory->bar1Used = 1ULL << 20;
        ret_memory->bar1Free = ret_memory->bar1Total - ret_memory->bar1Used;
        return NVML_SUCCESS;
}

unsigned percent_of(uint64_t part, uint64_t whole)
{
        if (part >= whole)
                return whole ? 100 : 0;
        return (unsigned)(part * 100 / whole);
}

static unsigned percent_until(const struct gpu *gpu, enum engine engine, uint64_t end_ns,
                              uint64_t window_ns)
{
        uint64_t busy_ns = 0;

        for (unsigned i = 0; i < gpu->unit_count; i++)
                busy_ns += node_meter_read(&nvml.node->device[gpu->first_unit + i].meter[engine],
                                           end_ns, window_ns);
        return percent_of(busy_ns, window_ns * gpu->unit_count);
}

unsigned gpu_busy_percent(const struct gpu *gpu, enum engine engine)
{
        return percent_until(gpu, engine, sim_now_ns(), NVML_WINDOW_NS);
}

/* Returns the utilisation. With utilization= it is that of the last complete period, as hardware
 * reports it. */
static unsigned told_percent(const struct gpu *gpu, enum engine engine)
{
        uint64_t period_ns = nvml.config->utilization_ns;
        uint64_t now_ns = sim_now_ns();

        if (!period_ns)
                return gpu_busy_percent(gpu, engine);
        return percent_until(gpu, engine, now_ns - now_ns % period_ns, period_ns);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t handle, nvmlUtilization_t *ret_rates)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_rates, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (gpu->is_divided)
                return NVML_ERROR_NOT_SUPPORTED;
        ret_rates->gpu = told_percent(gpu, ENGINE_COMPUTE);
        ret_rates->memory = told_percent(gpu, ENGINE_COPY);
        return NVML_SUCCESS;
}
