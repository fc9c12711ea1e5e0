/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPUs of the node: versions, count, handles, names, PCI, identity.
 */
#include "sim/nvml/give.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/atomic.h"
#include "common/uuid.h"

struct release {
        int cuda_version;
        const char *driver;
};

/* A driver release for each CUDA version. */
static const struct release releases[] = {
        { 13000, "580.65.06" }, { 12090, "575.57.08" }, { 12080, "570.124.06" },
        { 12070, "565.57.01" }, { 12060, "560.35.05" }, { 12050, "555.42.06" },
        { 12040, "550.54.15" }, { 12030, "545.23.08" }, { 12020, "535.104.05" },
        { 12010, "530.30.02" }, { 12000, "525.60.13" }, { 11080, "520.61.05" },
        { 11070, "515.43.04" }, { 11060, "510.39.01" }, { 11050, "495.29.05" },
        { 11040, "470.57.02" }, { 11030, "465.19.01" }, { 11020, "460.32.03" },
        { 11010, "455.45.01" }, { 0, "450.80.02" },
};

static const char *driver_release(void)
{
        const struct release *release = releases;

        while (nvml.config->driver_version < release->cuda_version)
                release++;
        return release->driver;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *ret_version, unsigned length)
{
        nvmlReturn_t rc = nvml_enter(__func__);

        if (rc != NVML_SUCCESS)
                return rc;
        return ret_version ? text_copy(driver_release(), ret_version, length)
                           : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_t *ret_branch, unsigned length)
{
        nvmlReturn_t rc = nvml_enter(__func__);
        char text[32];

        if (rc != NVML_SUCCESS)
                return rc;
        if (!ret_branch)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (ret_branch->version != nvmlSystemDriverBranchInfo_v1)
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        snprintf(text, sizeof(text), "r%.3s_00", driver_release());
        return text_copy(text, ret_branch->branch, length);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *ret_version, unsigned length)
{
        nvmlReturn_t rc = nvml_enter(__func__);
        char text[NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE];

        if (rc != NVML_SUCCESS)
                return rc;
        if (!ret_version)
                return NVML_ERROR_INVALID_ARGUMENT;
        snprintf(text, sizeof(text), "%d.%s", nvml.config->driver_version / 1000, driver_release());
        return text_copy(text, ret_version, length);
}

/* Works before nvmlInit, as in the real NVML. */
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *ret_version)
{
        const struct sim_config *config = config_get();

        if (!ret_version)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (!config)
                return NVML_ERROR_LIBRARY_NOT_FOUND;
        *ret_version = config->driver_version;
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *ret_version)
{
        return nvmlSystemGetCudaDriverVersion_v2(ret_version);
}

nvmlDevice_t gpu_handle(const struct gpu *gpu)
{
        return (nvmlDevice_t)(uintptr_t)gpu;
}

const struct node_device *gpu_device(const struct gpu *gpu)
{
        return &nvml.node->device[gpu->first_unit];
}

bool gpu_is_lost(const struct gpu *gpu)
{
        for (unsigned i = 0; i < gpu->unit_count; i++) {
                if (load_acquire(&nvml.node->device[gpu->first_unit + i].is_lost))
                        return true;
        }
        return false;
}

static nvmlReturn_t handle_give(const struct gpu *gpu, nvmlDevice_t *ret_handle)
{
        if (gpu_is_lost(gpu))
                return NVML_ERROR_GPU_IS_LOST;
        *ret_handle = gpu_handle(gpu);
        return NVML_SUCCESS;
}

nvmlReturn_t count_get(const char *function, unsigned *ret_count)
{
        nvmlReturn_t rc = nvml_enter(function);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!ret_count)
                return NVML_ERROR_INVALID_ARGUMENT;
        *ret_count = nvml.card_count;
        return NVML_SUCCESS;
}

nvmlReturn_t handle_by_index(const char *function, unsigned index, nvmlDevice_t *ret_handle)
{
        nvmlReturn_t rc = nvml_enter(function);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!ret_handle || index >= nvml.card_count)
                return NVML_ERROR_INVALID_ARGUMENT;
        return handle_give(&nvml.gpu[index], ret_handle);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *ret_handle)
{
        nvmlReturn_t rc = nvml_enter(__func__);
        char text[UUID_TEXT_BYTES];

        if (rc != NVML_SUCCESS)
                return rc;
        if (!uuid || !ret_handle)
                return NVML_ERROR_INVALID_ARGUMENT;
        for (unsigned i = 0; i < nvml.gpu_count; i++) {
                const struct gpu *gpu = &nvml.gpu[i];

                if (strcasecmp(uuid_format(gpu->uuid, gpu->is_instance, text), uuid) == 0)
                        return handle_give(gpu, ret_handle);
        }
        return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t *uuid, nvmlDevice_t *ret_handle)
{
        nvmlReturn_t rc = nvml_enter(__func__);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!uuid || !ret_handle)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (uuid->version != nvmlUUID_v1)
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        if (uuid->type == NVML_UUID_TYPE_ASCII)
                return nvmlDeviceGetHandleByUUID(uuid->value.str, ret_handle);
        if (uuid->type != NVML_UUID_TYPE_BINARY)
                return NVML_ERROR_INVALID_ARGUMENT;
        for (unsigned i = 0; i < nvml.gpu_count; i++) {
                if (memcmp(nvml.gpu[i].uuid, uuid->value.bytes, sizeof(nvml.gpu[i].uuid)) == 0)
                        return handle_give(&nvml.gpu[i], ret_handle);
        }
        return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t handle_by_pci(const char *function, const char *text, nvmlDevice_t *ret_handle)
{
        nvmlReturn_t rc = nvml_enter(function);
        unsigned domain = 0, bus, device;

        if (rc != NVML_SUCCESS)
                return rc;
        if (!text || !ret_handle)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (sscanf(text, "%x:%x:%x", &domain, &bus, &device) != 3) {
                domain = 0;
                if (sscanf(text, "%x:%x", &bus, &device) != 2)
                        return NVML_ERROR_INVALID_ARGUMENT;
        }
        for (unsigned i = 0; i < nvml.card_count; i++) {
                const struct node_device *at = gpu_device(&nvml.gpu[i]);

                if (at->pci_domain == domain && at->pci_bus == bus && at->pci_device == device)
                        return handle_give(&nvml.gpu[i], ret_handle);
        }
        return NVML_ERROR_NOT_FOUND;
}

static void serial_write(const struct gpu *gpu, char ret[NVML_DEVICE_SERIAL_BUFFER_SIZE])
{
        const char *first = nvml.model->board_serial;

        snprintf(ret, NVML_DEVICE_SERIAL_BUFFER_SIZE, "%.*s%02u", (int)strlen(first) - 2, first,
                 gpu->card->index + 1);
}

nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t handle, char *ret_serial, unsigned length)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_serial, &gpu);
        char text[NVML_DEVICE_SERIAL_BUFFER_SIZE];

        if (rc != NVML_SUCCESS)
                return rc;
        serial_write(gpu, text);
        return text_copy(text, ret_serial, length);
}

nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *ret_handle)
{
        nvmlReturn_t rc = nvml_enter(__func__);
        char text[NVML_DEVICE_SERIAL_BUFFER_SIZE];

        if (rc != NVML_SUCCESS)
                return rc;
        if (!serial || !ret_handle)
                return NVML_ERROR_INVALID_ARGUMENT;
        for (unsigned i = 0; i < nvml.card_count; i++) {
                serial_write(&nvml.gpu[i], text);
                if (strcmp(text, serial) == 0)
                        return handle_give(&nvml.gpu[i], ret_handle);
        }
        return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t handle, char *ret_name, unsigned length)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(__func__, handle, ret_name, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        return text_copy(gpu->is_instance ? gpu_device(gpu)->name : nvml.spec->name, ret_name,
                         length);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t handle, char *ret_uuid, unsigned length)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(__func__, handle, ret_uuid, &gpu);
        char text[UUID_TEXT_BYTES];

        if (rc != NVML_SUCCESS)
                return rc;
        return text_copy(uuid_format(gpu->uuid, gpu->is_instance, text), ret_uuid, length);
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t handle, unsigned *ret_index)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(__func__, handle, ret_index, &gpu);

        if (rc == NVML_SUCCESS)
                *ret_index = gpu->index;
        return rc;
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t handle, unsigned *ret_minor)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_minor, &gpu);

        if (rc == NVML_SUCCESS)
                *ret_minor = gpu->index;
        return rc;
}

nvmlReturn_t nvmlDeviceGetModuleId(nvmlDevice_t handle, unsigned *ret_id)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_id, &gpu);

        if (rc == NVML_SUCCESS)
                *ret_id = gpu->index + 1;
        return rc;
}
