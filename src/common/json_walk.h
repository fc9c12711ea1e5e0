/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a JSON text value by value, over common/json.h; unknown members are skipped.
 *
 *      json_walk_begin(&walk, text, length, &err)
 *      json_walk_object(&walk, read_member, context)
 *
 * When a reader is called, walk->token is the first token of a value; when it returns, it must be
 * the last one. All return 0, or a negative errno with walk->err filled in.
 */
#ifndef ALIQUOT_COMMON_JSON_WALK_H
#define ALIQUOT_COMMON_JSON_WALK_H

#include <stdbool.h>

#include "common/json.h"

struct json_walk {
        struct json json;
        struct json_token token;
        struct error *err; /* borrowed; may be NULL */
};

typedef int json_read_member(struct json_walk *walk, const struct json_token *key, void *context);
typedef int json_read_item(struct json_walk *walk, void *context);

/* Starts the walk at the first token of the text. */
int json_walk_begin(struct json_walk *walk, const char *text, size_t length, struct error *err);

/* Ends the walk; -EINVAL if text follows the last value. */
int json_walk_end(struct json_walk *walk);

/* Calls `read` for each member; -EINVAL if the value is not an object. */
int json_walk_object(struct json_walk *walk, json_read_member *read, void *context);
int json_walk_array(struct json_walk *walk, json_read_item *read, void *context);
int json_walk_skip(struct json_walk *walk);

/* Whether a key or string equals `text`, which needs no escapes. */
bool json_walk_is(const struct json_token *token, const char *text);

#endif
