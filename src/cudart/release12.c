/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions and properties that only the CUDA 12 runtime has. A library for CUDA 12 is built
 * with this file, one for CUDA 13 with release13.c.
 */
#include "cudart/hand.h"
#include "cudart/properties.h"

const struct property_field property_release_fields[] = {
        PROPERTY_FIELD(clockRate, CLOCK_RATE),
        PROPERTY_FIELD(deviceOverlap, GPU_OVERLAP),
        PROPERTY_FIELD(kernelExecTimeoutEnabled, KERNEL_EXEC_TIMEOUT),
        PROPERTY_FIELD(computeMode, COMPUTE_MODE),
        PROPERTY_FIELD(maxTexture1DLinear, MAXIMUM_TEXTURE1D_LINEAR_WIDTH),
        PROPERTY_FIELD(memoryClockRate, MEMORY_CLOCK_RATE),
        PROPERTY_FIELD(singleToDoublePrecisionPerfRatio, SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO),
        PROPERTY_FIELD(cooperativeMultiDeviceLaunch, COOPERATIVE_MULTI_DEVICE_LAUNCH),
};

const size_t property_release_count =
        sizeof(property_release_fields) / sizeof(property_release_fields[0]);

int rt_cudaThreadExit(const struct driver *d)
{
        return rt_cudaDeviceReset(d);
}

int rt_cudaGetDeviceProperties_v2(const struct driver *d, struct cudaDeviceProp *ret, int device)
{
        return properties_read(d, ret, device);
}
