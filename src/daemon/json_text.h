/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON written into memory, compact, for what is asked for thousands of times a second. What is
 * read, and what is written seldom, is jansson's.
 *
 *      struct json_text out = { 0 };
 *
 *      json_text_open(&out, NULL, '{');
 *      json_text_string(&out, "name", name);
 *      json_text_close(&out, '}');
 *      text = json_text_done(&out);    // NULL: out of memory; borrowed until the next call
 *      ...
 *      json_text_clear(&out);          // empty again, and as large: for the next one
 *      json_text_free(&out);
 *
 * `key` is NULL inside arrays and at the top; keys need no escapes. Strings are UTF-8. The order of
 * the calls is the caller's business, commas are not.
 */
#ifndef ALIQUOT_DAEMON_JSON_TEXT_H
#define ALIQUOT_DAEMON_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_text {
        char *at; /* owned */
        size_t used, room;
        bool has_before; /* something stands before in this level */
        bool has_failed;
};

void json_text_open(struct json_text *out, const char *key, char bracket);
void json_text_close(struct json_text *out, char bracket);
void json_text_string(struct json_text *out, const char *key, const char *value); /* NULL: null */
void json_text_bool(struct json_text *out, const char *key, bool value);
void json_text_null(struct json_text *out, const char *key);
void json_text_raw(struct json_text *out, const char *key, const char *json, size_t length);

/* What is more than 63 bits hold is the most that they do. */
void json_text_whole(struct json_text *out, const char *key, uint64_t value);

/* `value` / 10^`digits`, exactly, with one decimal at least: 33300, 3 is 33.3, 2000, 3 is 2.0. */
void json_text_decimal(struct json_text *out, const char *key, uint64_t value, unsigned digits);

const char *json_text_done(struct json_text *out);
void json_text_clear(struct json_text *out);
void json_text_free(struct json_text *out);

/* As json_text_done(), and it is the caller's to free(); the next one begins without memory. */
char *json_text_take(struct json_text *out, size_t *ret_length);

#endif
