/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices that this process sees, their order and their identity.
 *
 * All cards of a node are alike, so CUDA_DEVICE_ORDER=FASTEST_FIRST and PCI_BUS_ID give the same
 * order.
 */
#include "sim/context/device.h"

#include <stdio.h>
#include <string.h>

#include "common/environment.h"
#include "sim/entries.h"
#include "sim/node/config.h"

static struct device_list visible;

void device_init(void)
{
        device_list_parse(environment_get_restriction("CUDA_VISIBLE_DEVICES"), node_get(),
                          &visible);
}

int device_count(void)
{
        return (int)visible.count;
}

bool device_is_valid(CUdevice device)
{
        return device >= 0 && device < device_count();
}

unsigned device_unit(CUdevice device)
{
        return visible.unit[device];
}

CUdevice device_of_unit(unsigned unit)
{
        for (unsigned i = 0; i < visible.count; i++) {
                if (visible.unit[i] == unit)
                        return (CUdevice)i;
        }
        return -1;
}

const struct node_device *device_node(CUdevice device)
{
        return &node_get()->device[device_unit(device)];
}

CUresult sim_cuDeviceGet(CUdevice *ret, int ordinal)
{
        *ret = ordinal;
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetCount(int *ret)
{
        *ret = device_count();
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetName(char *ret, int bytes, CUdevice device)
{
        if (!ret || bytes <= 0)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        snprintf(ret, (size_t)bytes, "%s", device_node(device)->name);
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetUuid_v2(CUuuid *ret, CUdevice device)
{
        memcpy(ret->bytes, device_node(device)->uuid, sizeof(ret->bytes));
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceTotalMem_v2(size_t *ret, CUdevice device)
{
        *ret = device_node(device)->memory_bytes;
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceTotalMem(unsigned int *ret, CUdevice device)
{
        uint64_t bytes = device_node(device)->memory_bytes;

        *ret = bytes > UINT32_MAX ? UINT32_MAX : (unsigned int)bytes;
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceComputeCapability(int *ret_major, int *ret_minor, CUdevice device)
{
        const struct model_spec *spec = model_spec(node_get()->model);

        *ret_major = spec->capability_major;
        *ret_minor = spec->capability_minor;
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetPCIBusId(char *ret, int bytes, CUdevice device)
{
        char text[32];
        const struct node_device *node = device_node(device);
        int length = snprintf(text, sizeof(text), "%04X:%02X:%02X.0", node->pci_domain,
                              node->pci_bus, node->pci_device);

        if (bytes <= length)
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(ret, text, (size_t)length + 1);
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetByPCIBusId(CUdevice *ret, const char *text)
{
        unsigned domain = 0, bus = 0, device = 0, function = 0;

        if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &device, &function) < 3) {
                domain = 0;
                if (sscanf(text, "%x:%x.%x", &bus, &device, &function) < 2)
                        return CUDA_ERROR_INVALID_VALUE;
        }
        for (CUdevice i = 0; i < device_count(); i++) {
                const struct node_device *node = device_node(i);

                if (node->pci_domain == domain && node->pci_bus == bus &&
                    node->pci_device == device && function == 0) {
                        *ret = i;
                        return CUDA_SUCCESS;
                }
        }
        return CUDA_ERROR_INVALID_DEVICE;
}

CUresult sim_cuDeviceGetLuid(char *ret_luid, unsigned int *ret_mask, CUdevice device)
{
        return CUDA_ERROR_NOT_SUPPORTED; /* exists on Windows only */
}
