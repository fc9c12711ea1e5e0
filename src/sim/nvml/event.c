/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML's events. The only event of this node is the loss of a card: Xid 79, once for each set and
 * card.
 *
 * The program registers an event set for cards. A wait checks every few milliseconds, until its
 * timeout, whether one of these cards was lost. Sets are on the heap and belong to the program.
 */
#include "sim/nvml/give.h"

#include <stdlib.h>

#include "sim/node/clock.h"

#define POLL_NS 10000000ULL
#define XID_OFF_THE_BUS 79
#define SUPPORTED (nvmlEventTypeXidCriticalError | nvmlEventTypeClock | nvmlEventTypePState)

struct nvmlEventSet_st {
        pthread_mutex_t lock;
        unsigned long long types[SIM_DEVICES]; /* by card; guarded by lock, as is is_told */
        bool is_told[SIM_DEVICES];
};

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *ret_set)
{
        nvmlReturn_t rc = nvml_enter(__func__);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!ret_set)
                return NVML_ERROR_INVALID_ARGUMENT;
        struct nvmlEventSet_st *set = calloc(1, sizeof(*set));
        if (!set)
                return NVML_ERROR_MEMORY;
        pthread_mutex_init(&set->lock, NULL);
        *ret_set = set;
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
        nvmlReturn_t rc = nvml_enter(__func__);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!set)
                return NVML_ERROR_INVALID_ARGUMENT;
        pthread_mutex_destroy(&set->lock);
        free(set);
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t handle, unsigned long long *ret_types)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_types, &gpu);

        if (rc == NVML_SUCCESS)
                *ret_types = SUPPORTED;
        return rc;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t handle, unsigned long long types,
                                      nvmlEventSet_t set)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, set, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (types & ~(unsigned long long)SUPPORTED)
                return NVML_ERROR_NOT_SUPPORTED;
        pthread_mutex_lock(&set->lock);
        set->types[gpu->index] |= types;
        pthread_mutex_unlock(&set->lock);
        return NVML_SUCCESS;
}

/* Returns the next lost card that was not reported yet, or NULL. */
static const struct gpu *loss_find(struct nvmlEventSet_st *set)
{
        const struct gpu *found = NULL;

        pthread_mutex_lock(&set->lock);
        for (unsigned i = 0; i < nvml.card_count && !found; i++) {
                if (!(set->types[i] & nvmlEventTypeXidCriticalError) || set->is_told[i] ||
                    !gpu_is_lost(&nvml.gpu[i]))
                        continue;
                set->is_told[i] = true;
                found = &nvml.gpu[i];
        }
        pthread_mutex_unlock(&set->lock);
        return found;
}

/* Waits for an event. The struct of the older form ends before the fields of the instance. */
nvmlReturn_t event_wait(const char *function, nvmlEventSet_t set, nvmlEventData_t *ret_event,
                        unsigned timeout_ms, bool has_instance)
{
        nvmlReturn_t rc = nvml_enter(function);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!set || !ret_event)
                return NVML_ERROR_INVALID_ARGUMENT;
        uint64_t deadline_ns = sim_now_ns() + timeout_ms * 1000000ULL;
        for (;;) {
                const struct gpu *gpu = loss_find(set);
                uint64_t now_ns = sim_now_ns();

                if (gpu) {
                        ret_event->device = gpu_handle(gpu);
                        ret_event->eventType = nvmlEventTypeXidCriticalError;
                        ret_event->eventData = XID_OFF_THE_BUS;
                        if (has_instance)
                                ret_event->gpuInstanceId = ret_event->computeInstanceId =
                                        NVML_NO_INSTANCE;
                        return NVML_SUCCESS;
                }
                if (now_ns >= deadline_ns)
                        return NVML_ERROR_TIMEOUT;
                sim_sleep_until(deadline_ns - now_ns > POLL_NS ? now_ns + POLL_NS : deadline_ns);
        }
}
