/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON to a stream, for programs. Commas, indentation and escapes are its business; the
 * order of the calls is the caller's.
 *
 *      struct json_out out = { .stream = stdout };
 *
 *      json_out_open(&out, NULL, '{');
 *      json_out_text(&out, "name", name);
 *      json_out_close(&out, '}');
 *      json_out_end(&out);             // newline; -errno if anything could not be written
 *
 * `key` is NULL inside arrays and at the top. Bytes that are not UTF-8 are written as U+FFFD;
 * characters that could disturb a terminal (text_is_hidden()) by their numbers.
 */
#ifndef ALIQUOT_COMMON_JSON_OUT_H
#define ALIQUOT_COMMON_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_out {
        FILE *stream; /* borrowed */
        unsigned depth;
        bool has_before; /* something stands before in this level */
};

void json_out_open(struct json_out *out, const char *key, char bracket);
void json_out_close(struct json_out *out, char bracket);
void json_out_text(struct json_out *out, const char *key, const char *value); /* NULL: null */
void json_out_u64(struct json_out *out, const char *key, uint64_t value);
/* Parts in a million as percent: 125000 is 12.5. */
void json_out_percent(struct json_out *out, const char *key, uint32_t ppm);
/* Nanoseconds as seconds: 1500000000 is 1.5. */
void json_out_seconds(struct json_out *out, const char *key, uint64_t ns);
void json_out_bool(struct json_out *out, const char *key, bool value);
void json_out_null(struct json_out *out, const char *key);
int json_out_end(struct json_out *out);

#endif
