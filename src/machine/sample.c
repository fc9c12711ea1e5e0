/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/sample.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/uuid.h"

#define ECC_EVERY 10u  /* looks: it is slow to tell and seldom changes */
#define LIST_TRIES 4u  /* processes may come between counting and listing */
#define LIST_SPARE 16u /* room for those */

static const uint8_t list_kinds[SAMPLE_LISTS] = { SAMPLE_COMPUTE, SAMPLE_GRAPHICS, SAMPLE_MPS };

/* The struct of an entry is the same from version 2 on. */
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

/* Whether it was told; a refusal is a failure only if it is none of a function that is not here. */
static bool told(struct sample *sample, nvmlReturn_t rc)
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

/* A critical error is told of by events; a GPU that tells of none is no failure. */
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
        if (!told(sample, sampler->nvml.by_uuid(uuid_format(card->uuid, card->is_instance, text),
                                                &found->handle)))
                return NULL;
        sampler->count++;
        if (!card->is_instance)
                listen_to(sampler, found);
        return found;
}

static void hear(struct sampler *sampler, struct sample *sample)
{
        nvmlEventData_t event;

        if (!sampler->events)
                return;
        for (unsigned most = SETTINGS_GPUS; most > 0; most--) {
                nvmlReturn_t rc = sampler->nvml.event_wait(sampler->events, &event, 0);

                if (rc == NVML_ERROR_TIMEOUT || !told(sample, rc))
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

        if (nvml->memory_v2 && told(sample, nvml->memory_v2(handle, &apart))) {
                ret->total_bytes = apart.total;
                ret->used_bytes = apart.used;
                ret->free_bytes = apart.free;
                ret->reserved_bytes = apart.reserved;
        } else if (nvml->memory && told(sample, nvml->memory(handle, &memory))) {
                ret->total_bytes = memory.total;
                ret->used_bytes = memory.used;
                ret->free_bytes = memory.free;
        }
}

static int read_clock(const struct sample_nvml *nvml, nvmlDevice_t handle, nvmlClockType_t type,
                      struct sample *sample)
{
        unsigned mhz;

        return nvml->clock && told(sample, nvml->clock(handle, type, &mhz)) ? (int)mhz : -1;
}

static void read_ecc(const struct sample_nvml *nvml, struct sampler_card *card,
                     struct sample *sample)
{
        unsigned long long count;

        if (!nvml->ecc)
                return;
        if (told(sample, nvml->ecc(card->handle, NVML_MEMORY_ERROR_TYPE_CORRECTED,
                                   NVML_VOLATILE_ECC, &count)))
                card->ecc_corrected = count;
        if (told(sample, nvml->ecc(card->handle, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                   NVML_VOLATILE_ECC, &count)))
                card->ecc_uncorrected = count;
}

static void read_gauges(const struct sample_nvml *nvml, nvmlDevice_t handle, struct sample *sample,
                        struct sample_device *ret)
{
        nvmlUtilization_t rates;
        unsigned value;

        if (nvml->utilization && told(sample, nvml->utilization(handle, &rates))) {
                ret->busy_percent = (int)rates.gpu;
                ret->memory_percent = (int)rates.memory;
        }
        if (nvml->temperature &&
            told(sample, nvml->temperature(handle, NVML_TEMPERATURE_GPU, &value)))
                ret->celsius = (int)value;
        if (nvml->power && told(sample, nvml->power(handle, &value)))
                ret->power_mw = value;
        if (nvml->power_limit && told(sample, nvml->power_limit(handle, &value)))
                ret->power_limit_mw = value;
        ret->sm_mhz = read_clock(nvml, handle, NVML_CLOCK_SM, sample);
        ret->memory_mhz = read_clock(nvml, handle, NVML_CLOCK_MEM, sample);
}

/* -- Processes -------------------------------------------------------------------------------- */

static int make_room(struct sample *sample, unsigned more)
{
        unsigned room = sample->process_count + more;
        struct sample_process *process;

        if (room <= sample->process_room)
                return 0;
        process = reallocarray(sample->process, room, sizeof(*process));
        if (!process)
                return -ENOMEM;
        sample->process = process;
        sample->process_room = room;
        return 0;
}

static void add_all(struct sample *sample, unsigned device, unsigned list,
                    const nvmlProcessInfo_t *infos, unsigned count)
{
        for (unsigned i = 0; i < count; i++) {
                if (!infos[i].pid)
                        continue;
                sample->process[sample->process_count++] = (struct sample_process){
                        .pid = infos[i].pid,
                        .device = (uint8_t)device,
                        .kinds = list_kinds[list],
                        .busy_percent = -1,
                        .memory_percent = -1,
                        /* NVML_VALUE_NOT_AVAILABLE is SAMPLE_NONE. */
                        .bytes = infos[i].usedGpuMemory,
                };
        }
}

static int read_list(const struct sample_nvml *nvml, nvmlDevice_t handle, struct sample *sample,
                     unsigned device, unsigned list)
{
        nvmlReturn_t rc = NVML_ERROR_INSUFFICIENT_SIZE;
        unsigned room = LIST_SPARE;

        if (!nvml->list[list])
                return 0;
        for (unsigned i = 0; i < LIST_TRIES && rc == NVML_ERROR_INSUFFICIENT_SIZE; i++) {
                nvmlProcessInfo_t *infos = calloc(room, sizeof(*infos));
                unsigned count = room;

                if (!infos || make_room(sample, room) < 0) {
                        free(infos);
                        return -ENOMEM;
                }
                rc = nvml->list[list](handle, &count, infos);
                if (rc == NVML_SUCCESS)
                        add_all(sample, device, list, infos, count < room ? count : room);
                free(infos);
                room = count + LIST_SPARE;
        }
        if (told(sample, rc))
                sample->device[device].has_processes = true;
        return 0;
}

static int compare_processes(const void *a, const void *b)
{
        const struct sample_process *left = a, *right = b;

        if (left->pid != right->pid)
                return left->pid < right->pid ? -1 : 1;
        return (int)left->device - (int)right->device;
}

/* A process is in several lists; each tells the whole of its memory. */
static void merge(struct sample *sample)
{
        unsigned kept = 0;

        if (sample->process_count > 1)
                qsort(sample->process, sample->process_count, sizeof(*sample->process),
                      compare_processes);
        for (unsigned i = 0; i < sample->process_count; i++) {
                const struct sample_process *next = &sample->process[i];
                struct sample_process *last = kept ? &sample->process[kept - 1] : NULL;

                if (!last || compare_processes(last, next) != 0) {
                        sample->process[kept++] = *next;
                        continue;
                }
                last->kinds |= next->kinds;
                if (last->bytes == SAMPLE_NONE ||
                    (next->bytes != SAMPLE_NONE && next->bytes > last->bytes))
                        last->bytes = next->bytes;
        }
        sample->process_count = kept;
}

static struct sample_process *find(const struct sample *sample, uint32_t pid, unsigned device)
{
        const struct sample_process key = { .pid = pid, .device = (uint8_t)device };

        return sample->process_count ? bsearch(&key, sample->process, sample->process_count,
                                               sizeof(key), compare_processes)
                                     : NULL;
}

const struct sample_process *sample_find(const struct sample *sample, uint32_t pid, unsigned device)
{
        return find(sample, pid, device);
}

static int16_t percent(unsigned told_percent)
{
        return told_percent <= 100 ? (int16_t)told_percent : -1;
}

/* NULL: of that process nothing was told, or that is forgotten. */
static struct sampler_stamp *find_stamp(struct sampler_card *card, uint32_t pid)
{
        for (unsigned i = 0; i < card->stamp_count; i++) {
                if (card->stamp[i].pid == pid)
                        return &card->stamp[i];
        }
        return NULL;
}

/* Where there is no room the oldest one is forgotten. */
static struct sampler_stamp *make_stamp(struct sampler_card *card, uint64_t *forgotten_us)
{
        struct sampler_stamp *oldest = card->stamp;

        if (card->stamp_count < SAMPLER_STAMPS)
                return &card->stamp[card->stamp_count++];
        for (unsigned i = 1; i < SAMPLER_STAMPS; i++) {
                if (card->stamp[i].seen_us < oldest->seen_us)
                        oldest = &card->stamp[i];
        }
        if (oldest->seen_us > *forgotten_us)
                *forgotten_us = oldest->seen_us;
        return oldest;
}

/* A share is told of the time since the stamp that was asked with, or since the process's own where
 * that is later; that may lie before the look before this one. */
static uint64_t busy_ns(const nvmlProcessUtilizationSample_t *share, uint64_t asked_us,
                        uint64_t own_us, uint64_t elapsed_ns)
{
        uint64_t since_us = asked_us > own_us && asked_us < share->timeStamp ? asked_us : own_us;
        uint64_t span_us = since_us ? share->timeStamp - since_us : 0;
        uint64_t span_ns = span_us < elapsed_ns / 1000 ? span_us * 1000 : elapsed_ns;

        return percent(share->smUtil) > 0 ? span_ns / 100 * share->smUtil : 0;
}

/* Each process has stamps of its own: another one's newer stamp makes none of them old. So the next
 * look asks since the oldest of these. */
static void add_shares(struct sampler_card *card, uint64_t elapsed_ns, struct sample *sample,
                       unsigned device, const nvmlProcessUtilizationSample_t *shares,
                       unsigned count)
{
        uint64_t oldest_us = UINT64_MAX, forgotten_us = card->forgotten_us;

        for (unsigned i = 0; i < count; i++) {
                struct sample_process *found = find(sample, shares[i].pid, device);
                struct sampler_stamp *stamp = find_stamp(card, shares[i].pid);

                if (shares[i].timeStamp <= (stamp ? stamp->seen_us : card->forgotten_us))
                        continue; /* some drivers repeat old ones */
                if (found) {
                        found->busy_percent = percent(shares[i].smUtil);
                        found->memory_percent = percent(shares[i].memUtil);
                        found->busy_ns = busy_ns(&shares[i], card->seen_us,
                                                 stamp ? stamp->seen_us : 0, elapsed_ns);
                }
                if (!stamp)
                        stamp = make_stamp(card, &forgotten_us);
                *stamp = (struct sampler_stamp){ shares[i].pid, shares[i].timeStamp };
                if (shares[i].timeStamp < oldest_us)
                        oldest_us = shares[i].timeStamp;
        }
        card->forgotten_us = forgotten_us;
        if (oldest_us != UINT64_MAX)
                card->seen_us = oldest_us;
}

/* Who is not told of did nothing. */
static void clear_shares(struct sample *sample, unsigned device)
{
        for (unsigned i = 0; i < sample->process_count; i++) {
                if (sample->process[i].device == device)
                        sample->process[i].busy_percent = sample->process[i].memory_percent = 0;
        }
}

static int read_shares(const struct sample_nvml *nvml, struct sampler_card *card,
                       struct sample *sample, unsigned device)
{
        nvmlReturn_t rc = NVML_ERROR_INSUFFICIENT_SIZE;
        unsigned room = sample->process_count + LIST_SPARE;
        uint64_t now_ns = clock_now_ns(), elapsed_ns = now_ns - card->read_ns;

        if (!nvml->shares || !sample->device[device].has_processes)
                return 0;
        for (unsigned i = 0; i < LIST_TRIES && rc == NVML_ERROR_INSUFFICIENT_SIZE; i++) {
                nvmlProcessUtilizationSample_t *shares = calloc(room, sizeof(*shares));
                unsigned count = room;

                if (!shares)
                        return -ENOMEM;
                rc = nvml->shares(card->handle, shares, &count, card->seen_us);
                if (rc == NVML_SUCCESS || rc == NVML_ERROR_NOT_FOUND)
                        clear_shares(sample, device);
                if (rc == NVML_SUCCESS)
                        add_shares(card, elapsed_ns, sample, device, shares,
                                   count < room ? count : room);
                free(shares);
                room = count + LIST_SPARE;
        }
        if (told(sample, rc) || rc == NVML_ERROR_NOT_FOUND) {
                sample->device[device].has_shares = true;
                card->read_ns = now_ns;
        }
        return 0;
}

/* -- All of it -------------------------------------------------------------------------------- */

static uint64_t boot_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The sample's devices are those of `cards`, in their order. */
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
                rc = read_list(&sampler->nvml, card->handle, ret, at, i);
        return rc;
}

int sample_take(struct sampler *sampler, const struct cards *cards, enum sample_extent extent,
                struct sample *ret)
{
        int rc = 0;

        ret->failures = 0;
        ret->device_count = ret->process_count = 0;
        hear(sampler, ret);
        ret->listed_ns = boot_ns();
        for (unsigned i = 0; i < cards->count && rc == 0; i++)
                rc = read_card(sampler, cards, i, extent, ret);
        merge(ret);
        for (unsigned i = 0; i < ret->device_count && rc == 0 && extent == SAMPLE_WHOLE; i++) {
                struct sampler_card *card = find_card(sampler, &cards->card[i], ret);

                if (card)
                        rc = read_shares(&sampler->nvml, card, ret, i);
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
