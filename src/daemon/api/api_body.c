/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads request bodies, field by field. One table lists the fields of a creation and of a change;
 * any other field is refused by name. Sizes, percentages and durations are numbers, or texts in the
 * syntax of the command line.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "common/host_memory.h"
#include "common/random.h"
#include "common/text.h"
#include "common/units.h"
#include "daemon/api/api_reading.h"
#include "settings/settings.h"

#define LABELS_MAX 16u
#define LABEL_KEY_BYTES 63u
#define LABEL_BYTES 64u /* long enough for a container's id */
#define SECOND_NS 1e9
/* A hundred years, so that the end of a session fits into 63 bits of nanoseconds. */
#define TTL_SECONDS_MAX 3153600000.0

bool reading_refuse(struct api_reading *reading, const char *field, const char *expected)
{
        api_refuse(reading->call, 400, "bad-field", field, "%s: expected %s", field, expected);
        return false;
}

static bool refuse_unknown(struct api_reading *reading, const char *field)
{
        api_refuse(reading->call, 400, "unknown-field", field, "there is no field %s", field);
        return false;
}

bool reading_refuse_why(struct api_reading *reading, const char *field, const struct error *err)
{
        api_refuse(reading->call, 400, "bad-field", field, "%s: %s", field, err->text);
        return false;
}

/* Whether the text has no control characters. jansson has checked that it is UTF-8. */
static bool is_plain(const char *text)
{
        for (; *text; text++) {
                if ((unsigned char)*text < ' ' || *text == 0x7f)
                        return false;
        }
        return true;
}

/* -- The other fields ------------------------------------------------------------------------- */

/* Reads a percentage and converts it to thousandths, as it is stored. A JSON number is rounded,
 * because few decimals are exact in binary; a text may have at most three decimals. null means 0.
 * `expected`: the hint in the refusal. */
static bool read_percent(struct api_reading *reading, const char *field, json_t *value,
                         const char *expected, uint32_t *ret_milli)
{
        double percent = json_number_value(value);
        struct error err = { 0 };
        uint32_t micro = 0;

        if (json_is_string(value)) {
                if (percent_parse(json_string_value(value), &micro, &err) < 0)
                        return reading_refuse_why(reading, field, &err);
                if (micro % SETTINGS_SHARE_GRAIN_MICRO_PERCENT)
                        return reading_refuse(reading, field, "a percentage in at most 3 decimals");
        } else if (json_is_number(value) && percent >= 0 && percent <= 100) {
                micro = (uint32_t)lround(percent * 1e6);
        } else if (!json_is_null(value)) {
                return reading_refuse(reading, field, expected);
        }
        *ret_milli = (micro + SETTINGS_SHARE_GRAIN_MICRO_PERCENT / 2) /
                     SETTINGS_SHARE_GRAIN_MICRO_PERCENT;
        return !micro || micro >= SETTINGS_SHARE_MIN_MICRO_PERCENT ||
               reading_refuse(reading, field, expected);
}

static bool read_compute(struct api_reading *reading, json_t *value)
{
        static const char expected[] = "0.1 to 100 percent, or null: no cap";
        uint32_t milli;

        if (!read_percent(reading, "compute", value, expected, &milli))
                return false;
        if (!milli && !json_is_null(value))
                return reading_refuse(reading, "compute", expected);
        reading->event->change_bits |= SESSIONS_HAS_COMPUTE;
        for (unsigned i = 0; i < SESSIONS_GPUS; i++)
                reading->one->share[i].compute_milli_percent = milli;
        return true;
}

#define USUAL_WEIGHT 100
#define USUAL_PRIORITY 1
#define NO_LEASES "the usual: this daemon hands out no leases (compute.leases = no)"

/* Whether guarantees and weights can have an effect: without leases nothing enforces them. */
static bool can_weigh(const struct api_reading *reading)
{
        return reading->call->api->options.config->has_leases;
}

static bool read_guarantee(struct api_reading *reading, json_t *value)
{
        uint32_t milli;

        if (!read_percent(reading, "guarantee", value, "0, 0.1 to 100 percent, or null: none",
                          &milli))
                return false;
        if (milli > 0 && !can_weigh(reading))
                return reading_refuse(reading, "guarantee", NO_LEASES);
        reading->event->change_bits |= SESSIONS_HAS_COMPUTE;
        for (unsigned i = 0; i < SESSIONS_GPUS; i++)
                reading->one->share[i].guarantee_milli_percent = milli;
        return true;
}

static bool read_weight(struct api_reading *reading, json_t *value)
{
        json_int_t weight = json_integer_value(value);

        if (!json_is_integer(value) || weight < 1 || weight > 10000)
                return reading_refuse(reading, "weight", "1 to 10000");
        if (weight != USUAL_WEIGHT && !can_weigh(reading))
                return reading_refuse(reading, "weight", NO_LEASES);
        reading->one->weight = (uint32_t)weight;
        reading->event->change_bits |= SESSIONS_HAS_WEIGHT;
        return true;
}

/* Returns the index of a text in a list of words that ends with NULL, ignoring case. -ENOENT: it is
 * not in the list. */
static int word_of(const json_t *value, const char *const *words)
{
        const char *text = json_string_value(value);

        for (int i = 0; text && words[i]; i++) {
                if (text_is_same(words[i], text))
                        return i;
        }
        return -ENOENT;
}

static bool read_priority(struct api_reading *reading, json_t *value)
{
        int word = word_of(value, (const char *const[]){ "batch", "normal", "rt", NULL });

        if (word < 0)
                return reading_refuse(reading, "priority", "batch, normal or rt");
        if (word != USUAL_PRIORITY && !can_weigh(reading))
                return reading_refuse(reading, "priority", NO_LEASES);
        reading->one->priority = (uint8_t)word;
        reading->event->change_bits |= SESSIONS_HAS_PRIORITY;
        return true;
}

/* Reads `gang`. "none" means no gang, as on the command line. */
static bool read_gang(struct api_reading *reading, json_t *value)
{
        const char *gang = json_is_null(value) ? "" : json_string_value(value);

        if (gang && text_is_same(gang, "none"))
                gang = "";
        if (!gang || (gang[0] && settings_check_name("", gang, NULL) < 0))
                return reading_refuse(reading, "gang",
                                      "a name as sessions have, or null or \"none\": none");
        if (gang[0] && !can_weigh(reading))
                return reading_refuse(reading, "gang", NO_LEASES);
        memset(reading->one->gang, 0, sizeof(reading->one->gang));
        memcpy(reading->one->gang, gang, strlen(gang));
        reading->event->change_bits |= SESSIONS_HAS_GANG;
        return true;
}

static bool read_ending(struct api_reading *reading, json_t *value)
{
        int word = word_of(value, (const char *const[]){ "deny-new", "term", "kill", NULL });

        if (word < 0)
                return reading_refuse(reading, "on_end", "deny-new, term or kill");
        reading->one->ending = (uint8_t)word;
        reading->event->change_bits |= SESSIONS_HAS_ENDING;
        return true;
}

/* Whether the client may create sessions whose contexts are not charged, and so take memory that is
 * promised to other sessions. */
static bool may_free_contexts(const struct api_reading *reading)
{
        return reading->call->caller.is_admin ||
               reading->call->api->options.config->may_all_free_contexts;
}

static bool read_context(struct api_reading *reading, json_t *value)
{
        int word = word_of(value, (const char *const[]){ "charge", "free", NULL });

        if (word < 0)
                return reading_refuse(reading, "context", "charge or free");
        if (word == 1 && !may_free_contexts(reading))
                return reading_refuse(reading, "context",
                                      "charge: free is for administrators "
                                      "(admission.context_free)");
        reading->one->is_context_free = word == 1;
        return true;
}

static bool read_host_size(json_t *value, uint64_t *ret)
{
        struct size size = { 0 };

        if (json_is_integer(value) && json_integer_value(value) > 0) {
                *ret = (uint64_t)json_integer_value(value);
                return true;
        }
        if (!json_is_string(value) || size_parse(json_string_value(value), &size, NULL) < 0 ||
            size.micro_percent)
                return false;
        *ret = size.bytes;
        return true;
}

/* Reads `oversubscribe`. true means half of the host's memory, as it is now. */
static bool read_oversubscribe(struct api_reading *reading, json_t *value)
{
        uint64_t *bytes = &reading->one->host_bytes;

        *bytes = json_is_true(value) ? host_memory_default() : 0;
        if (json_is_null(value) || json_is_false(value) || *bytes ||
            (read_host_size(value, bytes) && *bytes <= INT64_MAX))
                return true;
        return reading_refuse(reading, "oversubscribe",
                              "true, false, null, or how much of the host's memory: bytes, or a "
                              "size such as \"8GiB\"");
}

static bool refuse_no_memory(struct api_reading *reading)
{
        return reading_refuse(reading, "memory", "a size, or one for each GPU");
}

static bool read_swap(struct api_reading *reading, json_t *value)
{
        if (!json_is_boolean(value))
                return reading_refuse(reading, "swap", "true or false");
        reading->one->swaps = json_is_true(value);
        return true;
}

/* Whether a session that is created without the field `swap` swaps (default.swap). */
static bool is_swap_default(const struct api_reading *reading)
{
        return !reading->is_change && reading->call->api->options.config->is_swap_default &&
               !json_object_get(reading->body, "swap");
}

/* Checks `swap` after all fields were read, because they may come in any order. A session that
 * cannot swap does not swap by default. */
static bool check_swap(struct api_reading *reading)
{
        struct sessions_one *one = reading->one;

        if (reading->is_change)
                return true;
        if (is_swap_default(reading))
                one->swaps = one->share_count == 1 && !one->host_bytes;
        if (!one->swaps)
                return json_object_get(reading->body, "memory") || refuse_no_memory(reading);
        if (one->host_bytes)
                return reading_refuse(reading, "swap",
                                      "false, beside oversubscribe: memory that is in the host "
                                      "already cannot leave the GPU");
        if (one->share_count != 1)
                return reading_refuse(reading, "swap",
                                      "false, for a session of several GPUs: one that swaps has "
                                      "one");
        return json_object_get(reading->body, "memory") || reading_whole(reading);
}

static bool read_ns(struct api_reading *reading, json_t *value, uint64_t *ret)
{
        struct error err = { 0 };
        double seconds = json_number_value(value);

        *ret = 0;
        if (json_is_null(value))
                return true;
        if (json_is_string(value)) {
                if (duration_parse(json_string_value(value), ret, &err) < 0)
                        return reading_refuse_why(reading, "ttl", &err);
                seconds = (double)*ret / SECOND_NS;
        } else if (json_is_number(value) && seconds > 0 && seconds <= TTL_SECONDS_MAX) {
                *ret = (uint64_t)(seconds * SECOND_NS);
        }
        if (*ret && seconds <= TTL_SECONDS_MAX)
                return true;
        return reading_refuse(reading, "ttl",
                              "seconds, a duration such as \"1h30m\", or null; a hundred years at "
                              "most");
}

static bool read_ttl(struct api_reading *reading, json_t *value)
{
        reading->event->change_bits |= SESSIONS_HAS_TTL;
        return read_ns(reading, value, &reading->one->ttl_ns);
}

static bool is_label(const char *key, const json_t *value)
{
        const char *text = json_string_value(value);

        return *key && strlen(key) <= LABEL_KEY_BYTES && is_plain(key) && !strchr(key, '=') &&
               text && strlen(text) <= LABEL_BYTES && is_plain(text);
}

static bool read_labels(struct api_reading *reading, json_t *value)
{
        struct sessions_one *one = reading->one;
        size_t length;
        const char *key;
        json_t *text;

        if (!json_is_object(value) || json_object_size(value) > LABELS_MAX)
                return reading_refuse(reading, "labels", "an object of 16 texts at most");
        json_object_foreach(value, key, text)
        {
                if (!is_label(key, text))
                        return reading_refuse(reading, "labels",
                                              "texts of 64 characters at most (a key: 63) without "
                                              "control characters, and no = in a key");
        }
        memset(one->labels, 0, sizeof(one->labels));
        length = json_dumpb(value, one->labels, sizeof(one->labels) - 1,
                            JSON_COMPACT | JSON_SORT_KEYS);
        if (!length || length > sizeof(one->labels) - 1)
                return reading_refuse(reading, "labels", "511 bytes together at most");
        reading->event->change_bits |= SESSIONS_HAS_LABELS;
        return true;
}

static bool read_name(struct api_reading *reading, json_t *value)
{
        struct error err = { 0 };
        const char *name = json_string_value(value);

        if (!name)
                return reading_refuse(reading, "name", "a text");
        if (settings_check_name("", name, &err) < 0)
                return reading_refuse(reading, "name",
                                      "1 to 63 letters, digits, '.', '_' or '-', the first none of "
                                      "'.' and '-'");
        if (strncmp(name, SETTINGS_HASH_STEM, strlen(SETTINGS_HASH_STEM)) == 0)
                return reading_refuse(reading, "name",
                                      "another beginning than " SETTINGS_HASH_STEM
                                      ": programs make the sessions that are named so, each for "
                                      "its own user");
        return text_put(reading->one->name, sizeof(reading->one->name), NULL, "%s", name) == 0;
}

static bool read_owner(struct api_reading *reading, json_t *value)
{
        json_int_t owner = json_integer_value(value);

        if (!json_is_integer(value) || owner < 0 || owner >= UINT32_MAX)
                return reading_refuse(reading, "owner", "the number of a user");
        reading->one->owner_uid = (uint32_t)owner;
        return true;
}

/* Ignores `gpus`, which was read before all other fields. The function is in the table so that the
 * name is known. */
static bool skip_gpus(struct api_reading *reading, json_t *value)
{
        return true;
}

static const struct field {
        const char *name;
        bool (*read)(struct api_reading *reading, json_t *value);
        bool is_changeable;
} fields[] = {
        { "name", read_name, false },          { "gpus", skip_gpus, false },
        { "memory", reading_memory, true },    { "compute", read_compute, true },
        { "guarantee", read_guarantee, true }, { "weight", read_weight, true },
        { "priority", read_priority, true },   { "gang", read_gang, true },
        { "context", read_context, false },    { "ttl", read_ttl, true },
        { "on_end", read_ending, true },       { "labels", read_labels, true },
        { "owner", read_owner, false },        { "oversubscribe", read_oversubscribe, false },
        { "swap", read_swap, false },
};

static const struct field *find_field(const char *name)
{
        for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
                if (strcmp(fields[i].name, name) == 0)
                        return &fields[i];
        }
        return NULL;
}

/* Checks the names of all fields first, so that a misspelt name is reported, and not the field that
 * is missing because of it. */
static bool check_names(struct api_reading *reading)
{
        const char *name;
        json_t *value;

        json_object_foreach(reading->body, name, value)
        {
                if (!find_field(name))
                        return refuse_unknown(reading, name);
        }
        if (!reading->is_change && !json_object_get(reading->body, "memory") &&
            !json_is_true(json_object_get(reading->body, "swap")) && !is_swap_default(reading))
                return refuse_no_memory(reading);
        return true;
}

static bool read_field(struct api_reading *reading, const char *name, json_t *value)
{
        const struct field *field = find_field(name);

        if (!reading->is_change || field->is_changeable)
                return field->read(reading, value);
        api_refuse(reading->call, 400, "bad-field", name, "%s is as the session was made", name);
        return false;
}

static bool read_fields(struct api_reading *reading)
{
        const char *name;
        json_t *value;

        if (!check_names(reading))
                return false;
        cards_as_gpus(&node_cards(reading->call->api->options.node)->cards, &reading->gpus);
        if (!reading->is_change && !reading_gpus(reading))
                return false;
        json_object_foreach(reading->body, name, value)
        {
                if (!read_field(reading, name, value))
                        return false;
        }
        return check_swap(reading);
}

/* -- Bodies ----------------------------------------------------------------------------------- */

static bool is_json(const char *type)
{
        static const char *const good[] = { "application/json", "application/merge-patch+json" };

        for (unsigned i = 0; type && i < 2; i++) {
                size_t length = strlen(good[i]);

                if (strncasecmp(type, good[i], length) == 0 &&
                    (!type[length] || type[length] == ';' || type[length] == ' '))
                        return true;
        }
        return false;
}

json_t *api_body(struct api_call *call, bool may_lack)
{
        const struct http_exchange *exchange = call->exchange;
        json_error_t error;
        json_t *body;

        if (!exchange->body_bytes && may_lack)
                return json_object();
        if (!is_json(request_header(exchange->request, "Content-Type"))) {
                api_refuse(call, 415, "unsupported-media-type", "Content-Type",
                           "say Content-Type: application/json, and send that");
                return NULL;
        }
        body = json_loadb(exchange->body ? exchange->body : "", exchange->body_bytes,
                          JSON_REJECT_DUPLICATES, &error);
        if (json_is_object(body))
                return body;
        if (body)
                api_refuse(call, 400, "bad-body", "body", "expected a JSON object");
        else
                api_refuse(call, 400, "bad-body", "body", "line %d, column %d: %s", error.line,
                           error.column, error.text);
        json_decref(body);
        return NULL;
}

static bool make_name(struct api_reading *reading)
{
        struct sessions_one *one = reading->one;
        uint64_t number;

        if (one->name[0])
                return true;
        if (random_fill(&number, sizeof(number), NULL) < 0)
                return reading_refuse(reading, "name", "one, since none could be made up");
        return text_put(one->name, sizeof(one->name), NULL, "s-%016llx",
                        (unsigned long long)number) == 0;
}

bool api_read_creation(struct api_call *call, json_t *body, struct sessions_one *one,
                       struct sessions_event *event)
{
        struct api_reading reading = { .call = call, .one = one, .event = event, .body = body };

        *one = (struct sessions_one){ .owner_uid = call->caller.uid,
                                      .weight = USUAL_WEIGHT,
                                      .priority = USUAL_PRIORITY,
                                      .labels = "{}" };
        if (random_fill(one->id, sizeof(one->id), NULL) < 0) {
                api_refuse(call, 503, "unavailable", NULL, "no random numbers");
                return false;
        }
        return read_fields(&reading) && make_name(&reading);
}

bool api_read_change(struct api_call *call, json_t *body, struct sessions_one *one,
                     struct sessions_event *event)
{
        struct api_reading reading = {
                .call = call, .one = one, .event = event, .body = body, .is_change = true
        };

        if (!json_object_size(body)) {
                api_refuse(call, 400, "bad-body", "body", "nothing to change is said");
                return false;
        }
        return read_fields(&reading);
}

bool api_read_ttl(struct api_call *call, json_t *body, uint64_t *ret_ns, bool *ret_is_said)
{
        struct api_reading reading = { .call = call, .body = body };
        const char *name;
        json_t *value;

        *ret_ns = 0;
        *ret_is_said = false;
        json_object_foreach(body, name, value)
        {
                if (strcmp(name, "ttl") != 0)
                        return refuse_unknown(&reading, name);
                if (json_is_null(value) || !read_ns(&reading, value, ret_ns))
                        return json_is_null(value) && reading_refuse(&reading, "ttl", "a duration");
                *ret_is_said = true;
        }
        return true;
}
