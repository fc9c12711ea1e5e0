/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pull parser of JSON for small texts from untrusted sources: no heap, no recursion, bounded
 * depth.
 *
 *      json_begin(&json, text, length);
 *      while (json_next(&json, &token) == 0 && token.kind != JSON_END)
 *
 * Tokens come in the order of the text; their spans are borrowed from it and still escaped. The
 * grammar is all of RFC 8259: invalid JSON is -EINVAL with the position, nesting deeper than
 * JSON_DEPTH -E2BIG. After an error or JSON_END every further call returns the same again.
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
        JSON_KEY, /* the string before a colon; its value is the next token */
        JSON_STRING,
        JSON_NUMBER,
        JSON_TRUE,
        JSON_FALSE,
        JSON_NULL,
};

struct json_token {
        enum json_kind kind;
        const char *at; /* strings: between the quotes */
        size_t length;
};

struct json {
        const char *start, *at, *end;
        uint32_t is_object; /* bit per level: { or [ */
        unsigned depth;
        int expect; /* what may come next, see json.c */
        int failed;
};

void json_begin(struct json *json, const char *text, size_t length);
int json_next(struct json *json, struct json_token *ret, struct error *err);

/* A string or key with its escapes resolved, terminated. -EINVAL for a NUL inside, -ENAMETOOLONG.
 */
int json_text(const struct json_token *token, char *ret, size_t bytes, struct error *err);

/* Reads a number that is an unsigned integer of 64 bits; -EINVAL for any other. */
int json_whole(const struct json_token *token, uint64_t *ret, struct error *err);

#endif
