/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory errors: error correction is on, and there never was an error.
 *
 * The older model retires pages, the newer ones remap rows. A query about the method that a model
 * does not use returns NOT_SUPPORTED.
 */
#include "sim/nvml/give.h"

#include <string.h>

#define ROW_BANKS 640

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t handle, nvmlEnableState_t *ret_current,
                                  nvmlEnableState_t *ret_pending)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_current, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!ret_pending)
                return NVML_ERROR_INVALID_ARGUMENT;
        *ret_current = *ret_pending = NVML_FEATURE_ENABLED;
        return NVML_SUCCESS;
}

static nvmlReturn_t enter_errors(const char *function, nvmlDevice_t handle,
                                 nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter,
                                 const void *out)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(function, handle, out, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        return (unsigned)type < NVML_MEMORY_ERROR_TYPE_COUNT &&
                               (unsigned)counter < NVML_ECC_COUNTER_TYPE_COUNT
                       ? NVML_SUCCESS
                       : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t handle, nvmlMemoryErrorType_t type,
                                         nvmlEccCounterType_t counter,
                                         unsigned long long *ret_count)
{
        nvmlReturn_t rc = enter_errors(__func__, handle, type, counter, ret_count);

        if (rc == NVML_SUCCESS)
                *ret_count = 0;
        return rc;
}

nvmlReturn_t nvmlDeviceGetDetailedEccErrors(nvmlDevice_t handle, nvmlMemoryErrorType_t type,
                                            nvmlEccCounterType_t counter,
                                            nvmlEccErrorCounts_t *ret_counts)
{
        nvmlReturn_t rc = enter_errors(__func__, handle, type, counter, ret_counts);

        if (rc == NVML_SUCCESS)
                memset(ret_counts, 0, sizeof(*ret_counts));
        return rc;
}

nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t handle, nvmlMemoryErrorType_t type,
                                             nvmlEccCounterType_t counter,
                                             nvmlMemoryLocation_t location,
                                             unsigned long long *ret_count)
{
        nvmlReturn_t rc = enter_errors(__func__, handle, type, counter, ret_count);

        if (rc != NVML_SUCCESS)
                return rc;
        if ((unsigned)location >= NVML_MEMORY_LOCATION_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;
        *ret_count = 0;
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t handle, nvmlEccSramErrorStatus_t *ret)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!nvml.model->has_row_remapping)
                return NVML_ERROR_NOT_SUPPORTED;
        if (ret->version != nvmlEccSramErrorStatus_v1)
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        *ret = (nvmlEccSramErrorStatus_t){ .version = nvmlEccSramErrorStatus_v1 };
        return NVML_SUCCESS;
}

nvmlReturn_t retired_give(const char *function, nvmlDevice_t handle,
                          nvmlPageRetirementCause_t cause, unsigned *ret_count)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(function, handle, ret_count, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if ((unsigned)cause >= NVML_PAGE_RETIREMENT_CAUSE_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (nvml.model->has_row_remapping)
                return NVML_ERROR_NOT_SUPPORTED;
        *ret_count = 0;
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t handle,
                                                    nvmlEnableState_t *ret_is_pending)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_is_pending, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (nvml.model->has_row_remapping)
                return NVML_ERROR_NOT_SUPPORTED;
        *ret_is_pending = NVML_FEATURE_DISABLED;
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t handle, unsigned *ret_corrected,
                                       unsigned *ret_uncorrected, unsigned *ret_is_pending,
                                       unsigned *ret_has_failed)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_corrected, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!ret_uncorrected || !ret_is_pending || !ret_has_failed)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (!nvml.model->has_row_remapping)
                return NVML_ERROR_NOT_SUPPORTED;
        *ret_corrected = *ret_uncorrected = *ret_is_pending = *ret_has_failed = 0;
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t handle,
                                               nvmlRowRemapperHistogramValues_t *ret_banks)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_banks, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!nvml.model->has_row_remapping)
                return NVML_ERROR_NOT_SUPPORTED;
        *ret_banks = (nvmlRowRemapperHistogramValues_t){ .max = ROW_BANKS };
        return NVML_SUCCESS;
}
