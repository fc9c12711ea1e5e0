/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers what this server is, whether it is alive and ready, and the description of its API.
 */
#include <string.h>
#include <unistd.h>

#include "daemon/api/api_parts.h"
#include "daemon/api/openapi.h"

void api_get_root(struct api_call *call)
{
        char started[API_TIME_BYTES], host[256] = "";

        gethostname(host, sizeof(host) - 1);
        http_reply_json(
                call->exchange, 200,
                json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "name", "aliquotd", "version",
                          ALIQUOT_VERSION, "api", "v1", "started_at",
                          api_time(call->api->started_ns, started), "node", host,
                          "limits_protection",
                          tenants_use_mounts(call->api->options.tenants) ? "mount" : "mode"));
}

void api_get_health(struct api_call *call)
{
        http_reply_json(call->exchange, 200, json_pack("{s:b}", "alive", 1));
}

/* Answers 503 if there is no GPU, or if the database is in trouble: no new session is admitted
 * then, while existing ones continue. */
void api_get_ready(struct api_call *call)
{
        const struct node_cards *cards = node_cards(call->api->options.node);
        const char *trouble = database_trouble(node_database(call->api->options.node));

        if (trouble[0] || cards->trouble[0])
                api_refuse(call, 503, "not-ready", NULL, "%s",
                           trouble[0] ? trouble : cards->trouble);
        else
                http_reply_json(
                        call->exchange, 200,
                        json_pack("{s:b, s:i}", "ready", 1, "devices", (int)cards->cards.count));
}

void api_get_openapi(struct api_call *call)
{
        http_reply(call->exchange, 200, "application/json", openapi_json, openapi_json_bytes);
}
