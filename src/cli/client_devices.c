/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client_devices.h"

#include "cli/client_parts.h"
#include "common/text.h"

#define GAUGE_MAX 1000000

/* Returns a gauge; -1 if the daemon does not report it. */
static int gauge_of(const json_t *device, const char *key)
{
        const json_t *value = json_object_get(device, key);
        double number = json_number_value(value);

        return json_is_number(value) && number >= 0 && number <= GAUGE_MAX ? (int)(number + 0.5)
                                                                           : -1;
}

/* Reads a GPU. False: its UUID cannot be parsed. */
static bool read_device(const json_t *device, struct client_device *ret)
{
        struct card *card = &ret->card;

        *ret = (struct client_device){ 0 };
        card->is_instance = json_is_true(json_object_get(device, "is_instance"));
        card->index = (unsigned)client_whole(device, "index");
        card->total_bytes = client_whole(device, "memory_bytes");
        card->used_bytes = client_whole(device, "used_bytes");
        card->promisable_bytes = client_whole(device, "card_bytes");
        text_quote(client_text(device, "name"), card->name, sizeof(card->name));
        ret->gauges = (struct gauges){ .busy_percent = gauge_of(device, "busy_percent"),
                                       .celsius = gauge_of(device, "celsius"),
                                       .power_watts = gauge_of(device, "power_watts"),
                                       .power_limit_watts = gauge_of(device, "power_limit_watts") };
        return uuid_parse(client_text(device, "uuid"), card->uuid);
}

int client_devices(const struct store *store, long patience_ms,
                   struct client_device ret[SETTINGS_GPUS], struct error *err)
{
        scoped_call struct call call = { .store = store,
                                         .method = "GET",
                                         .patience_ms = patience_ms };
        int rc = client_start_call(&call, err, "/v1/devices"), count = 0;
        char trouble[TEXT_QUOTE_BYTES * 2];
        json_t *device;
        size_t at;

        if (rc == 0)
                rc = client_perform(&call, err);
        if (rc < 0)
                return rc;
        json_array_foreach(json_object_get(call.answer, "devices"), at, device)
        {
                if (count < (int)SETTINGS_GPUS && read_device(device, &ret[count]))
                        count++;
        }
        if (count > 0)
                return count;
        text_quote(client_text(call.answer, "trouble"), trouble, sizeof(trouble));
        return fail(err, -ENODEV, "the daemon of %s has no GPU%s%s", store->path,
                    trouble[0] ? ": " : "", trouble);
}
