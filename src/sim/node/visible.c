/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses CUDA_VISIBLE_DEVICES: indices, UUIDs "GPU-..." or "MIG-..." and unambiguous prefixes of
 * UUIDs, in any order. The list ends before the first entry that matches no device or one that is
 * already in the list.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/context/device.h"
#include "sim/node/config_value.h"

static void uuid_format(const struct node_device *device, char *ret, size_t bytes)
{
        const unsigned char *u = device->uuid;

        snprintf(ret, bytes,
                 "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                 device->is_mig ? "MIG" : "GPU", u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7],
                 u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

/* Returns the index of the device that an entry means, or -1. */
static int entry_find(const char *entry, size_t length, const struct sim_node *node)
{
        char uuid[64];
        int found = -1;

        if (length > 0 && isdigit((unsigned char)entry[0])) {
                char *end;
                unsigned long index = strtoul(entry, &end, 10);

                return end == entry + length && index < node->device_count ? (int)index : -1;
        }
        if (length < 4 ||
            (strncasecmp(entry, "GPU-", 4) != 0 && strncasecmp(entry, "MIG-", 4) != 0))
                return -1;
        for (unsigned unit = 0; unit < node->device_count; unit++) {
                uuid_format(&node->device[unit], uuid, sizeof(uuid));
                if (length > strlen(uuid) || strncasecmp(uuid, entry, length) != 0)
                        continue;
                if (found >= 0)
                        return -1;
                found = (int)unit;
        }
        return found;
}

static bool has_unit(const struct device_list *list, unsigned unit)
{
        for (unsigned i = 0; i < list->count; i++) {
                if (list->unit[i] == unit)
                        return true;
        }
        return false;
}

void device_list_parse(const char *text, const struct sim_node *node, struct device_list *ret)
{
        ret->count = 0;
        if (!text) {
                for (unsigned unit = 0; unit < node->device_count; unit++)
                        ret->unit[ret->count++] = unit;
                return;
        }
        while (*text) {
                size_t length = strcspn(text, ",");
                size_t bytes = length;
                const char *entry = item_trim(text, &bytes);
                int unit = entry_find(entry, bytes, node);

                if (unit < 0 || has_unit(ret, (unsigned)unit))
                        return;
                ret->unit[ret->count++] = (unsigned)unit;
                text += length;
                if (*text == ',')
                        text++;
        }
}
