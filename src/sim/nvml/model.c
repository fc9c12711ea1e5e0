/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of the models that only NVML reports, in addition to sim/node/model.c. They are
 * published figures where there are any; part numbers, VBIOS versions and serial numbers are
 * invented.
 */
#include "sim/nvml/nvml.h"

static const struct nvml_model models[MODEL_COUNT] = {
        [MODEL_T4] = {
                .brand = NVML_BRAND_TESLA,
                .architecture = NVML_DEVICE_ARCH_TURING,
                .bar1_bytes = 256ULL << 20,
                .idle_clock_mhz = 300,
                .idle_memory_clock_mhz = 405,
                .video_clock_mhz = 1470,
                .shutdown_celsius = 96,
                .slowdown_celsius = 93,
                .gpu_max_celsius = 85,
                .idle_state = NVML_PSTATE_8,
                .min_power_limit_mw = 60000,
                .part_number = "900-2G183-SIM0-000",
                .vbios = "90.04.00.00.01",
                .board_serial = "1320000000000",
        },
        [MODEL_A100] = {
                .brand = NVML_BRAND_NVIDIA,
                .architecture = NVML_DEVICE_ARCH_AMPERE,
                .bar1_bytes = 128ULL << 30,
                .idle_clock_mhz = 210,
                .idle_memory_clock_mhz = 1593,
                .video_clock_mhz = 1275,
                .shutdown_celsius = 92,
                .slowdown_celsius = 89,
                .gpu_max_celsius = 85,
                .memory_max_celsius = 95,
                .idle_state = NVML_PSTATE_0,
                .min_power_limit_mw = 100000,
                .has_row_remapping = true,
                .has_memory_sensor = true,
                .can_divide = true,
                .part_number = "692-2G506-SIM0-002",
                .vbios = "92.00.00.00.01",
                .board_serial = "1560000000000",
        },
        [MODEL_H200] = {
                .brand = NVML_BRAND_NVIDIA,
                .architecture = NVML_DEVICE_ARCH_HOPPER,
                .bar1_bytes = 256ULL << 30,
                .idle_clock_mhz = 345,
                .idle_memory_clock_mhz = 3201,
                .video_clock_mhz = 1545,
                .shutdown_celsius = 92,
                .slowdown_celsius = 89,
                .gpu_max_celsius = 87,
                .memory_max_celsius = 95,
                .idle_state = NVML_PSTATE_0,
                .min_power_limit_mw = 200000,
                .has_row_remapping = true,
                .has_memory_sensor = true,
                .can_divide = true,
                .part_number = "692-2G520-SIM0-002",
                .vbios = "96.00.00.00.01",
                .board_serial = "1650000000000",
        },
};

const struct nvml_model *nvml_model(enum sim_model model)
{
        return &models[model];
}
