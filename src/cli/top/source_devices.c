/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/source_devices.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "cli/library.h"
#include "common/clock.h"
#include "common/text.h"

#define SHORT_UUID 12 /* length of GPU- and 8 digits */

/* Uses the simulator's clock, if there is one: a simulated GPU may have virtual time, in which the
 * sessions' GPU time is counted. */
static void follow_time(void *nvml)
{
        time_authority_find *find = (time_authority_find *)dlsym(nvml, TIME_AUTHORITY_SYMBOL);

        if (find)
                clock_follow(find(TIME_AUTHORITY_VERSION));
}

int source_devices_open(struct source *source, const struct request_flags *flags, struct error *err)
{
        struct cli_request *request = &source->request;
        struct doctor_api api;
        struct error why = { 0 };
        int rc = request_open_driver(flags, request, err);

        if (rc < 0)
                return rc;
        if (!library_api(&request->library, "nvml", &api) || !api.library[0]) {
                text_put(source->driver_note, sizeof(source->driver_note), NULL,
                         "no NVIDIA driver here: GPUs as the sessions know them");
                return 0;
        }
        rc = cards_start(api.handle, api.library, &why);
        if (rc < 0 && request->is_sim)
                return fail(err, rc, "--sim: the simulated GPU does not start: %s", why.text);
        if (rc < 0) {
                text_quote(why.text, source->driver_note, sizeof(source->driver_note));
                return 0;
        }
        gauges_bind(api.handle);
        follow_time(api.handle);
        source->has_driver = true;
        return 0;
}

void source_devices_close(struct source *source)
{
        if (source->has_driver)
                cards_stop();
        source->has_driver = false;
}

static struct snapshot_device *add_card(struct snapshot *snapshot, const struct cards *cards,
                                        unsigned at)
{
        const struct card *card = &cards->card[at];
        struct snapshot_device *device = &snapshot->device[snapshot->device_count++];

        *device = (struct snapshot_device){ .index = (int)card->index,
                                            .is_instance = card->is_instance,
                                            .total_bytes = card->total_bytes,
                                            .used_bytes = card->used_bytes };
        memcpy(device->uuid, card->uuid, sizeof(device->uuid));
        cards_short_uuid(cards, at, device->short_uuid);
        text_quote(card->name, device->name, sizeof(device->name));
        return device;
}

/* Adds the GPUs that the daemon reports. */
static void add_told(struct source *source, struct snapshot *ret)
{
        const struct source_terms *terms = &source->terms;
        struct cards *cards = &source->request.cards;

        cards->count = terms->device_count;
        for (unsigned i = 0; i < cards->count; i++)
                cards->card[i] = terms->device[i].card;
        for (unsigned i = 0; i < cards->count; i++)
                add_card(ret, cards, i)->gauges = terms->device[i].gauges;
}

static void add_seen(struct snapshot *ret, const struct cards *cards, unsigned at)
{
        const struct card *card = &cards->card[at];

        gauges_read(card->uuid, card->is_instance, &add_card(ret, cards, at)->gauges);
}

void source_devices_read(struct source *source, struct snapshot *ret)
{
        struct cards *cards = &source->request.cards;
        struct error err = { 0 };

        ret->device_count = 0;
        text_put(ret->note, sizeof(ret->note), NULL, "%s",
                 source->terms.device_count ? "" : source->driver_note);
        if (!source->has_driver) {
                add_told(source, ret);
                return;
        }
        if (cards_list(cards, &err) < 0) {
                text_quote(err.text, ret->note, sizeof(ret->note));
                return;
        }
        for (unsigned i = 0; i < cards->count; i++)
                add_seen(ret, cards, i);
}

/* Returns the index of a GPU in the snapshot; -ENOENT: it is not in it. */
static int find_device(const struct snapshot *snapshot, const uint8_t uuid[16])
{
        for (unsigned i = 0; i < snapshot->device_count; i++) {
                if (memcmp(snapshot->device[i].uuid, uuid, 16) == 0)
                        return (int)i;
        }
        return -ENOENT;
}

/* Adds a GPU that only sessions mention. -ENOSPC: there is no room for another one. */
static int add_unknown(struct snapshot *snapshot, const struct snapshot_share *share)
{
        struct snapshot_device *device = &snapshot->device[snapshot->device_count];

        if (snapshot->device_count == SETTINGS_GPUS)
                return -ENOSPC;
        *device = (struct snapshot_device){ .index = -1,
                                            .total_bytes = share->card_bytes,
                                            .gauges = GAUGES_UNKNOWN };
        memcpy(device->uuid, share->uuid, sizeof(device->uuid));
        uuid_format(share->uuid, false, device->short_uuid);
        device->short_uuid[SHORT_UUID] = '\0';
        return (int)snapshot->device_count++;
}

void source_devices_add(struct snapshot *snapshot, struct snapshot_share *share)
{
        struct snapshot_device *device;

        share->device = find_device(snapshot, share->uuid);
        if (share->device < 0)
                share->device = add_unknown(snapshot, share);
        if (share->device < 0)
                return;
        device = &snapshot->device[share->device];
        device->sessions_bytes += share->used_bytes;
        if (device->index < 0)
                device->used_bytes = device->sessions_bytes;
}
