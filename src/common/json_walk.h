/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a JSON text value by value with callbacks, over common/json.h; a reader can skip unknown
 * members.
 *
 *      json_walk_begin(&walk, text, length, &err)
 *      json_walk_object(&walk, read_member, context)
 *
 * When a callback is called, walk->token is the first token of a value. When it returns,
 * walk->token must be the last token of that value. All functions return 0, or a negative errno
 * with the message in walk->err.
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

/* Starts to read `text`; walk->token is then its first token. */
int json_walk_begin(struct json_walk *walk, const char *text, size_t length, struct error *err);

/* Ends the reading; -EINVAL if text follows the last value. */
int json_walk_end(struct json_walk *walk);

/* Calls `read` for each member of an object; -EINVAL if the value is not an object. */
int json_walk_object(struct json_walk *walk, json_read_member *read, void *context);
/* Calls `read` for each item of an array; -EINVAL if the value is not an array. */
int json_walk_array(struct json_walk *walk, json_read_item *read, void *context);
/* Skips the value. */
int json_walk_skip(struct json_walk *walk);

/* Whether a key or string equals `text`, which must need no JSON escapes. */
bool json_walk_is(const struct json_token *token, const char *text);

#endif
