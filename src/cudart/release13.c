/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions and properties that only the CUDA 13 runtime has. A library for CUDA 13 is built
 * with this file, one for CUDA 12 with release12.c.
 */
#include "cudart/hand.h"
#include "cudart/properties.h"

const struct property_field property_release_fields[] = {
        PROPERTY_FIELD(deviceNumaConfig, NUMA_CONFIG),
        PROPERTY_FIELD(deviceNumaId, NUMA_ID),
        PROPERTY_FIELD(mpsEnabled, MPS_ENABLED),
        PROPERTY_FIELD(hostNumaId, HOST_NUMA_ID),
        PROPERTY_FIELD(gpuPciDeviceID, GPU_PCI_DEVICE_ID),
        PROPERTY_FIELD(gpuPciSubsystemID, GPU_PCI_SUBSYSTEM_ID),
        PROPERTY_FIELD(hostNumaMultinodeIpcSupported, HOST_NUMA_MULTINODE_IPC_SUPPORTED),
};

const size_t property_release_count =
        sizeof(property_release_fields) / sizeof(property_release_fields[0]);

int rt_cudaGetDeviceProperties(const struct driver *d, struct cudaDeviceProp *ret, int device)
{
        return properties_read(d, ret, device);
}
