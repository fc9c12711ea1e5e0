/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity of a card: PCI address, model, board, firmware, and modes.
 *
 * A card is a data centre card on Linux: persistence on, no display, default compute mode, no
 * virtualisation. Modes cannot be changed: their setters are not modelled.
 */
#include "sim/nvml/give.h"

#include <stdio.h>
#include <string.h>

#define PCI_CLASS_DISPLAY 0x03
#define PCI_SUBCLASS_3D 0x02

nvmlReturn_t nvml_give(const char *function, nvmlDevice_t handle, unsigned *ret, unsigned value)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(function, handle, ret, &gpu);

        if (rc == NVML_SUCCESS)
                *ret = value;
        return rc;
}

nvmlReturn_t text_give(const char *function, nvmlDevice_t handle, char *ret, unsigned length,
                       const char *text)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(function, handle, ret, &gpu);

        return rc == NVML_SUCCESS ? text_copy(text, ret, length) : rc;
}

/* Returns the PCI address. In the two oldest forms of the call, the caller's struct may end before
 * busId. */
nvmlReturn_t pci_give(const char *function, nvmlDevice_t handle, nvmlPciInfo_t *ret_info,
                      bool has_long_id)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(function, handle, ret_info, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        const struct node_device *device = gpu_device(gpu);
        snprintf(ret_info->busIdLegacy, sizeof(ret_info->busIdLegacy),
                 NVML_DEVICE_PCI_BUS_ID_LEGACY_FMT, device->pci_domain & 0xffff,
                 device->pci_bus & 0xff, device->pci_device & 0xff);
        ret_info->domain = device->pci_domain;
        ret_info->bus = device->pci_bus;
        ret_info->device = device->pci_device;
        ret_info->pciDeviceId = nvml.spec->pci_device_id;
        ret_info->pciSubSystemId = nvml.spec->pci_subsystem_id;
        if (has_long_id)
                snprintf(ret_info->busId, sizeof(ret_info->busId), NVML_DEVICE_PCI_BUS_ID_FMT,
                         device->pci_domain, device->pci_bus, device->pci_device);
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t handle, nvmlPciInfoExt_t *ret_info)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(__func__, handle, ret_info, &gpu);
        nvmlPciInfo_t info;

        if (rc != NVML_SUCCESS)
                return rc;
        if (ret_info->version != nvmlPciInfoExt_v1)
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        rc = pci_give(__func__, handle, &info, true);
        if (rc != NVML_SUCCESS)
                return rc;
        ret_info->domain = info.domain;
        ret_info->bus = info.bus;
        ret_info->device = info.device;
        ret_info->pciDeviceId = info.pciDeviceId;
        ret_info->pciSubSystemId = info.pciSubSystemId;
        ret_info->baseClass = PCI_CLASS_DISPLAY;
        ret_info->subClass = PCI_SUBCLASS_3D;
        memcpy(ret_info->busId, info.busId, sizeof(ret_info->busId));
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t handle, nvmlBrandType_t *ret_brand)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(__func__, handle, ret_brand, &gpu);

        if (rc == NVML_SUCCESS)
                *ret_brand = nvml.model->brand;
        return rc;
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t handle, nvmlDeviceArchitecture_t *ret)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(__func__, handle, ret, &gpu);

        if (rc == NVML_SUCCESS)
                *ret = nvml.model->architecture;
        return rc;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t handle, int *ret_major, int *ret_minor)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(__func__, handle, ret_major, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!ret_minor)
                return NVML_ERROR_INVALID_ARGUMENT;
        *ret_major = nvml.spec->capability_major;
        *ret_minor = nvml.spec->capability_minor;
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t handle, unsigned *ret_cores)
{
        return nvml_give(
                __func__, handle, ret_cores,
                (unsigned)(model_multiprocessors(nvml.spec) * nvml.spec->cores_per_multiprocessor));
}

nvmlReturn_t nvmlDeviceGetBoardId(nvmlDevice_t handle, unsigned *ret_id)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_id, &gpu);

        if (rc == NVML_SUCCESS)
                *ret_id = gpu_device(gpu)->pci_bus << 8;
        return rc;
}

nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t one, nvmlDevice_t other, int *ret_is_same)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, one, ret_is_same, &gpu);

        if (rc == NVML_SUCCESS)
                rc = nvml_find_gpu(other, &gpu);
        if (rc == NVML_SUCCESS)
                *ret_is_same = one == other;
        return rc;
}

nvmlReturn_t nvmlDeviceGetInforomVersion(nvmlDevice_t handle, nvmlInforomObject_t object, char *ret,
                                         unsigned length)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        switch (object) {
        case NVML_INFOROM_OEM:
                return text_copy("2.1", ret, length);
        case NVML_INFOROM_ECC:
                return text_copy("7.16", ret, length);
        case NVML_INFOROM_POWER:
        case NVML_INFOROM_DEN:
                return NVML_ERROR_NOT_SUPPORTED;
        default:
                return NVML_ERROR_INVALID_ARGUMENT;
        }
}

nvmlReturn_t nvmlDeviceValidateInforom(nvmlDevice_t handle)
{
        const struct gpu *gpu;

        return nvml_enter_card(__func__, handle, &nvml, &gpu);
}

nvmlReturn_t nvmlDeviceGetAPIRestriction(nvmlDevice_t handle, nvmlRestrictedAPI_t api,
                                         nvmlEnableState_t *ret_is_restricted)
{
        if ((unsigned)api >= NVML_RESTRICTED_API_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;
        return nvml_give(__func__, handle, (unsigned *)ret_is_restricted, NVML_FEATURE_ENABLED);
}

nvmlReturn_t nvmlDeviceGetGspFirmwareMode(nvmlDevice_t handle, unsigned *ret_is_enabled,
                                          unsigned *ret_default)
{
        nvmlReturn_t rc = nvml_give(__func__, handle, ret_is_enabled, 0);

        if (rc == NVML_SUCCESS && ret_default)
                *ret_default = 0;
        return rc;
}

/* Returns the count 0, for features that a machine with these cards does not have. */

nvmlReturn_t none_give(const char *function, unsigned *ret_count)
{
        nvmlReturn_t rc = nvml_enter(function);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!ret_count)
                return NVML_ERROR_INVALID_ARGUMENT;
        *ret_count = 0;
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t handle, nvmlGpmSupport_t *ret_support)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(__func__, handle, ret_support, &gpu);

        if (rc == NVML_SUCCESS)
                ret_support->isSupportedDevice = 0;
        return rc;
}
