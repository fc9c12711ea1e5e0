/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks and performance states: the highest ones if the card computed in the last second, else the
 * idle ones. Nothing throttles, and nothing can be set.
 */
#include "sim/nvml/give.h"

#include "sim/node/clock.h"

#define CLOCK_STEP_MHZ 15

static bool is_busy(const struct gpu *gpu)
{
        return gpu_busy_percent(gpu, ENGINE_COMPUTE) > 0;
}

static unsigned max_mhz(nvmlClockType_t type)
{
        switch (type) {
        case NVML_CLOCK_MEM:
                return (unsigned)nvml.spec->memory_clock_khz / 1000;
        case NVML_CLOCK_VIDEO:
                return nvml.model->video_clock_mhz;
        default:
                return (unsigned)nvml.spec->clock_khz / 1000;
        }
}

static unsigned now_mhz(const struct gpu *gpu, nvmlClockType_t type)
{
        if (is_busy(gpu))
                return max_mhz(type);
        return type == NVML_CLOCK_MEM ? nvml.model->idle_memory_clock_mhz
                                      : nvml.model->idle_clock_mhz;
}

static nvmlReturn_t enter_clock(const char *function, nvmlDevice_t handle, nvmlClockType_t type,
                                const void *out)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(function, handle, out, &gpu);

        return rc == NVML_SUCCESS && (unsigned)type >= NVML_CLOCK_COUNT
                       ? NVML_ERROR_INVALID_ARGUMENT
                       : rc;
}

nvmlReturn_t current_give(const char *function, nvmlDevice_t handle, nvmlClockType_t type,
                          unsigned *ret_mhz)
{
        nvmlReturn_t rc = enter_clock(function, handle, type, ret_mhz);

        if (rc == NVML_SUCCESS)
                *ret_mhz = now_mhz((const struct gpu *)handle, type);
        return rc;
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t handle, nvmlClockType_t type, unsigned *ret_mhz)
{
        nvmlReturn_t rc = enter_clock(__func__, handle, type, ret_mhz);

        if (rc == NVML_SUCCESS)
                *ret_mhz = max_mhz(type);
        return rc;
}

nvmlReturn_t application_give(const char *function, nvmlDevice_t handle, nvmlClockType_t type,
                              unsigned *ret_mhz)
{
        nvmlReturn_t rc = enter_clock(function, handle, type, ret_mhz);

        if (rc != NVML_SUCCESS)
                return rc;
        if (type == NVML_CLOCK_VIDEO)
                return NVML_ERROR_NOT_SUPPORTED;
        *ret_mhz = max_mhz(type);
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t handle, nvmlClockType_t type, nvmlClockId_t id,
                                unsigned *ret_mhz)
{
        switch (id) {
        case NVML_CLOCK_ID_CURRENT:
                return current_give(__func__, handle, type, ret_mhz);
        case NVML_CLOCK_ID_APP_CLOCK_TARGET:
        case NVML_CLOCK_ID_APP_CLOCK_DEFAULT:
        case NVML_CLOCK_ID_CUSTOMER_BOOST_MAX:
                return application_give(__func__, handle, type, ret_mhz);
        default:
                return NVML_ERROR_INVALID_ARGUMENT;
        }
}

/* Returns the highest clock, and the idle one if it differs. */
nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t handle, unsigned *count,
                                                unsigned *ret_mhz)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, count, &gpu);
        unsigned most = max_mhz(NVML_CLOCK_MEM);
        unsigned room;

        if (rc != NVML_SUCCESS)
                return rc;
        room = *count;
        *count = nvml.model->idle_memory_clock_mhz == most ? 1 : 2;
        if (room < *count)
                return NVML_ERROR_INSUFFICIENT_SIZE;
        if (!ret_mhz)
                return NVML_ERROR_INVALID_ARGUMENT;
        ret_mhz[0] = most;
        if (*count == 2)
                ret_mhz[1] = nvml.model->idle_memory_clock_mhz;
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t handle, unsigned memory_mhz,
                                                  unsigned *count, unsigned *ret_mhz)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, count, &gpu);
        unsigned most = max_mhz(NVML_CLOCK_GRAPHICS);

        if (rc != NVML_SUCCESS)
                return rc;
        unsigned least = memory_mhz == max_mhz(NVML_CLOCK_MEM) ? nvml.model->idle_clock_mhz : most;
        unsigned room = *count;
        if (memory_mhz != max_mhz(NVML_CLOCK_MEM) &&
            memory_mhz != nvml.model->idle_memory_clock_mhz)
                return NVML_ERROR_NOT_FOUND;
        if (memory_mhz != max_mhz(NVML_CLOCK_MEM))
                most = least = nvml.model->idle_clock_mhz;
        *count = (most - least) / CLOCK_STEP_MHZ + 1;
        if (room < *count)
                return NVML_ERROR_INSUFFICIENT_SIZE;
        if (!ret_mhz)
                return NVML_ERROR_INVALID_ARGUMENT;
        for (unsigned i = 0; i < *count; i++)
                ret_mhz[i] = most - i * CLOCK_STEP_MHZ;
        return NVML_SUCCESS;
}

nvmlReturn_t state_give(const char *function, nvmlDevice_t handle, nvmlPstates_t *ret_state)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(function, handle, ret_state, &gpu);

        if (rc == NVML_SUCCESS)
                *ret_state = is_busy(gpu) ? NVML_PSTATE_0 : nvml.model->idle_state;
        return rc;
}

nvmlReturn_t nvmlDeviceGetSupportedPerformanceStates(nvmlDevice_t handle, nvmlPstates_t *ret_states,
                                                     unsigned bytes)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_states, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (bytes < 2 * sizeof(*ret_states))
                return NVML_ERROR_INSUFFICIENT_SIZE;
        for (unsigned i = 0; i < bytes / sizeof(*ret_states); i++)
                ret_states[i] = NVML_PSTATE_UNKNOWN;
        ret_states[0] = NVML_PSTATE_0;
        if (nvml.model->idle_state != NVML_PSTATE_0)
                ret_states[1] = nvml.model->idle_state;
        return NVML_SUCCESS;
}

nvmlReturn_t reasons_give(const char *function, nvmlDevice_t handle,
                          unsigned long long *ret_reasons)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(function, handle, ret_reasons, &gpu);

        if (rc == NVML_SUCCESS)
                *ret_reasons =
                        is_busy(gpu) ? nvmlClocksEventReasonNone : nvmlClocksEventReasonGpuIdle;
        return rc;
}

nvmlReturn_t all_reasons_give(const char *function, nvmlDevice_t handle,
                              unsigned long long *ret_reasons)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(function, handle, ret_reasons, &gpu);

        if (rc == NVML_SUCCESS)
                *ret_reasons = nvmlClocksEventReasonAll;
        return rc;
}

nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t handle, nvmlPerfPolicyType_t policy,
                                          nvmlViolationTime_t *ret_time)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_time, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if ((unsigned)policy >= NVML_PERF_POLICY_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;
        ret_time->referenceTime = wall_us(sim_now_ns());
        ret_time->violationTime = 0;
        return NVML_SUCCESS;
}
