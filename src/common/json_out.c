/* SPDX-License-Identifier: Apache-2.0 */
#include "common/json_out.h"

#include <errno.h>
#include <inttypes.h>

static void indent(struct json_out *out)
{
        fputc('\n', out->stream);
        for (unsigned i = 0; i < out->depth; i++)
                fputs("  ", out->stream);
}

/* Length of the UTF-8 sequence at `at`, 0 when it is none (overlong, surrogate, cut short). */
static unsigned utf8_length(const unsigned char *at)
{
        static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
        unsigned length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
        uint32_t point;

        if (at[0] < 0x80)
                return 1;
        if (at[0] < 0xc0 || at[0] > 0xf4)
                return 0;
        point = at[0] & (0x7fu >> length);
        for (unsigned i = 1; i < length; i++) {
                if ((at[i] & 0xc0) != 0x80)
                        return 0;
                point = point << 6 | (at[i] & 0x3fu);
        }
        if (point < least[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
                return 0;
        return length;
}

static void put_text(struct json_out *out, const char *value)
{
        const unsigned char *at = (const unsigned char *)value;

        fputc('"', out->stream);
        while (*at) {
                unsigned length = utf8_length(at);

                if (*at == '"' || *at == '\\')
                        fprintf(out->stream, "\\%c", *at);
                else if (*at == '\n')
                        fputs("\\n", out->stream);
                else if (*at == '\t')
                        fputs("\\t", out->stream);
                else if (*at < ' ' || *at == 0x7f)
                        fprintf(out->stream, "\\u%04x", *at);
                else if (!length)
                        fputs("\\ufffd", out->stream);
                else
                        fwrite(at, 1, length, out->stream);
                at += length ? length : 1;
        }
        fputc('"', out->stream);
}

static void put_key(struct json_out *out, const char *key)
{
        if (out->has_before)
                fputc(',', out->stream);
        if (out->depth)
                indent(out);
        if (key) {
                put_text(out, key);
                fputs(": ", out->stream);
        }
        out->has_before = true;
}

void json_out_open(struct json_out *out, const char *key, char bracket)
{
        put_key(out, key);
        fputc(bracket, out->stream);
        out->depth++;
        out->has_before = false;
}

void json_out_close(struct json_out *out, char bracket)
{
        out->depth--;
        if (out->has_before)
                indent(out);
        fputc(bracket, out->stream);
        out->has_before = true;
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

void json_out_u64(struct json_out *out, const char *key, uint64_t value)
{
        put_key(out, key);
        fprintf(out->stream, "%" PRIu64, value);
}

void json_out_i64(struct json_out *out, const char *key, int64_t value)
{
        put_key(out, key);
        fprintf(out->stream, "%" PRId64, value);
}

void json_out_bool(struct json_out *out, const char *key, bool value)
{
        put_key(out, key);
        fputs(value ? "true" : "false", out->stream);
}

void json_out_null(struct json_out *out, const char *key)
{
        put_key(out, key);
        fputs("null", out->stream);
}

int json_out_end(struct json_out *out)
{
        fputc('\n', out->stream);
        return fflush(out->stream) == 0 && !ferror(out->stream) ? 0 : -EIO;
}
