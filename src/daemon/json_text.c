/* SPDX-License-Identifier: Apache-2.0 */
#include "common/minmax.h"
#include "daemon/json_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_LEAST 1024u
#define DIGITS_MOST 20u

/* For so many bytes, and a NUL behind them. NULL: out of memory, now or before. */
static char *make_room(struct json_text *out, size_t bytes)
{
        size_t room = out->room ? out->room : ROOM_LEAST;
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

static void put(struct json_text *out, const char *text, size_t length)
{
        char *at = make_room(out, length);

        if (at)
                memcpy(at, text, length);
}

static void put_key(struct json_text *out, const char *key)
{
        if (out->has_before)
                put(out, ",", 1);
        if (key) {
                put(out, "\"", 1);
                put(out, key, strlen(key));
                put(out, "\":", 2);
        }
        out->has_before = true;
}

void json_text_open(struct json_text *out, const char *key, char bracket)
{
        put_key(out, key);
        put(out, &bracket, 1);
        out->has_before = false;
}

void json_text_close(struct json_text *out, char bracket)
{
        put(out, &bracket, 1);
        out->has_before = true;
}

static bool needs_escape(char c)
{
        return c == '"' || c == '\\' || (unsigned char)c < 0x20;
}

static void put_escaped(struct json_text *out, char c)
{
        char escaped[8];

        if ((unsigned char)c < 0x20)
                snprintf(escaped, sizeof(escaped), "\\u%04x", (unsigned)c);
        else
                snprintf(escaped, sizeof(escaped), "\\%c", c);
        put(out, escaped, strlen(escaped));
}

void json_text_string(struct json_text *out, const char *key, const char *value)
{
        if (!value) {
                json_text_null(out, key);
                return;
        }
        put_key(out, key);
        put(out, "\"", 1);
        for (const char *from = value; *value; from = value) {
                while (*value && !needs_escape(*value))
                        value++;
                put(out, from, (size_t)(value - from));
                if (*value)
                        put_escaped(out, *value++);
        }
        put(out, "\"", 1);
}

void json_text_bool(struct json_text *out, const char *key, bool value)
{
        json_text_raw(out, key, value ? "true" : "false", value ? 4 : 5);
}

void json_text_null(struct json_text *out, const char *key)
{
        json_text_raw(out, key, "null", 4);
}

void json_text_raw(struct json_text *out, const char *key, const char *json, size_t length)
{
        put_key(out, key);
        put(out, json, length);
}

/* Without leading zeros, but `least` digits. */
static void put_digits(struct json_text *out, uint64_t value, unsigned least)
{
        char digits[DIGITS_MOST];
        unsigned at = DIGITS_MOST;

        for (; value || DIGITS_MOST - at < least; value /= 10)
                digits[--at] = (char)('0' + value % 10);
        put(out, digits + at, DIGITS_MOST - at);
}

void json_text_whole(struct json_text *out, const char *key, uint64_t value)
{
        put_key(out, key);
        put_digits(out, min_u64(value, INT64_MAX), 1);
}

void json_text_decimal(struct json_text *out, const char *key, uint64_t value, unsigned digits)
{
        uint64_t one = 1, rest;

        for (unsigned i = 0; i < digits; i++)
                one *= 10;
        rest = value % one;
        for (; digits > 1 && rest % 10 == 0; digits--)
                rest /= 10;
        put_key(out, key);
        put_digits(out, value / one, 1);
        put(out, ".", 1);
        put_digits(out, rest, digits);
}

const char *json_text_done(struct json_text *out)
{
        char *end = make_room(out, 0);

        if (!end)
                return NULL;
        *end = '\0';
        return out->at;
}

char *json_text_take(struct json_text *out, size_t *ret_length)
{
        char *text = json_text_done(out) ? out->at : NULL;

        if (!text)
                return NULL;
        *ret_length = out->used;
        *out = (struct json_text){ 0 };
        return text;
}

void json_text_clear(struct json_text *out)
{
        out->used = 0;
        out->has_before = out->has_failed = false;
}

void json_text_free(struct json_text *out)
{
        free(out->at);
        *out = (struct json_text){ 0 };
}
