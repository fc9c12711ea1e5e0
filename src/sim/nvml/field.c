/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields by number. Each number that is not in the table below is NOT_SUPPORTED in its own entry,
 * while the call as a whole succeeds, as in the real NVML.
 */
#include "sim/nvml/nvml.h"

#include "sim/node/clock.h"

enum field_kind {
        FIELD_ZERO,        /* an error count: always 0 */
        FIELD_ONE,         /* a mode that is always on */
        FIELD_ROWS,        /* 0 if the model remaps rows; else not supported */
        FIELD_PAGES,       /* 0 if the model retires pages; else not supported */
        FIELD_POWER,       /* present power in mW */
        FIELD_POWER_LIMIT, /* power limit in mW */
        FIELD_POWER_MIN,   /* minimum power limit in mW */
        FIELD_ENERGY,      /* energy in mJ */
        FIELD_MEMORY_HEAT, /* temperature of the memory: that of the chip, if there is a sensor */
        FIELD_VIOLATION,   /* time of throttling in ns: always 0 */
};

struct field_range {
        unsigned first, last;
        enum field_kind kind;
};

static const struct field_range ranges[] = {
        { NVML_FI_DEV_ECC_CURRENT, NVML_FI_DEV_ECC_PENDING, FIELD_ONE },
        { NVML_FI_DEV_ECC_SBE_VOL_TOTAL, NVML_FI_DEV_ECC_DBE_AGG_CBU, FIELD_ZERO },
        { NVML_FI_DEV_RETIRED_SBE, NVML_FI_DEV_RETIRED_PENDING, FIELD_PAGES },
        { NVML_FI_DEV_PERF_POLICY_POWER, NVML_FI_DEV_PERF_POLICY_TOTAL_BASE_CLOCKS,
          FIELD_VIOLATION },
        { NVML_FI_DEV_MEMORY_TEMP, NVML_FI_DEV_MEMORY_TEMP, FIELD_MEMORY_HEAT },
        { NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION,
          FIELD_ENERGY },
        { NVML_FI_DEV_RETIRED_PENDING_SBE, NVML_FI_DEV_RETIRED_PENDING_DBE, FIELD_PAGES },
        { NVML_FI_DEV_PCIE_REPLAY_COUNTER, NVML_FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER, FIELD_ZERO },
        { NVML_FI_DEV_REMAPPED_COR, NVML_FI_DEV_REMAPPED_FAILURE, FIELD_ROWS },
        { NVML_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS, NVML_FI_DEV_PCIE_COUNT_LANE_ERROR,
          FIELD_ZERO },
        { NVML_FI_DEV_POWER_AVERAGE, NVML_FI_DEV_POWER_INSTANT, FIELD_POWER },
        { NVML_FI_DEV_POWER_MIN_LIMIT, NVML_FI_DEV_POWER_MIN_LIMIT, FIELD_POWER_MIN },
        { NVML_FI_DEV_POWER_MAX_LIMIT, NVML_FI_DEV_POWER_CURRENT_LIMIT, FIELD_POWER_LIMIT },
        { NVML_FI_DEV_ENERGY, NVML_FI_DEV_ENERGY, FIELD_ENERGY },
        { NVML_FI_DEV_POWER_REQUESTED_LIMIT, NVML_FI_DEV_POWER_REQUESTED_LIMIT, FIELD_POWER_LIMIT },
};

static void number_put(nvmlFieldValue_t *field, unsigned number)
{
        field->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        field->value.uiVal = number;
}

static void long_put(nvmlFieldValue_t *field, unsigned long long number)
{
        field->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
        field->value.ullVal = number;
}

static unsigned power_mw(const struct gpu *gpu, enum field_kind kind)
{
        if (kind == FIELD_POWER)
                return gpu_power_mw(gpu);
        return kind == FIELD_POWER_LIMIT ? nvml.spec->power_limit_mw
                                         : nvml.model->min_power_limit_mw;
}

static nvmlReturn_t kind_read(const struct gpu *gpu, enum field_kind kind, nvmlFieldValue_t *field)
{
        bool has_rows = nvml.model->has_row_remapping;

        switch (kind) {
        case FIELD_ROWS:
        case FIELD_PAGES:
                if (has_rows != (kind == FIELD_ROWS))
                        return NVML_ERROR_NOT_SUPPORTED;
                number_put(field, 0);
                break;
        case FIELD_ONE:
                number_put(field, NVML_FEATURE_ENABLED);
                break;
        case FIELD_POWER:
        case FIELD_POWER_LIMIT:
        case FIELD_POWER_MIN:
                if (field->scopeId != NVML_POWER_SCOPE_GPU)
                        return NVML_ERROR_NOT_SUPPORTED;
                number_put(field, power_mw(gpu, kind));
                break;
        case FIELD_ENERGY:
                long_put(field, gpu_energy_mj(gpu));
                break;
        case FIELD_MEMORY_HEAT:
                if (!nvml.model->has_memory_sensor)
                        return NVML_ERROR_NOT_SUPPORTED;
                number_put(field, gpu_celsius(gpu));
                break;
        case FIELD_ZERO:
        case FIELD_VIOLATION:
                long_put(field, 0);
                break;
        }
        return NVML_SUCCESS;
}

static nvmlReturn_t field_read(const struct gpu *gpu, nvmlFieldValue_t *field)
{
        for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
                if (field->fieldId >= ranges[i].first && field->fieldId <= ranges[i].last)
                        return kind_read(gpu, ranges[i].kind, field);
        }
        return NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t handle, int count, nvmlFieldValue_t *fields)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, fields, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (count <= 0)
                return NVML_ERROR_INVALID_ARGUMENT;
        for (int i = 0; i < count; i++) {
                fields[i].timestamp = (long long)wall_us(sim_now_ns());
                fields[i].latencyUsec = 0;
                fields[i].nvmlReturn = field_read(gpu, &fields[i]);
        }
        return NVML_SUCCESS;
}
