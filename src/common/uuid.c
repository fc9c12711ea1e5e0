/* SPDX-License-Identifier: Apache-2.0 */
#include "common/uuid.h"

#include <string.h>

#include "common/text.h"

#define BODY_LENGTH 36u

static bool is_dash_place(size_t at)
{
        return at == 8 || at == 13 || at == 18 || at == 23;
}

static const char *skip_kind(const char *text)
{
        return text_begins(text, "gpu-") || text_begins(text, "mig-") ? text + 4 : text;
}

const char *uuid_format(const uint8_t uuid[16], bool is_instance, char ret[UUID_TEXT_BYTES])
{
        static const char digits[] = "0123456789abcdef";
        char *at = ret + 4;

        memcpy(ret, is_instance ? "MIG-" : "GPU-", 4);
        for (unsigned i = 0; i < 16; i++) {
                if (is_dash_place((size_t)(at - ret - 4)))
                        *at++ = '-';
                *at++ = digits[uuid[i] >> 4];
                *at++ = digits[uuid[i] & 15];
        }
        *at = '\0';
        return ret;
}

static uint8_t hex_value(char c)
{
        c = text_lower(c);
        return (uint8_t)(text_is_digit(c) ? c - '0' : c - 'a' + 10);
}

bool uuid_is_prefix(const char *text)
{
        const char *body = skip_kind(text);
        size_t at;

        for (at = 0; body[at]; at++) {
                if (at >= BODY_LENGTH)
                        return false;
                if (is_dash_place(at) ? body[at] != '-' : !text_is_hex(body[at]))
                        return false;
        }
        return at > 0;
}

bool uuid_parse(const char *text, uint8_t ret[16])
{
        const char *body = skip_kind(text);
        unsigned nibble = 0;

        if (body == text || !uuid_is_prefix(text) || strlen(body) != BODY_LENGTH)
                return false;
        memset(ret, 0, 16);
        for (; *body; body++) {
                if (*body == '-')
                        continue;
                ret[nibble / 2] = (uint8_t)(ret[nibble / 2] << 4 | hex_value(*body));
                nibble++;
        }
        return true;
}

bool uuid_matches(const uint8_t uuid[16], bool is_instance, const char *text)
{
        char whole[UUID_TEXT_BYTES];
        const char *body = skip_kind(text);

        uuid_format(uuid, is_instance, whole);
        if (body != text && text_lower(text[0]) != text_lower(whole[0]))
                return false;
        for (const char *at = whole + 4; *body; at++, body++) {
                if (text_lower(*body) != *at)
                        return false;
        }
        return true;
}
