/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads which GPUs a session gets, and how much memory of each. GPUs are given by index or UUID, or
 * as a number of GPUs to choose among those that have room.
 */
#include <string.h>

#include "common/text.h"
#include "common/uuid.h"
#include "daemon/api/api_reading.h"

static bool read_size(struct api_reading *reading, const char *field, const json_t *value,
                      struct size *ret)
{
        struct error err = { 0 };

        *ret = (struct size){ 0 };
        if (json_is_integer(value) && json_integer_value(value) > 0) {
                ret->bytes = (uint64_t)json_integer_value(value);
                return true;
        }
        if (!json_is_string(value))
                return reading_refuse(reading, field,
                                      "bytes, or a size such as \"8GiB\" or \"25%\"");
        return size_parse(json_string_value(value), ret, &err) == 0 ||
               reading_refuse_why(reading, field, &err);
}

/* Returns the memory of the share's card. 0: no card is chosen yet, and the cards differ. */
static uint64_t card_bytes(const struct api_reading *reading, const uint8_t uuid[16])
{
        static const uint8_t nobody[16];
        bool is_open = memcmp(uuid, nobody, sizeof(nobody)) == 0;
        uint64_t bytes = 0;

        for (int i = 0; i < reading->gpus.count; i++) {
                const struct settings_gpu *gpu = &reading->gpus.gpu[i];

                if (!is_open && memcmp(gpu->uuid, uuid, sizeof(gpu->uuid)) != 0)
                        continue;
                if (bytes && bytes != gpu->card_bytes)
                        return 0;
                bytes = gpu->card_bytes;
        }
        return bytes;
}

static bool put_size(struct api_reading *reading, struct sessions_share *share,
                     const struct size *size)
{
        struct error err = { 0 };

        /* if it is more than the card has, the core refuses it and reports what there is */
        share->memory_bytes = size->bytes;
        return size->bytes ||
               size_resolve(size, card_bytes(reading, share->uuid), &share->memory_bytes, &err) ==
                       0 ||
               reading_refuse_why(reading, "memory", &err);
}

/* Finds a share of a session that is being changed, even if its GPU is not present now. */
static struct sessions_share *find_share(struct sessions_one *one, const char *selector)
{
        for (unsigned i = 0; i < one->share_count; i++) {
                if (uuid_matches(one->share[i].uuid, false, selector) ||
                    uuid_matches(one->share[i].uuid, true, selector))
                        return &one->share[i];
        }
        return NULL;
}

static bool select_gpu(struct api_reading *reading, const char *field, const char *selector,
                       uint8_t ret[16])
{
        struct settings_selection selection;
        struct error err = { 0 };

        if (!selector || !*selector || strchr(selector, ','))
                return reading_refuse(reading, field, "the index or the UUID of a GPU");
        if (settings_select(selector, &reading->gpus, &selection, &err) < 0)
                return reading_refuse_why(reading, field, &err);
        if (selection.count != 1)
                return reading_refuse(reading, field, "the index or the UUID of one GPU");
        memcpy(ret, reading->gpus.gpu[selection.at[0]].uuid, 16);
        return true;
}

/* Adds a share of this GPU. NULL: refused, for example because the GPU is named twice. */
static struct sessions_share *add_share(struct api_reading *reading, const char *field,
                                        const char *selector)
{
        struct sessions_one *one = reading->one;
        uint8_t uuid[16];

        if (!select_gpu(reading, field, selector, uuid))
                return NULL;
        for (unsigned i = 0; i < one->share_count; i++) {
                if (memcmp(one->share[i].uuid, uuid, sizeof(uuid)) == 0) {
                        reading_refuse(reading, field, "each GPU once");
                        return NULL;
                }
        }
        if (one->share_count == SESSIONS_GPUS) {
                reading_refuse(reading, field, "16 GPUs at most");
                return NULL;
        }
        memcpy(one->share[one->share_count].uuid, uuid, sizeof(uuid));
        return &one->share[one->share_count++];
}

static bool read_memory_of_each(struct api_reading *reading, json_t *memory)
{
        const char *selector;
        struct size size;
        json_t *value;

        if (!json_object_size(memory))
                return reading_refuse(reading, "memory", "a size for at least one GPU");
        json_object_foreach(memory, selector, value)
        {
                struct sessions_share *share =
                        reading->is_change ? find_share(reading->one, selector) : NULL;
                uint8_t uuid[16];

                if (reading->is_change && !share) {
                        char text[UUID_TEXT_BYTES];

                        if (!select_gpu(reading, "memory", selector, uuid))
                                return false;
                        share = find_share(reading->one, uuid_format(uuid, false, text));
                        if (!share)
                                return reading_refuse(reading, "memory",
                                                      "GPUs that the session has");
                } else if (!share) {
                        share = add_share(reading, "memory", selector);
                }
                if (!share || !read_size(reading, "memory", value, &size) ||
                    !put_size(reading, share, &size))
                        return false;
        }
        return true;
}

bool reading_memory(struct api_reading *reading, json_t *memory)
{
        struct size size;

        reading->event->change_bits |= SESSIONS_HAS_MEMORY;
        if (json_is_object(memory))
                return read_memory_of_each(reading, memory);
        if (!read_size(reading, "memory", memory, &size))
                return false;
        for (unsigned i = 0; i < reading->one->share_count; i++) {
                if (!put_size(reading, &reading->one->share[i], &size))
                        return false;
        }
        return true;
}

bool reading_whole(struct api_reading *reading)
{
        uint64_t reserve_bytes =
                node_sessions(reading->call->api->options.node)->policy.reserve_bytes;

        for (unsigned i = 0; i < reading->one->share_count; i++) {
                struct sessions_share *share = &reading->one->share[i];
                uint64_t bytes = card_bytes(reading, share->uuid);

                if (bytes <= reserve_bytes)
                        return reading_refuse(reading, "memory",
                                              "a size, or the name of a GPU: they differ");
                share->memory_bytes = bytes - reserve_bytes;
        }
        reading->event->change_bits |= SESSIONS_HAS_MEMORY;
        return true;
}

static bool read_count(struct api_reading *reading, json_t *value)
{
        json_int_t count = json_integer_value(value);

        if (!json_is_integer(value) || count < 1 || count > SESSIONS_GPUS)
                return reading_refuse(reading, "gpus.count", "1 to 16");
        reading->one->share_count = (uint8_t)count;
        return true;
}

static bool read_policy(struct api_reading *reading, json_t *value)
{
        struct sessions_wish *wish = &reading->event->wish;
        const char *text = json_string_value(value);

        if (!text || (strcmp(text, "best-fit") != 0 && strcmp(text, "least-loaded") != 0))
                return reading_refuse(reading, "gpus.choice", "best-fit or least-loaded");
        wish->has_choice = true;
        wish->choice = text[0] == 'b' ? SESSIONS_BEST_FIT : SESSIONS_LEAST_LOADED;
        return true;
}

static bool read_free_least(struct api_reading *reading, json_t *value)
{
        struct size size;

        if (!read_size(reading, "gpus.free_least", value, &size))
                return false;
        if (!size.bytes)
                return reading_refuse(reading, "gpus.free_least", "bytes or a size");
        reading->event->wish.free_min_bytes = size.bytes;
        return true;
}

static bool read_choice(struct api_reading *reading, json_t *gpus)
{
        static const struct {
                const char *key;
                bool (*read)(struct api_reading *reading, json_t *value);
        } readers[] = { { "count", read_count },
                        { "choice", read_policy },
                        { "free_least", read_free_least } };
        const size_t count = sizeof(readers) / sizeof(readers[0]);
        const char *key;
        json_t *value;

        json_object_foreach(gpus, key, value)
        {
                size_t at = 0;

                while (at < count && strcmp(key, readers[at].key) != 0)
                        at++;
                if (at == count)
                        return reading_refuse(reading, "gpus", "count, choice and free_least only");
                if (!readers[at].read(reading, value))
                        return false;
        }
        return true;
}

bool reading_gpus(struct api_reading *reading)
{
        json_t *gpus = json_object_get(reading->body, "gpus");
        json_t *memory = json_object_get(reading->body, "memory");
        size_t at;
        json_t *selector;

        reading->one->share_count = 0;
        if (json_is_object(memory))
                return !gpus || reading_refuse(reading, "gpus",
                                               "nothing, where memory names the GPUs already");
        if (json_is_array(gpus)) {
                if (!json_array_size(gpus))
                        return reading_refuse(reading, "gpus", "at least one GPU");
                json_array_foreach(gpus, at, selector)
                {
                        if (!add_share(reading, "gpus", json_string_value(selector)))
                                return false;
                }
                return true;
        }
        reading->event->wish.is_chosen_here = true;
        reading->one->share_count = 1;
        if (gpus && !json_is_object(gpus))
                return reading_refuse(reading, "gpus", "a list of GPUs, or an object with count");
        return !gpus || read_choice(reading, gpus);
}
