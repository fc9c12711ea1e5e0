/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers /v1/devices: the cards, and how much memory of each is promised and free.
 */
#include <string.h>

#include "common/uuid.h"
#include "daemon/api/api_parts.h"

void api_get_devices(struct api_call *call)
{
        const struct node_cards *cards = node_cards(call->api->options.node);
        json_t *list;

        if (!api_has_no_query(call))
                return;
        list = json_array();
        for (unsigned i = 0; i < cards->cards.count; i++)
                json_array_append_new(list, api_view_device(call->api, &cards->cards.card[i]));
        http_reply_json(call->exchange, 200,
                        json_pack("{s:o, s:o}", "devices", list, "trouble",
                                  cards->trouble[0] ? json_string(cards->trouble) : json_null()));
}

void api_get_device(struct api_call *call)
{
        const struct cards *cards = &node_cards(call->api->options.node)->cards;
        uint8_t uuid[16];

        if (!api_has_no_query(call))
                return;
        for (unsigned i = 0; uuid_parse(call->name, uuid) && i < cards->count; i++) {
                if (memcmp(cards->card[i].uuid, uuid, sizeof(uuid)) != 0)
                        continue;
                http_reply_json(call->exchange, 200, api_view_device(call->api, &cards->card[i]));
                return;
        }
        api_refuse(call, 404, "unknown-device", "uuid", "there is no GPU %s", call->name);
}
