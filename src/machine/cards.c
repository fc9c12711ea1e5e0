/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/cards.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "abi/nvml.h"
#include "common/sums.h"
#include "common/text.h"
#include "common/time_authority.h"

#define PAGE_STEP (UINT64_C(2) << 20)

static struct {
        char path[PATH_MAX];
        const char *advice;
        __typeof__(nvmlInit_v2) *init;
        __typeof__(nvmlShutdown) *shutdown;
        __typeof__(nvmlErrorString) *error_string;
        __typeof__(nvmlSystemGetDriverVersion) *driver_version;
        __typeof__(nvmlDeviceGetCount_v2) *count;
        __typeof__(nvmlDeviceGetHandleByIndex_v2) *by_index;
        __typeof__(nvmlDeviceGetUUID) *uuid;
        __typeof__(nvmlDeviceGetName) *name;
        __typeof__(nvmlDeviceGetMemoryInfo) *memory;
        /* NULL: the driver is too old to have it */
        __typeof__(nvmlDeviceGetMemoryInfo_v2) *memory_v2;
        __typeof__(nvmlDeviceGetMaxMigDeviceCount) *instance_count;
        __typeof__(nvmlDeviceGetMigDeviceHandleByIndex) *instance;
} nvml;

static bool bind(void *handle)
{
        nvml.advice = dlsym(handle, TIME_AUTHORITY_SYMBOL)
                              ? "it is simulated: look at what --sim or ALIQUOT_SIM says"
                              : "nvidia-smi should work first";
        nvml.init = dlsym(handle, "nvmlInit_v2");
        nvml.shutdown = dlsym(handle, "nvmlShutdown");
        nvml.error_string = dlsym(handle, "nvmlErrorString");
        nvml.driver_version = dlsym(handle, "nvmlSystemGetDriverVersion");
        nvml.count = dlsym(handle, "nvmlDeviceGetCount_v2");
        nvml.by_index = dlsym(handle, "nvmlDeviceGetHandleByIndex_v2");
        nvml.uuid = dlsym(handle, "nvmlDeviceGetUUID");
        nvml.name = dlsym(handle, "nvmlDeviceGetName");
        nvml.memory = dlsym(handle, "nvmlDeviceGetMemoryInfo");
        nvml.memory_v2 = dlsym(handle, "nvmlDeviceGetMemoryInfo_v2");
        nvml.instance_count = dlsym(handle, "nvmlDeviceGetMaxMigDeviceCount");
        nvml.instance = dlsym(handle, "nvmlDeviceGetMigDeviceHandleByIndex");
        return nvml.init && nvml.shutdown && nvml.error_string && nvml.count && nvml.by_index &&
               nvml.uuid && nvml.name && nvml.memory;
}

static int fail_nvml(const char *what, nvmlReturn_t rc, struct error *err)
{
        return fail(err, -EIO, "%s: %s: %s; %s", nvml.path, what, nvml.error_string(rc),
                    nvml.advice);
}

uint64_t cards_promisable_bytes(uint64_t total_bytes, uint64_t reserved_bytes)
{
        uint64_t kept = sum_of(reserved_bytes, reserved_bytes / 4);
        uint64_t left = kept < total_bytes ? total_bytes - kept : 0;

        return reserved_bytes ? left - left % PAGE_STEP : left;
}

/* Returns the bytes that the card reserves; 0: none, or unknown. */
static uint64_t reserved_bytes(nvmlDevice_t device)
{
        nvmlMemory_v2_t memory = { .version = nvmlMemory_v2 };

        return nvml.memory_v2 && nvml.memory_v2(device, &memory) == NVML_SUCCESS ? memory.reserved
                                                                                 : 0;
}

/* Adds a device to the list. A device without a UUID is left out, since it could not be named. */
static void add(struct cards *cards, nvmlDevice_t device, unsigned index, bool is_instance)
{
        struct card card = { .index = index, .is_instance = is_instance };
        char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
        nvmlMemory_t memory;

        if (cards->count == SETTINGS_GPUS ||
            nvml.uuid(device, uuid, sizeof(uuid)) != NVML_SUCCESS || !uuid_parse(uuid, card.uuid))
                return;
        if (nvml.name(device, card.name, sizeof(card.name)) != NVML_SUCCESS)
                card.name[0] = '\0';
        if (nvml.memory(device, &memory) == NVML_SUCCESS) {
                card.total_bytes = memory.total;
                card.used_bytes = memory.used;
                card.promisable_bytes =
                        cards_promisable_bytes(memory.total, reserved_bytes(device));
        }
        cards->card[cards->count++] = card;
}

static void add_instances(struct cards *cards, nvmlDevice_t card, unsigned index)
{
        unsigned count = 0;

        if (!nvml.instance_count || !nvml.instance ||
            nvml.instance_count(card, &count) != NVML_SUCCESS)
                return;
        for (unsigned i = 0; i < count; i++) {
                nvmlDevice_t instance;

                if (nvml.instance(card, i, &instance) == NVML_SUCCESS)
                        add(cards, instance, index, true);
        }
}

int cards_start(void *handle, const char *path, struct error *err)
{
        nvmlReturn_t rc;

        text_put(nvml.path, sizeof(nvml.path), NULL, "%s", path);
        if (!handle || !bind(handle))
                return fail(err, -EIO, "%s is no NVML that loads here", path);
        rc = nvml.init();
        return rc == NVML_SUCCESS ? 0 : fail_nvml("nvmlInit", rc, err);
}

int cards_list(struct cards *ret, struct error *err)
{
        static struct cards cards;
        unsigned count;
        nvmlReturn_t rc = nvml.count(&count);

        if (rc != NVML_SUCCESS)
                return fail_nvml("nvmlDeviceGetCount", rc, err);
        cards = (struct cards){ 0 };
        memcpy(cards.nvml, nvml.path, sizeof(cards.nvml));
        if (!nvml.driver_version ||
            nvml.driver_version(cards.driver, sizeof(cards.driver)) != NVML_SUCCESS)
                cards.driver[0] = '\0';
        for (unsigned i = 0; i < count; i++) {
                nvmlDevice_t device;

                if (nvml.by_index(i, &device) != NVML_SUCCESS)
                        continue;
                add(&cards, device, i, false);
                add_instances(&cards, device, i);
        }
        *ret = cards;
        return 0;
}

void cards_stop(void)
{
        nvml.shutdown();
}

bool cards_is_divided(const struct cards *cards, unsigned at)
{
        const struct card *card = &cards->card[at];

        for (unsigned i = 0; !card->is_instance && i < cards->count; i++) {
                if (cards->card[i].is_instance && cards->card[i].index == card->index)
                        return true;
        }
        return false;
}

void cards_as_gpus(const struct cards *cards, struct settings_gpus *ret)
{
        ret->count = (int)cards->count;
        for (unsigned i = 0; i < cards->count; i++) {
                memcpy(ret->gpu[i].uuid, cards->card[i].uuid, sizeof(ret->gpu[i].uuid));
                ret->gpu[i].card_bytes = cards->card[i].promisable_bytes;
                ret->gpu[i].is_instance = cards->card[i].is_instance;
        }
}

#define SHORT_BYTES 12u /* length of "GPU-" and the first 8 digits */

const char *cards_short_uuid(const struct cards *cards, unsigned at, char ret[UUID_TEXT_BYTES])
{
        const struct card *card = &cards->card[at];
        char head[SHORT_BYTES + 1];
        unsigned like = 0;

        uuid_format(card->uuid, card->is_instance, ret);
        memcpy(head, ret, SHORT_BYTES);
        head[SHORT_BYTES] = '\0';
        for (unsigned i = 0; i < cards->count; i++)
                like += uuid_matches(cards->card[i].uuid, cards->card[i].is_instance, head);
        if (like == 1)
                ret[SHORT_BYTES] = '\0';
        return ret;
}
