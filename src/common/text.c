/* SPDX-License-Identifier: Apache-2.0 */
#include "common/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void text_begin(struct text *text, char *buffer, size_t bytes)
{
        *text = (struct text){ .at = buffer, .bytes = bytes };
        buffer[0] = '\0';
}

void text_add(struct text *text, const char *format, ...)
{
        va_list args;
        int added;

        if (text->is_cut)
                return;
        va_start(args, format);
        added = vsnprintf(text->at + text->used, text->bytes - text->used, format, args);
        va_end(args);
        if (added < 0 || (size_t)added >= text->bytes - text->used) {
                text->is_cut = true;
                return;
        }
        text->used += (size_t)added;
}

int text_put(char *ret, size_t bytes, struct error *err, const char *format, ...)
{
        va_list args;
        int length;

        va_start(args, format);
        length = vsnprintf(NULL, 0, format, args);
        va_end(args);
        if (length < 0 || (size_t)length >= bytes)
                return fail(err, -ENAMETOOLONG, "a path or name of %d characters, at most %zu fit",
                            length, bytes - 1);
        va_start(args, format);
        vsnprintf(ret, bytes, format, args);
        va_end(args);
        return 0;
}

char text_lower(char c)
{
        return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool text_is_digit(char c)
{
        return c >= '0' && c <= '9';
}

bool text_is_hex(char c)
{
        c = text_lower(c);
        return text_is_digit(c) || (c >= 'a' && c <= 'f');
}

bool text_is_same(const char *a, const char *b)
{
        while (*a && text_lower(*a) == text_lower(*b)) {
                a++;
                b++;
        }
        return text_lower(*a) == text_lower(*b);
}

bool text_begins(const char *text, const char *lower_prefix)
{
        for (; *lower_prefix; text++, lower_prefix++) {
                if (text_lower(*text) != *lower_prefix)
                        return false;
        }
        return true;
}

uint32_t text_point(const char *text, unsigned length)
{
        const unsigned char *at = (const unsigned char *)text;
        uint32_t point = length == 1 ? at[0] : at[0] & (0x7fu >> length);

        for (unsigned i = 1; i < length; i++)
                point = point << 6 | (at[i] & 0x3fu);
        return point;
}

unsigned text_utf8(const char *text)
{
        static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
        const unsigned char *at = (const unsigned char *)text;
        unsigned length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
        uint32_t point;

        if (at[0] < 0x80)
                return 1;
        if (at[0] < 0xc0 || at[0] > 0xf4)
                return 0;
        for (unsigned i = 1; i < length; i++) {
                if ((at[i] & 0xc0) != 0x80)
                        return 0;
        }
        point = text_point(text, length);
        if (point < least[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
                return 0;
        return length;
}

bool text_is_hidden(uint32_t point)
{
        static const struct {
                uint32_t first, last;
        } hidden[] = { { 0, 0x1f },          { 0x7f, 0x9f },       { 0xad, 0xad },
                       { 0x34f, 0x34f },     { 0x61c, 0x61c },     { 0x115f, 0x1160 },
                       { 0x17b4, 0x17b5 },   { 0x180e, 0x180e },   { 0x200b, 0x200f },
                       { 0x2028, 0x202e },   { 0x2060, 0x206f },   { 0x3164, 0x3164 },
                       { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },
                       { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff } };

        for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
                if (point >= hidden[i].first && point <= hidden[i].last)
                        return true;
        }
        return false;
}

void text_hide(char *text)
{
        for (unsigned length; *text; text += length ? length : 1) {
                length = text_utf8(text);
                if (!length || text_is_hidden(text_point(text, length)))
                        memset(text, '?', length ? length : 1);
        }
}

bool text_is_control(char c)
{
        return (unsigned char)c < ' ' || c == 0x7f;
}

bool text_is_plain(const char *text)
{
        unsigned length;

        for (; *text; text += length) {
                length = text_utf8(text);
                if (!length || text_is_control(*text))
                        return false;
        }
        return true;
}

const char *text_quote(const char *text, char *ret, size_t bytes)
{
        size_t at = 0;

        for (; text[at] && at + 1 < bytes; at++)
                ret[at] = text[at] >= ' ' && text[at] <= '~' ? text[at] : '?';
        ret[at] = '\0';
        if (text[at] && bytes > 4)
                memcpy(ret + bytes - 4, "...", 4);
        return ret;
}
