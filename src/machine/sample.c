/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/sample.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/uuid.h"
#include "machine/sample_parts.h"

/* ECC errors are read in every tenth sample: reading them is slow, and they seldom change */
#define ECC_EVERY 10u

/* Finds the newest version of a list function. The struct of an entry is the same from version
 * 2 on. */
static void *find_list(void *handle, const char *newest, const char *older)
{
        void *found = dlsym(handle, newest);

        return found ? found : dlsym(handle, older);
}

void sample_bind(void *handle, struct sampler *ret)
{
        *ret = (struct sampler){ 0 };
        ret->nvml = (struct sample_nvml){
                .by_uuid = dlsym(handle, "nvmlDeviceGetHandleByUUID"),
                .memory = dlsym(handle, "nvmlDeviceGetMemoryInfo"),
                .memory_v2 = dlsym(handle, "nvmlDeviceGetMemoryInfo_v2"),
                .utilization = dlsym(handle, "nvmlDeviceGetUtilizationRates"),
                .temperature = dlsym(handle, "nvmlDeviceGetTemperature"),
                .power = dlsym(handle, "nvmlDeviceGetPowerUsage"),
                .power_limit = dlsym(handle, "nvmlDeviceGetEnforcedPowerLimit"),
                .clock = dlsym(handle, "nvmlDeviceGetClockInfo"),
                .ecc = dlsym(handle, "nvmlDeviceGetTotalEccErrors"),
                .list = { find_list(handle, "nvmlDeviceGetComputeRunningProcesses_v3",
                                    "nvmlDeviceGetComputeRunningProcesses_v2"),
                          find_list(handle, "nvmlDeviceGetGraphicsRunningProcesses_v3",
                                    "nvmlDeviceGetGraphicsRunningProcesses_v2"),
                          find_list(handle, "nvmlDeviceGetMPSComputeRunningProcesses_v3",
                                    "nvmlDeviceGetMPSComputeRunningProcesses_v2") },
                .shares = dlsym(handle, "nvmlDeviceGetProcessUtilization"),
                .event_set_create = dlsym(handle, "nvmlEventSetCreate"),
                .event_set_free = dlsym(handle, "nvmlEventSetFree"),
                .event_register = dlsym(handle, "nvmlDeviceRegisterEvents"),
                .event_wait = dlsym(handle, "nvmlEventSetWait_v2"),
        };
}

void sample_unbind(struct sampler *sampler)
{
        if (sampler->events && sampler->nvml.event_set_free)
                sampler->nvml.event_set_free(sampler->events);
        *sampler = (struct sampler){ 0 };
}

/* -- Calls ------------------------------------------------------------------------------------ */

bool sample_told(struct sample *sample, nvmlReturn_t rc)
{
        switch (rc) {
        case NVML_SUCCESS:
                return true;
        case NVML_ERROR_NOT_SUPPORTED:
        case NVML_ERROR_FUNCTION_NOT_FOUND:
        case NVML_ERROR_NO_PERMISSION:
        case NVML_ERROR_NOT_FOUND:
                return false;
        default:
                sample->failures++;
                return false;
        }
}

/* -- Cards ------------------------------------------------------------------------------------ */

/* Registers for the critical errors of a GPU, which NVML reports as events. A GPU without events is
 * no failure. */
static void listen_to(struct sampler *sampler, const struct sampler_card *card)
{
        const struct sample_nvml *nvml = &sampler->nvml;

        if (!nvml->event_set_create || !nvml->event_register || !nvml->event_wait)
                return;
        if (!sampler->events && nvml->event_set_create(&sampler->events) != NVML_SUCCESS) {
                sampler->events = NULL;
                return;
        }
        nvml->event_register(card->handle, nvmlEventTypeXidCriticalError, sampler->events);
}

static struct sampler_card *find_card(struct sampler *sampler, const struct card *card,
                                      struct sample *sample)
{
        struct sampler_card *found = sampler->card;
        char text[UUID_TEXT_BYTES];

        while (found < sampler->card + sampler->count &&
               memcmp(found->uuid, card->uuid, sizeof(found->uuid)) != 0)
                found++;
        if (found < sampler->card + sampler->count)
                return found;
        if (sampler->count == SETTINGS_GPUS || !sampler->nvml.by_uuid)
                return NULL;
        *found = (struct sampler_card){ .ecc_corrected = SAMPLE_NONE,
                                        .ecc_uncorrected = SAMPLE_NONE };
        memcpy(found->uuid, card->uuid, sizeof(found->uuid));
        if (!sample_told(sample,
                         sampler->nvml.by_uuid(uuid_format(card->uuid, card->is_instance, text),
                                               &found->handle)))
                return NULL;
        sampler->count++;
        if (!card->is_instance)
                listen_to(sampler, found);
        return found;
}

/* Counts the critical errors that were reported since the last sample. */
static void hear(struct sampler *sampler, struct sample *sample)
{
        nvmlEventData_t event;

        if (!sampler->events)
                return;
        for (unsigned most = SETTINGS_GPUS; most > 0; most--) {
                nvmlReturn_t rc = sampler->nvml.event_wait(sampler->events, &event, 0);

                if (rc == NVML_ERROR_TIMEOUT || !sample_told(sample, rc))
                        return;
                for (unsigned i = 0; i < sampler->count; i++) {
                        struct sampler_card *card = &sampler->card[i];

                        if (card->handle != event.device ||
                            !(event.eventType & nvmlEventTypeXidCriticalError))
                                continue;
                        card->xids++;
                        card->xid_last = (uint32_t)event.eventData;
                }
        }
}

/* -- Gauges ----------------------------------------------------------------------------------- */

static void read_memory(const struct sample_nvml *nvml, nvmlDevice_t handle, struct sample *sample,
                        struct sample_device *ret)
{
        nvmlMemory_v2_t apart = { .version = nvmlMemory_v2 };
        nvmlMemory_t memory;

        if (nvml->memory_v2 && sample_told(sample, nvml->memory_v2(handle, &apart))) {
                ret->total_bytes = apart.total;
                ret->used_bytes = apart.used;
                ret->free_bytes = apart.free;
                ret->reserved_bytes = apart.reserved;
        } else if (nvml->memory && sample_told(sample, nvml->memory(handle, &memory))) {
                ret->total_bytes = memory.total;
                ret->used_bytes = memory.used;
                ret->free_bytes = memory.free;
        }
}

static int read_clock(const struct sample_nvml *nvml, nvmlDevice_t handle, nvmlClockType_t type,
                      struct sample *sample)
{
        unsigned mhz;

        return nvml->clock && sample_told(sample, nvml->clock(handle, type, &mhz)) ? (int)mhz : -1;
}

static void read_ecc(const struct sample_nvml *nvml, struct sampler_card *card,
                     struct sample *sample)
{
        unsigned long long count;

        if (!nvml->ecc)
                return;
        if (sample_told(sample, nvml->ecc(card->handle, NVML_MEMORY_ERROR_TYPE_CORRECTED,
                                          NVML_VOLATILE_ECC, &count)))
                card->ecc_corrected = count;
        if (sample_told(sample, nvml->ecc(card->handle, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                          NVML_VOLATILE_ECC, &count)))
                card->ecc_uncorrected = count;
}

static void read_gauges(const struct sample_nvml *nvml, nvmlDevice_t handle, struct sample *sample,
                        struct sample_device *ret)
{
        nvmlUtilization_t rates;
        unsigned value;

        if (nvml->utilization && sample_told(sample, nvml->utilization(handle, &rates))) {
                ret->busy_percent = (int)rates.gpu;
                ret->memory_percent = (int)rates.memory;
        }
        if (nvml->temperature &&
            sample_told(sample, nvml->temperature(handle, NVML_TEMPERATURE_GPU, &value)))
                ret->celsius = (int)value;
        if (nvml->power && sample_told(sample, nvml->power(handle, &value)))
                ret->power_mw = value;
        if (nvml->power_limit && sample_told(sample, nvml->power_limit(handle, &value)))
                ret->power_limit_mw = value;
        ret->sm_mhz = read_clock(nvml, handle, NVML_CLOCK_SM, sample);
        ret->memory_mhz = read_clock(nvml, handle, NVML_CLOCK_MEM, sample);
}

/* -- A whole sample --------------------------------------------------------------------------- */

uint64_t sample_now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Reads one card. The devices of the sample are those of `cards`, in their order. */
static int read_card(struct sampler *sampler, const struct cards *cards, unsigned at,
                     enum sample_extent extent, struct sample *ret)
{
        struct sampler_card *card = find_card(sampler, &cards->card[at], ret);
        struct sample_device *device = &ret->device[ret->device_count];
        int rc = 0;

        *device = (struct sample_device){ .is_instance = cards->card[at].is_instance,
                                          .busy_percent = -1,
                                          .memory_percent = -1,
                                          .celsius = -1,
                                          .sm_mhz = -1,
                                          .memory_mhz = -1,
                                          .power_mw = -1,
                                          .power_limit_mw = -1,
                                          .total_bytes = SAMPLE_NONE,
                                          .used_bytes = SAMPLE_NONE,
                                          .free_bytes = SAMPLE_NONE,
                                          .reserved_bytes = SAMPLE_NONE,
                                          .ecc_corrected = SAMPLE_NONE,
                                          .ecc_uncorrected = SAMPLE_NONE };
        memcpy(device->uuid, cards->card[at].uuid, sizeof(device->uuid));
        ret->device_count++;
        if (!card)
                return 0;
        read_memory(&sampler->nvml, card->handle, ret, device);
        if (extent == SAMPLE_WHOLE)
                read_gauges(&sampler->nvml, card->handle, ret, device);
        if (extent == SAMPLE_WHOLE && sampler->looks % ECC_EVERY == 0)
                read_ecc(&sampler->nvml, card, ret);
        device->ecc_corrected = card->ecc_corrected;
        device->ecc_uncorrected = card->ecc_uncorrected;
        device->xids = card->xids;
        device->xid_last = card->xid_last;
        for (unsigned i = 0; i < SAMPLE_LISTS && rc == 0 && !cards_is_divided(cards, at); i++)
                rc = sample_list(&sampler->nvml, card->handle, ret, at, i);
        return rc;
}

int sample_take(struct sampler *sampler, const struct cards *cards, enum sample_extent extent,
                struct sample *ret)
{
        int rc = 0;

        ret->failures = 0;
        ret->device_count = ret->process_count = 0;
        hear(sampler, ret);
        ret->listed_ns = sample_now_ns();
        for (unsigned i = 0; i < cards->count && rc == 0; i++)
                rc = read_card(sampler, cards, i, extent, ret);
        sample_merge(ret);
        for (unsigned i = 0; i < ret->device_count && rc == 0 && extent == SAMPLE_WHOLE; i++) {
                struct sampler_card *card = find_card(sampler, &cards->card[i], ret);

                if (card)
                        rc = sample_shares(&sampler->nvml, card, ret, i);
        }
        if (extent == SAMPLE_WHOLE)
                sampler->looks++;
        return rc;
}

void sample_release(struct sample *sample)
{
        free(sample->process);
        *sample = (struct sample){ 0 };
}
