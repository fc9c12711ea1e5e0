/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Temperature, power and fans, linear from idle to busy.
 *
 * A card's power is its idle power plus a part of the range from there to nine tenths of its limit;
 * the part is how busy the card was in the last second. Its temperature rises by the same
 * proportion. Energy is computed in the same way over the node's whole life. All three models are
 * cooled by the machine's fans, so fans are NOT_SUPPORTED as with the real cards.
 */
#include "sim/nvml/nvml.h"

#include "common/atomic.h"
#include "sim/node/clock.h"

#define IDLE_CELSIUS 32
#define BUSY_CELSIUS 36

unsigned gpu_celsius(const struct gpu *gpu)
{
        return IDLE_CELSIUS + gpu_busy_percent(gpu, ENGINE_COMPUTE) * BUSY_CELSIUS / 100;
}

static unsigned swing_mw(void)
{
        return nvml.spec->power_limit_mw / 10 * 9 - nvml.spec->idle_power_mw;
}

unsigned gpu_power_mw(const struct gpu *gpu)
{
        return nvml.spec->idle_power_mw +
               (unsigned)((uint64_t)swing_mw() * gpu_busy_percent(gpu, ENGINE_COMPUTE) / 100);
}

uint64_t gpu_energy_mj(const struct gpu *gpu)
{
        double busy_s = 0;
        double life_s = (double)(sim_now_ns() - nvml.node->made_ns) / 1e9;

        for (unsigned i = 0; i < gpu->unit_count; i++) {
                const struct node_device *device = &nvml.node->device[gpu->first_unit + i];

                busy_s += (double)load_relaxed(&device->meter[ENGINE_COMPUTE].total_ns) / 1e9;
        }
        return (uint64_t)(life_s * nvml.spec->idle_power_mw +
                          busy_s / gpu->unit_count * swing_mw());
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t handle, nvmlTemperatureSensors_t sensor,
                                      unsigned *ret_celsius)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_celsius, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (sensor != NVML_TEMPERATURE_GPU)
                return NVML_ERROR_INVALID_ARGUMENT;
        *ret_celsius = gpu_celsius(gpu);
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t handle, nvmlTemperature_t *ret_temperature)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_temperature, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (ret_temperature->version != nvmlTemperature_v1)
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        if (ret_temperature->sensorType != NVML_TEMPERATURE_GPU)
                return NVML_ERROR_INVALID_ARGUMENT;
        ret_temperature->temperature = (int)gpu_celsius(gpu);
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t handle,
                                            nvmlMarginTemperature_t *ret_margin)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_margin, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (ret_margin->version != nvmlMarginTemperature_v1)
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        ret_margin->marginTemperature = (int)nvml.model->gpu_max_celsius - (int)gpu_celsius(gpu);
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t handle,
                                               nvmlTemperatureThresholds_t type,
                                               unsigned *ret_celsius)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_celsius, &gpu);
        unsigned limit;

        if (rc != NVML_SUCCESS)
                return rc;
        switch (type) {
        case NVML_TEMPERATURE_THRESHOLD_SHUTDOWN:
                limit = nvml.model->shutdown_celsius;
                break;
        case NVML_TEMPERATURE_THRESHOLD_SLOWDOWN:
                limit = nvml.model->slowdown_celsius;
                break;
        case NVML_TEMPERATURE_THRESHOLD_GPU_MAX:
                limit = nvml.model->gpu_max_celsius;
                break;
        case NVML_TEMPERATURE_THRESHOLD_MEM_MAX:
                limit = nvml.model->memory_max_celsius;
                break;
        default:
                return (unsigned)type < NVML_TEMPERATURE_THRESHOLD_COUNT
                               ? NVML_ERROR_NOT_SUPPORTED
                               : NVML_ERROR_INVALID_ARGUMENT;
        }
        if (limit == 0)
                return NVML_ERROR_NOT_SUPPORTED;
        *ret_celsius = limit;
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t handle, unsigned *ret_mw)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_mw, &gpu);

        if (rc == NVML_SUCCESS)
                *ret_mw = gpu_power_mw(gpu);
        return rc;
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t handle, unsigned long long *ret_mj)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_mj, &gpu);

        if (rc == NVML_SUCCESS)
                *ret_mj = gpu_energy_mj(gpu);
        return rc;
}

nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t handle, unsigned *ret_min,
                                                          unsigned *ret_max)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_min, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!ret_max)
                return NVML_ERROR_INVALID_ARGUMENT;
        *ret_min = nvml.model->min_power_limit_mw;
        *ret_max = nvml.spec->power_limit_mw;
        return NVML_SUCCESS;
}
