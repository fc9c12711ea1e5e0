/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The card models: published figures of three cards, and the rates that copies reach in practice.
 *
 * context_bytes is what one context takes of the card before the program allocates anything.
 * Measured values depend on driver and card; these are round values of that magnitude. The figures
 * that begin with real_ have their sources in docs/simulator-memory.md.
 */
#include "sim/context/device.h"
#include "sim/node/config.h"

#define GIB (1ULL << 30)
#define MIB (1ULL << 20)
#define GB 1000000000ULL

static const struct model_spec specs[MODEL_COUNT] = {
        [MODEL_T4] = {
                .key = "t4",
                .name = "Tesla T4",
                .memory_bytes = 15 * GIB,
                .context_bytes = 104 * MIB,
                .real_memory_bytes = 15095 * MIB,
                .real_reserved_bytes = 265 * MIB,
                .real_context_bytes = 104 * MIB,
                .capability_major = 7,
                .capability_minor = 5,
                .multiprocessors = 40,
                .cores_per_multiprocessor = 64,
                .clock_khz = 1590000,
                .memory_clock_khz = 5001000,
                .bus_bits = 256,
                .l2_bytes = 4 << 20,
                .shared_block_bytes = 48 << 10,
                .shared_block_optin_bytes = 64 << 10,
                .shared_multiprocessor_bytes = 64 << 10,
                .threads_per_multiprocessor = 1024,
                .blocks_per_multiprocessor = 16,
                .copy_engines = 3,
                .host_rate = 12 * GB,
                .pageable_rate = 6 * GB,
                .peer_rate = 10 * GB,
                .device_rate = 240 * GB,
                .power_limit_mw = 70000,
                .idle_power_mw = 10000,
                .pcie_generation = 3,
                .pcie_width = 16,
                .pci_device_id = 0x1eb810de,
                .pci_subsystem_id = 0x12a210de,
                .brand = "NVIDIA",
        },
        [MODEL_A100] = {
                .key = "a100",
                .name = "NVIDIA A100-SXM4-80GB",
                .memory_bytes = 80 * GIB,
                .context_bytes = 424 * MIB,
                .real_memory_bytes = 80 * GIB - 616 * MIB,
                .real_reserved_bytes = 616 * MIB,
                .real_context_bytes = 424 * MIB,
                .capability_major = 8,
                .capability_minor = 0,
                .multiprocessors = 108,
                .cores_per_multiprocessor = 64,
                .clock_khz = 1410000,
                .memory_clock_khz = 1593000,
                .bus_bits = 5120,
                .l2_bytes = 40 << 20,
                .shared_block_bytes = 48 << 10,
                .shared_block_optin_bytes = 163 << 10,
                .shared_multiprocessor_bytes = 164 << 10,
                .threads_per_multiprocessor = 2048,
                .blocks_per_multiprocessor = 32,
                .copy_engines = 3,
                .host_rate = 24 * GB,
                .pageable_rate = 8 * GB,
                .peer_rate = 250 * GB,
                .device_rate = 1500 * GB,
                .power_limit_mw = 400000,
                .idle_power_mw = 55000,
                .pcie_generation = 4,
                .pcie_width = 16,
                .pci_device_id = 0x20b210de,
                .pci_subsystem_id = 0x146310de,
                .brand = "NVIDIA",
        },
        [MODEL_H200] = {
                .key = "h200",
                .name = "NVIDIA H200",
                .memory_bytes = 141 * GIB,
                .context_bytes = 520 * MIB,
                .real_memory_bytes = 150109880320,
                .real_reserved_bytes = 644939776,
                .real_context_bytes = 518 * MIB,
                .capability_major = 9,
                .capability_minor = 0,
                .multiprocessors = 132,
                .cores_per_multiprocessor = 128,
                .clock_khz = 1980000,
                .memory_clock_khz = 3201000,
                .bus_bits = 6144,
                .l2_bytes = 60 << 20,
                .shared_block_bytes = 48 << 10,
                .shared_block_optin_bytes = 227 << 10,
                .shared_multiprocessor_bytes = 228 << 10,
                .threads_per_multiprocessor = 2048,
                .blocks_per_multiprocessor = 32,
                .copy_engines = 3,
                .host_rate = 53 * GB,
                .pageable_rate = 12 * GB,
                .peer_rate = 380 * GB,
                .device_rate = 3900 * GB,
                .power_limit_mw = 700000,
                .idle_power_mw = 75000,
                .pcie_generation = 5,
                .pcie_width = 16,
                .pci_device_id = 0x233510de,
                .pci_subsystem_id = 0x18be10de,
                .brand = "NVIDIA",
        },
};

int model_multiprocessors(const struct model_spec *spec)
{
        int asked = config_get()->multiprocessors;

        return asked ? asked : spec->multiprocessors;
}

const struct model_spec *model_spec(enum sim_model model)
{
        return &specs[model];
}
