/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON into memory, in one of two forms: indented, for a stream; or compact, for text that
 * is passed on thousands of times a second. The functions add commas, indentation and escapes. The
 * caller must call them in an order that gives valid JSON.
 *
 *      struct json_out out = { .stream = stdout };     // indented
 *
 *      json_out_open(&out, NULL, '{');
 *      json_out_text(&out, "name", name);
 *      json_out_close(&out, '}');
 *      rc = json_out_end(&out);        // writes the text to the stream and frees it
 *
 *      struct json_out out = { 0 };    // compact
 *      ...
 *      text = json_out_done(&out);     // NULL: out of memory; borrowed until the next call
 *      json_out_clear(&out);           // empties the text, keeps its memory for the next one
 *      json_out_free(&out);
 *
 * `key` is NULL inside arrays and at the top level. Bytes that are not UTF-8 are written as U+FFFD,
 * and characters that could disturb a terminal (text_is_hidden()) as \u escapes.
 */
#ifndef ALIQUOT_COMMON_JSON_OUT_H
#define ALIQUOT_COMMON_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json_out {
        FILE *stream; /* borrowed; NULL: the text is compact and remains in memory */
        char *at;     /* the text; owned, not terminated */
        size_t used, room;
        unsigned depth;
        bool has_before; /* the innermost object or array has a value already */
        bool has_failed; /* memory ran out; the text is incomplete */
};

/* Opens ('{' or '[') or closes ('}' or ']') an object or array. */
void json_out_open(struct json_out *out, const char *key, char bracket);
void json_out_close(struct json_out *out, char bracket);
/* a `value` of NULL is written as null */
void json_out_text(struct json_out *out, const char *key, const char *value);
/* Writes all 64 bits. */
void json_out_u64(struct json_out *out, const char *key, uint64_t value);
/* Writes a number. Values above INT64_MAX are written as INT64_MAX, since many JSON readers support
 * no more than 63 bits. */
void json_out_whole(struct json_out *out, const char *key, uint64_t value);
/* Writes `value` / 10^`digits` exactly, with at least one decimal: 33300 with 3 digits as 33.3, and
 * 2000 as 2.0. */
void json_out_decimal(struct json_out *out, const char *key, uint64_t value, unsigned digits);
/* Writes parts per million as percent: 125000 as 12.5, and 120000 as 12. */
void json_out_percent(struct json_out *out, const char *key, uint32_t ppm);
/* Writes nanoseconds as seconds: 1500000000 as 1.5. */
void json_out_seconds(struct json_out *out, const char *key, uint64_t ns);
void json_out_bool(struct json_out *out, const char *key, bool value);
void json_out_null(struct json_out *out, const char *key);
/* Adds JSON text of one line, unchanged. */
void json_out_raw(struct json_out *out, const char *key, const char *json, size_t length);

/* Writes the text and a newline to the stream, and frees the text. 0, or the -errno of the
 * first failure. */
int json_out_end(struct json_out *out);

/* See above: return, empty or free the compact text. */
const char *json_out_done(struct json_out *out);
void json_out_clear(struct json_out *out);
void json_out_free(struct json_out *out);

/* As json_out_done(), but the caller must free() the text. `out` is empty afterwards,
 * without memory. */
char *json_out_take(struct json_out *out, size_t *ret_length);

#endif
