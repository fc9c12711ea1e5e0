/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pull parser of JSON for small texts from untrusted sources: the caller asks for one token after
 * the other. It uses no heap and no recursion, and limits the depth.
 *
 *      json_begin(&json, text, length);
 *      while (json_next(&json, &token, &err) == 0 && token.kind != JSON_END)
 *
 * Tokens are returned in the order of the text. Their spans point into the text, and strings are
 * still escaped. The grammar is all of RFC 8259. Invalid JSON is -EINVAL with the position in
 * `err`; nesting deeper than JSON_DEPTH is -E2BIG. After an error or JSON_END every further call
 * returns the same result again.
 */
#ifndef ALIQUOT_COMMON_JSON_H
#define ALIQUOT_COMMON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define JSON_DEPTH 32u

enum json_kind {
        JSON_END,
        JSON_OBJECT, /* { */
        JSON_OBJECT_END,
        JSON_ARRAY, /* [ */
        JSON_ARRAY_END,
        JSON_KEY, /* a member's name; the next token is its value */
        JSON_STRING,
        JSON_NUMBER,
        JSON_TRUE,
        JSON_FALSE,
        JSON_NULL,
};

struct json_token {
        enum json_kind kind;
        const char *at; /* the token in the text; of a string, the part between the quotes */
        size_t length;
};

struct json {
        const char *start, *at, *end;
        uint32_t is_object; /* a bit per level: set for an object, clear for an array */
        unsigned depth;
        int expect; /* which token may come next (enum expect in json.c) */
        int failed; /* negative errno of the first error; 0: none */
};

void json_begin(struct json *json, const char *text, size_t length);
int json_next(struct json *json, struct json_token *ret, struct error *err);

/* Copies a string or key with its escapes resolved, and terminates it. -EINVAL: it contains a NUL.
 * -ENAMETOOLONG: it does not fit into `bytes`. */
int json_text(const struct json_token *token, char *ret, size_t bytes, struct error *err);

/* Reads a number that is a 64-bit unsigned integer; -EINVAL for any other token. */
int json_whole(const struct json_token *token, uint64_t *ret, struct error *err);

#endif
