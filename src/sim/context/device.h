/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices that a process sees, in the process's order, and the properties of each model.
 *
 * An ordinal (CUdevice) is a position in CUDA_VISIBLE_DEVICES. A unit is a device of the node, and
 * the index for all node_*() functions. Both are fixed at cuInit.
 */
#ifndef ALIQUOT_SIM_CONTEXT_DEVICE_H
#define ALIQUOT_SIM_CONTEXT_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "sim/node/node.h"

/* Properties of a model; NVML's functions use them too. */
struct model_spec {
        const char *key;  /* value of the key model= */
        const char *name; /* name as cuDeviceGetName() returns it */
        uint64_t memory_bytes;
        uint64_t context_bytes;
        /* With grants=real: the total in CUDA, the additional memory in NVML, and the size of a
         * context. */
        uint64_t real_memory_bytes, real_reserved_bytes, real_context_bytes;
        int capability_major, capability_minor;
        int multiprocessors, cores_per_multiprocessor;
        int clock_khz, memory_clock_khz, bus_bits;
        int l2_bytes;
        int shared_block_bytes, shared_block_optin_bytes, shared_multiprocessor_bytes;
        int threads_per_multiprocessor, blocks_per_multiprocessor;
        int copy_engines;
        uint64_t host_rate, pageable_rate, peer_rate, device_rate; /* bytes per second */
        unsigned power_limit_mw, idle_power_mw;
        unsigned pcie_generation, pcie_width;
        unsigned pci_device_id, pci_subsystem_id; /* (device << 16) | vendor */
        const char *brand;                        /* "Tesla", "NVIDIA" */
};

const struct model_spec *model_spec(enum sim_model model);

/* Returns the configured number of multiprocessors, or else the model's. */
int model_multiprocessors(const struct model_spec *spec);

int device_count(void);
bool device_is_valid(CUdevice device);

/* Returns the unit of a valid ordinal. */
unsigned device_unit(CUdevice device);

/* Returns the ordinal of a unit, or -1 if this process does not see the device. */
CUdevice device_of_unit(unsigned unit);

const struct node_device *device_node(CUdevice device);

/* Fills the list of visible devices from CUDA_VISIBLE_DEVICES; for cuInit, and for tests. */
struct device_list {
        unsigned count;
        unsigned unit[SIM_DEVICES];
};
void device_list_parse(const char *text, const struct sim_node *node, struct device_list *ret);

void device_init(void);

#endif
