/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers and changes the rules of swapping for all GPUs of the node: the mode, and the length of
 * turns. A change by an administrator applies until the config is read again.
 */
#include <string.h>

#include "common/units.h"
#include "daemon/api/api_parts.h"
#include "daemon/swap/swapper.h"

#define SECOND_NS UINT64_C(1000000000)
#define TURN_MAX_SECONDS 3600 /* the maximum of the setting swap.turn */
#define TURN_MAX_NS (TURN_MAX_SECONDS * SECOND_NS)

static const char *const mode_names[] = {
        [SWAP_AUTO] = "auto",
        [SWAP_SERIAL] = "serial",
        [SWAP_PARALLEL] = "parallel",
};

void api_put_rules(struct json_out *out, const struct swap_rules *rules)
{
        json_out_text(out, "mode", mode_names[rules->mode]);
        if (rules->turn_ns)
                json_out_seconds(out, "turn_seconds", rules->turn_ns);
        else
                json_out_null(out, "turn_seconds");
}

static bool refuse_field(struct api_call *call, const char *field, const char *expected)
{
        api_refuse(call, 400, "bad-field", field, "%s: expected %s", field, expected);
        return false;
}

static bool read_mode(struct api_call *call, const json_t *value, struct swap_rules *ret)
{
        const char *text = json_string_value(value);

        for (uint8_t i = 0; text && i < sizeof(mode_names) / sizeof(mode_names[0]); i++) {
                if (strcmp(text, mode_names[i]) == 0) {
                        ret->mode = (enum swap_mode)i;
                        return true;
                }
        }
        return refuse_field(call, "mode", "auto, serial or parallel");
}

static bool read_turn(struct api_call *call, const json_t *value, struct swap_rules *ret)
{
        double seconds = json_number_value(value);
        uint64_t turn_ns = 0;

        if (json_is_string(value) && duration_parse(json_string_value(value), &turn_ns, NULL) < 0)
                turn_ns = 0;
        else if (json_is_number(value) && seconds > 0 && seconds <= TURN_MAX_SECONDS)
                turn_ns = (uint64_t)(seconds * SECOND_NS);
        if (!json_is_null(value) && (!turn_ns || turn_ns > TURN_MAX_NS))
                return refuse_field(
                        call, "turn",
                        "seconds, a duration such as \"30s\", or null; an hour at most");
        ret->turn_ns = turn_ns;
        return true;
}

static bool read_body(struct api_call *call, json_t *body, struct swap_rules *ret)
{
        const char *name;
        json_t *value;

        json_object_foreach(body, name, value)
        {
                bool is_read = strcmp(name, "mode") == 0 ? read_mode(call, value, ret)
                               : strcmp(name, "turn") == 0
                                       ? read_turn(call, value, ret)
                                       : refuse_field(call, name, "mode or turn");
                if (!is_read)
                        return false;
        }
        return true;
}

static void reply(struct api_call *call)
{
        struct swap_rules rules = swapper_rules(call->api->options.swapper);

        http_reply_json(call->exchange, 200,
                        json_pack("{s:s, s:o}", "mode", mode_names[rules.mode], "turn_seconds",
                                  rules.turn_ns ? json_real((double)rules.turn_ns / SECOND_NS)
                                                : json_null()));
}

void api_get_swap(struct api_call *call)
{
        if (api_has_no_query(call))
                reply(call);
}

void api_patch_swap(struct api_call *call)
{
        struct swap_rules rules = swapper_rules(call->api->options.swapper);
        bool is_read;
        json_t *body;

        if (!call->caller.is_admin) {
                api_refuse(call, 403, "forbidden", NULL,
                           "how turns of memory are dealt is an administrator's to say");
                return;
        }
        body = api_has_no_query(call) ? api_body(call, false) : NULL;
        is_read = body && read_body(call, body, &rules);
        json_decref(body);
        if (!is_read)
                return;
        swapper_rule(call->api->options.swapper, &rules);
        reply(call);
}
