/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON into memory: indented, then to a stream; or compact, for text that is passed on
 * thousands of times a second. It adds commas, indentation and escapes; the caller keeps the order
 * of calls valid.
 *
 *      struct json_out out = { .stream = stdout };
 *
 *      json_out_open(&out, NULL, '{');
 *      json_out_text(&out, "name", name);
 *      json_out_close(&out, '}');
 *      rc = json_out_end(&out);        // written, and empty again
 *
 *      struct json_out out = { 0 };    // compact
 *      ...
 *      text = json_out_done(&out);     // NULL: out of memory; borrowed until the next call
 *      json_out_clear(&out);           // empty again, keeps its memory for the next text
 *      json_out_free(&out);
 *
 * `key` is NULL inside arrays and at the top level. Bytes that are not UTF-8 are written as U+FFFD;
 * characters that could disturb a terminal (text_is_hidden()) as \u escapes.
 */
#ifndef ALIQUOT_COMMON_JSON_OUT_H
#define ALIQUOT_COMMON_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json_out {
        FILE *stream; /* borrowed; NULL: compact, into memory alone */
        char *at;     /* owned */
        size_t used, room;
        unsigned depth;
        bool has_before; /* this level has a value already */
        bool has_failed; /* out of memory */
};

void json_out_open(struct json_out *out, const char *key, char bracket);
void json_out_close(struct json_out *out, char bracket);
void json_out_text(struct json_out *out, const char *key, const char *value); /* NULL: null */
void json_out_u64(struct json_out *out, const char *key, uint64_t value);
/* Values above INT64_MAX are written as INT64_MAX: many JSON readers have no more than 63 bits. */
void json_out_whole(struct json_out *out, const char *key, uint64_t value);
/* `value` / 10^`digits`, exactly, with at least one decimal: 33300, 3 is 33.3, 2000, 3 is 2.0. */
void json_out_decimal(struct json_out *out, const char *key, uint64_t value, unsigned digits);
/* Parts in a million as percent: 125000 is 12.5, 120000 is 12. */
void json_out_percent(struct json_out *out, const char *key, uint32_t ppm);
/* Nanoseconds as seconds: 1500000000 is 1.5. */
void json_out_seconds(struct json_out *out, const char *key, uint64_t ns);
void json_out_bool(struct json_out *out, const char *key, bool value);
void json_out_null(struct json_out *out, const char *key);
/* Adds JSON text on one line, unchanged. */
void json_out_raw(struct json_out *out, const char *key, const char *json, size_t length);

/* Writes everything and a newline to the stream; negative: the first failure's errno. */
int json_out_end(struct json_out *out);

const char *json_out_done(struct json_out *out);
void json_out_clear(struct json_out *out);
void json_out_free(struct json_out *out);

/* As json_out_done(), but the caller must free() the text; the next one starts without memory. */
char *json_out_take(struct json_out *out, size_t *ret_length);

#endif
