/* SPDX-License-Identifier: Apache-2.0 */
#include "common/json_out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "common/text.h"

#define ROOM_MIN 1024u
#define DIGITS_MAX 20u
#define ESCAPE_BYTES 16u

/* Makes room for `bytes` and a NUL, and returns where they go. NULL: out of memory, now or in an
 * earlier call. */
static char *make_room(struct json_out *out, size_t bytes)
{
        size_t room = out->room ? out->room : ROOM_MIN;
        char *grown;

        if (out->has_failed)
                return NULL;
        while (room - out->used <= bytes)
                room *= 2;
        if (room != out->room) {
                grown = realloc(out->at, room);
                if (!grown) {
                        out->has_failed = true;
                        return NULL;
                }
                out->at = grown;
                out->room = room;
        }
        out->used += bytes;
        return out->at + out->used - bytes;
}

static void put(struct json_out *out, const char *text, size_t length)
{
        char *at = make_room(out, length);

        if (at)
                memcpy(at, text, length);
}

static void indent(struct json_out *out)
{
        put(out, "\n", 1);
        for (unsigned i = 0; i < out->depth; i++)
                put(out, "  ", 2);
}

static bool is_plain(char c)
{
        return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Writes a \u escape, or two for a surrogate pair if the point has more than 16 bits (RFC 8259,
 * section 7). */
static void put_point(struct json_out *out, uint32_t point)
{
        char text[ESCAPE_BYTES];
        int length = point < 0x10000 ? snprintf(text, sizeof(text), "\\u%04x", point)
                                     : snprintf(text, sizeof(text), "\\u%04x\\u%04x",
                                                0xd7c0 + (point >> 10), 0xdc00 + (point & 0x3ff));

        put(out, text, (size_t)length);
}

/* Writes one character that is not plain ASCII, escaped if necessary. Returns its length in bytes
 * at `at`. */
static unsigned put_special(struct json_out *out, const char *at)
{
        unsigned length = text_utf8(at);

        if (*at == '"' || *at == '\\')
                put(out, *at == '"' ? "\\\"" : "\\\\", 2);
        else if (*at == '\n' || *at == '\t')
                put(out, *at == '\n' ? "\\n" : "\\t", 2);
        else if (!length)
                put_point(out, 0xfffd);
        else if (text_is_hidden(text_point(at, length)))
                put_point(out, text_point(at, length));
        else
                put(out, at, length);
        return length ? length : 1;
}

static void put_text(struct json_out *out, const char *value)
{
        put(out, "\"", 1);
        for (const char *from = value; *value; from = value) {
                while (is_plain(*value))
                        value++;
                put(out, from, (size_t)(value - from));
                if (*value)
                        value += put_special(out, value);
        }
        put(out, "\"", 1);
}

static void put_key(struct json_out *out, const char *key)
{
        if (out->has_before)
                put(out, ",", 1);
        if (out->stream && out->depth)
                indent(out);
        if (key) {
                put_text(out, key);
                put(out, ": ", out->stream ? 2 : 1);
        }
        out->has_before = true;
}

void json_out_open(struct json_out *out, const char *key, char bracket)
{
        put_key(out, key);
        put(out, &bracket, 1);
        out->depth++;
        out->has_before = false;
}

void json_out_close(struct json_out *out, char bracket)
{
        out->depth--;
        if (out->stream && out->has_before)
                indent(out);
        put(out, &bracket, 1);
        out->has_before = true;
}

void json_out_raw(struct json_out *out, const char *key, const char *json, size_t length)
{
        put_key(out, key);
        put(out, json, length);
}

void json_out_bool(struct json_out *out, const char *key, bool value)
{
        json_out_raw(out, key, value ? "true" : "false", value ? 4 : 5);
}

void json_out_null(struct json_out *out, const char *key)
{
        json_out_raw(out, key, "null", 4);
}

void json_out_text(struct json_out *out, const char *key, const char *value)
{
        if (!value) {
                json_out_null(out, key);
                return;
        }
        put_key(out, key);
        put_text(out, value);
}

/* Writes a number without leading zeros, but with at least `least` digits. */
static void put_digits(struct json_out *out, uint64_t value, unsigned least)
{
        char digits[DIGITS_MAX];
        unsigned at = DIGITS_MAX;

        for (; value || DIGITS_MAX - at < least; value /= 10)
                digits[--at] = (char)('0' + value % 10);
        put(out, digits + at, DIGITS_MAX - at);
}

void json_out_u64(struct json_out *out, const char *key, uint64_t value)
{
        put_key(out, key);
        put_digits(out, value, 1);
}

void json_out_whole(struct json_out *out, const char *key, uint64_t value)
{
        json_out_u64(out, key, min_u64(value, INT64_MAX));
}

/* Writes `value` / 10^`digits` without trailing zeros, but with at least `least` decimals. */
static void put_decimal(struct json_out *out, const char *key, uint64_t value, unsigned digits,
                        unsigned least)
{
        uint64_t one = 1, rest;

        for (unsigned i = 0; i < digits; i++)
                one *= 10;
        rest = value % one;
        for (; digits > least && rest % 10 == 0; digits--)
                rest /= 10;
        put_key(out, key);
        put_digits(out, value / one, 1);
        if (!digits)
                return;
        put(out, ".", 1);
        put_digits(out, rest, digits);
}

void json_out_decimal(struct json_out *out, const char *key, uint64_t value, unsigned digits)
{
        put_decimal(out, key, value, digits, 1);
}

void json_out_percent(struct json_out *out, const char *key, uint32_t ppm)
{
        put_decimal(out, key, ppm, 4, 0);
}

void json_out_seconds(struct json_out *out, const char *key, uint64_t ns)
{
        put_decimal(out, key, ns, 9, 0);
}

int json_out_end(struct json_out *out)
{
        FILE *stream = out->stream;
        int rc = 0;

        put(out, "\n", 1);
        if (out->has_failed)
                rc = -ENOMEM;
        else if (fwrite(out->at, 1, out->used, stream) != out->used || fflush(stream) != 0)
                rc = -errno;
        else if (ferror(stream))
                rc = -EIO;
        json_out_free(out);
        out->stream = stream;
        return rc;
}

const char *json_out_done(struct json_out *out)
{
        char *end = make_room(out, 0);

        if (!end)
                return NULL;
        *end = '\0';
        return out->at;
}

char *json_out_take(struct json_out *out, size_t *ret_length)
{
        char *text = json_out_done(out) ? out->at : NULL;

        if (!text)
                return NULL;
        *ret_length = out->used;
        *out = (struct json_out){ 0 };
        return text;
}

void json_out_clear(struct json_out *out)
{
        out->used = 0;
        out->depth = 0;
        out->has_before = out->has_failed = false;
}

void json_out_free(struct json_out *out)
{
        free(out->at);
        *out = (struct json_out){ 0 };
}
