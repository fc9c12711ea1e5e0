/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks that show the card to the program through NVML: its size is the limit, and its used memory
 * is the session's charge.
 *
 * The driver is called first, with the program's own arguments, and only successful answers are
 * changed. Used memory is always total minus free, and reserved memory is 0, so the figures add up.
 */
#include <errno.h>
#include <string.h>

#include "common/minmax.h"
#include "common/uuid.h"
#include "shim/cards.h"
#include "shim/hold.h"
#include "shim/nvml/front.h"
#include "shim/nvml/hooks.h"
#include "shim/nvml/real.h"

bool nvml_start(void)
{
        int saved = errno;

        if (session_state() == SESSION_UNKNOWN)
                session_start(cards_list);
        hold_use();
        errno = saved;
        return session_state() != SESSION_BROKEN;
}

static bool device_uuid(nvmlDevice_t device, uint8_t ret[16])
{
        char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE];

        return real.nvmlDeviceGetUUID(device, text, sizeof(text)) == NVML_SUCCESS &&
               uuid_parse(text, ret);
}

static uint64_t device_bytes(nvmlDevice_t device)
{
        nvmlMemory_t memory;

        return real.nvmlDeviceGetMemoryInfo(device, &memory) == NVML_SUCCESS ? memory.total : 0;
}

int nvml_row(nvmlDevice_t device)
{
        uint8_t uuid[16];

        if (!nvml_start())
                return SESSION_NO_ROW;
        if (session_state() == SESSION_NONE || !device_uuid(device, uuid))
                return CHARGE_NO_DEVICE;
        return session_device(uuid, device_bytes(device));
}

static int add_card(struct session_gpu *ret, nvmlDevice_t device, bool is_instance)
{
        *ret = (struct session_gpu){ .card_bytes = device_bytes(device),
                                     .is_instance = is_instance };
        return device_uuid(device, ret->uuid) ? 1 : 0;
}

static size_t add_instances(struct session_gpu *ret, size_t max, nvmlDevice_t card)
{
        unsigned current, pending, count = 0;
        nvmlDevice_t instance;
        size_t added = 0;

        if (real.nvmlDeviceGetMigMode(card, &current, &pending) != NVML_SUCCESS || !current)
                return 0;
        real.nvmlDeviceGetMaxMigDeviceCount(card, &count);
        for (unsigned i = 0; i < count && added < max; i++) {
                if (real.nvmlDeviceGetMigDeviceHandleByIndex(card, i, &instance) == NVML_SUCCESS)
                        added += add_card(&ret[added], instance, true);
        }
        return added;
}

int cards_list(struct session_gpu *ret, size_t max)
{
        nvmlDevice_t card;
        unsigned count = 0;
        size_t added = 0;

        if (real.nvmlInit_v2() != NVML_SUCCESS)
                return -ENODEV;
        real.nvmlDeviceGetCount_v2(&count);
        for (unsigned i = 0; i < count && added < max; i++) {
                if (real.nvmlDeviceGetHandleByIndex_v2(i, &card) != NVML_SUCCESS)
                        continue;
                added += add_card(&ret[added], card, false);
                added += add_instances(&ret[added], max - added, card);
        }
        real.nvmlShutdown();
        return (int)added;
}

static nvmlReturn_t started(nvmlReturn_t rc)
{
        if (rc != NVML_SUCCESS || nvml_start())
                return rc;
        real.nvmlShutdown();
        return NVML_ERROR_NO_PERMISSION;
}

nvmlReturn_t hook_nvmlInit(void)
{
        return started(real.nvmlInit());
}

nvmlReturn_t hook_nvmlInit_v2(void)
{
        return started(real.nvmlInit_v2());
}

nvmlReturn_t hook_nvmlInitWithFlags(unsigned int flags)
{
        return started(real.nvmlInitWithFlags(flags));
}

/* Computes what the program is told of a device from the driver's answer. False: the driver's
 * answer stands. */
static bool view_device(nvmlDevice_t device, unsigned long long total,
                        unsigned long long free_bytes, struct charge_card *ret)
{
        int row = nvml_row(device);

        *ret = (struct charge_card){ .free_bytes = free_bytes, .total_bytes = total };
        return row >= 0 && charge_view(row, ret);
}

nvmlReturn_t hook_nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *ret)
{
        nvmlReturn_t rc = real.nvmlDeviceGetMemoryInfo(device, ret);
        struct charge_card now;

        if (rc != NVML_SUCCESS || !view_device(device, ret->total, ret->free, &now))
                return rc;
        ret->total = now.total_bytes;
        ret->free = now.free_bytes;
        ret->used = ret->total - ret->free;
        return rc;
}

nvmlReturn_t hook_nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *ret)
{
        nvmlReturn_t rc = real.nvmlDeviceGetMemoryInfo_v2(device, ret);
        struct charge_card now;

        if (rc != NVML_SUCCESS || !view_device(device, ret->total, ret->free, &now))
                return rc;
        ret->total = now.total_bytes;
        ret->reserved = 0;
        ret->free = now.free_bytes;
        ret->used = ret->total - ret->free;
        return rc;
}

nvmlReturn_t hook_nvmlDeviceGetName(nvmlDevice_t device, char *ret, unsigned int room)
{
        nvmlReturn_t rc = real.nvmlDeviceGetName(device, ret, room);
        const struct limits_page *limits = session_limits();
        size_t length;

        if (rc != NVML_SUCCESS || !limits || !limits->device_name[0])
                return rc;
        length = strnlen(limits->device_name, sizeof(limits->device_name) - 1);
        if (length >= room)
                return NVML_ERROR_INSUFFICIENT_SIZE;
        memcpy(ret, limits->device_name, length);
        ret[length] = '\0';
        return rc;
}
