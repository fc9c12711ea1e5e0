/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/gauges.h"

#include <dlfcn.h>

#include "abi/nvml.h"
#include "common/uuid.h"

static struct {
        __typeof__(nvmlDeviceGetHandleByUUID) *by_uuid;
        __typeof__(nvmlDeviceGetUtilizationRates) *utilization;
        __typeof__(nvmlDeviceGetTemperature) *temperature;
        __typeof__(nvmlDeviceGetPowerUsage) *power;
        __typeof__(nvmlDeviceGetEnforcedPowerLimit) *power_limit;
} nvml;

void gauges_bind(void *handle)
{
        nvml.by_uuid = dlsym(handle, "nvmlDeviceGetHandleByUUID");
        nvml.utilization = dlsym(handle, "nvmlDeviceGetUtilizationRates");
        nvml.temperature = dlsym(handle, "nvmlDeviceGetTemperature");
        nvml.power = dlsym(handle, "nvmlDeviceGetPowerUsage");
        nvml.power_limit = dlsym(handle, "nvmlDeviceGetEnforcedPowerLimit");
}

static int watts(unsigned milliwatts)
{
        return (int)((milliwatts + 500) / 1000);
}

void gauges_read(const uint8_t uuid[16], bool is_instance, struct gauges *ret)
{
        char text[UUID_TEXT_BYTES];
        struct gauges gauges = GAUGES_UNKNOWN;
        nvmlUtilization_t rates;
        nvmlDevice_t device;
        unsigned value;

        *ret = gauges;
        if (!nvml.by_uuid ||
            nvml.by_uuid(uuid_format(uuid, is_instance, text), &device) != NVML_SUCCESS)
                return;
        if (nvml.utilization && nvml.utilization(device, &rates) == NVML_SUCCESS)
                gauges.busy_percent = (int)rates.gpu;
        if (nvml.temperature &&
            nvml.temperature(device, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS)
                gauges.celsius = (int)value;
        if (nvml.power && nvml.power(device, &value) == NVML_SUCCESS)
                gauges.power_watts = watts(value);
        if (nvml.power_limit && nvml.power_limit(device, &value) == NVML_SUCCESS)
                gauges.power_limit_watts = watts(value);
        *ret = gauges;
}
