/* SPDX-License-Identifier: Apache-2.0 */
#include "common/json_out.h"

#include <errno.h>
#include <inttypes.h>

#include "common/text.h"

static void indent(struct json_out *out)
{
        fputc('\n', out->stream);
        for (unsigned i = 0; i < out->depth; i++)
                fputs("  ", out->stream);
}

/* Beyond 16 bits as two halves (RFC 8259, section 7). */
static void put_escaped(struct json_out *out, uint32_t point)
{
        if (point < 0x10000)
                fprintf(out->stream, "\\u%04x", point);
        else
                fprintf(out->stream, "\\u%04x\\u%04x", 0xd7c0 + (point >> 10),
                        0xdc00 + (point & 0x3ff));
}

static void put_text(struct json_out *out, const char *value)
{
        fputc('"', out->stream);
        for (const char *at = value; *at;) {
                unsigned length = text_utf8(at);

                if (*at == '"' || *at == '\\')
                        fprintf(out->stream, "\\%c", *at);
                else if (*at == '\n')
                        fputs("\\n", out->stream);
                else if (*at == '\t')
                        fputs("\\t", out->stream);
                else if (!length)
                        fputs("\\ufffd", out->stream);
                else if (text_is_hidden(text_point(at, length)))
                        put_escaped(out, text_point(at, length));
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

/* `value` / 10^`digits`, without zeros at the end. */
static void put_decimal(struct json_out *out, const char *key, uint64_t value, int digits)
{
        uint64_t one = 1, rest;

        for (int i = 0; i < digits; i++)
                one *= 10;
        put_key(out, key);
        rest = value % one;
        fprintf(out->stream, "%" PRIu64, value / one);
        if (rest == 0)
                return;
        for (; rest % 10 == 0; digits--)
                rest /= 10;
        fprintf(out->stream, ".%0*" PRIu64, digits, rest);
}

void json_out_percent(struct json_out *out, const char *key, uint32_t ppm)
{
        put_decimal(out, key, ppm, 4);
}

void json_out_seconds(struct json_out *out, const char *key, uint64_t ns)
{
        put_decimal(out, key, ns, 9);
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
        if (fflush(out->stream) != 0)
                return -errno;
        return ferror(out->stream) ? -EIO : 0;
}
