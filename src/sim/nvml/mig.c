/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divided cards (mig=N): each has N equal instances, which are created with the node and never
 * change.
 *
 * An instance is one GPU instance with one compute instance in it, both with the same id. Profiles
 * and the creation of instances are not modelled.
 */
#include "sim/nvml/give.h"
#include "sim/nvml/process.h"

#define MAX_INSTANCES 7
#define MIB (1ULL << 20)

static const struct gpu *instance_find(const struct gpu *card, unsigned index)
{
        for (unsigned i = nvml.card_count; i < nvml.gpu_count; i++) {
                if (nvml.gpu[i].card == card && nvml.gpu[i].index == index)
                        return &nvml.gpu[i];
        }
        return NULL;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t handle, unsigned *ret_current, unsigned *ret_pending)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_current, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!ret_pending)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (!gpu->is_divided && !nvml.model->can_divide)
                return NVML_ERROR_NOT_SUPPORTED;
        *ret_current = *ret_pending =
                gpu->is_divided ? NVML_DEVICE_MIG_ENABLE : NVML_DEVICE_MIG_DISABLE;
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t handle, unsigned *ret_count)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_count, &gpu);

        if (rc == NVML_SUCCESS)
                *ret_count = gpu->is_divided || nvml.model->can_divide ? MAX_INSTANCES : 0;
        return rc;
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t handle, unsigned *ret_is_instance)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(__func__, handle, ret_is_instance, &gpu);

        if (rc == NVML_SUCCESS)
                *ret_is_instance = gpu->is_instance;
        return rc;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t handle, unsigned index,
                                                 nvmlDevice_t *ret_handle)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_handle, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!gpu->is_divided && !nvml.model->can_divide)
                return NVML_ERROR_NOT_SUPPORTED;
        if (index >= MAX_INSTANCES)
                return NVML_ERROR_INVALID_ARGUMENT;
        const struct gpu *instance = instance_find(gpu, index);
        if (!instance)
                return NVML_ERROR_NOT_FOUND;
        *ret_handle = gpu_handle(instance);
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t handle,
                                                          nvmlDevice_t *ret_handle)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(__func__, handle, ret_handle, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!gpu->is_instance)
                return NVML_ERROR_INVALID_ARGUMENT;
        *ret_handle = gpu_handle(gpu->card);
        return NVML_SUCCESS;
}

unsigned gpu_instance_id(const struct gpu *gpu)
{
        return gpu->is_instance ? gpu->index + 1 : NVML_NO_INSTANCE;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t handle, unsigned *ret_id)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(__func__, handle, ret_id, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!gpu->is_instance)
                return NVML_ERROR_NOT_SUPPORTED;
        *ret_id = gpu_instance_id(gpu);
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t handle, unsigned *ret_id)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(__func__, handle, ret_id, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!gpu->is_instance)
                return NVML_ERROR_NOT_SUPPORTED;
        *ret_id = 0;
        return NVML_SUCCESS;
}

nvmlReturn_t attributes_give(const char *function, nvmlDevice_t handle, nvmlDeviceAttributes_t *ret)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(function, handle, ret, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!gpu->is_instance)
                return NVML_ERROR_NOT_SUPPORTED;
        unsigned parts = gpu->card->unit_count;
        *ret = (nvmlDeviceAttributes_t){
                .multiprocessorCount = (unsigned)model_multiprocessors(nvml.spec) / parts,
                .sharedCopyEngineCount = 1,
                .gpuInstanceSliceCount = MAX_INSTANCES / parts,
                .computeInstanceSliceCount = MAX_INSTANCES / parts,
                .memorySizeMB = gpu_device(gpu)->memory_bytes / MIB,
        };
        return NVML_SUCCESS;
}
