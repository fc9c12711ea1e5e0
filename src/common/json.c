/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser's state is small: for each level of nesting one bit (object or array), and the kind of
 * token that may come next.
 */
#include "common/json.h"

#include <errno.h>
#include <string.h>

#include "common/text.h"

enum expect {
        EXPECT_VALUE,
        EXPECT_VALUE_OR_END, /* just after [ */
        EXPECT_KEY,
        EXPECT_KEY_OR_END, /* just after { */
        EXPECT_COMMA_OR_END,
        EXPECT_NOTHING,
};

void json_begin(struct json *json, const char *text, size_t length)
{
        *json = (struct json){
                .start = text, .at = text, .end = text + length, .expect = EXPECT_VALUE
        };
}

static int broken(struct json *json, struct error *err, const char *expected)
{
        json->failed = -EINVAL;
        if (json->at >= json->end)
                return fail(err, -EINVAL, "JSON ends too early, expected %s", expected);
        return fail(err, -EINVAL, "JSON is broken at character %zu, expected %s",
                    (size_t)(json->at - json->start) + 1, expected);
}

static void skip_space(struct json *json)
{
        while (json->at < json->end &&
               (*json->at == ' ' || *json->at == '\t' || *json->at == '\n' || *json->at == '\r'))
                json->at++;
}

static bool is_next(const struct json *json, char c)
{
        return json->at < json->end && *json->at == c;
}

/* Skips the escape after a backslash; false if it is invalid. */
static bool skip_escape(struct json *json)
{
        if (json->at >= json->end)
                return false;
        if (*json->at != 'u')
                return *json->at && strchr("\"\\/bfnrt", *json->at++);
        json->at++;
        for (unsigned i = 0; i < 4; i++, json->at++) {
                if (json->at >= json->end || !text_is_hex(*json->at))
                        return false;
        }
        return true;
}

static int read_string(struct json *json, struct json_token *token, struct error *err)
{
        json->at++;
        token->at = json->at;
        while (json->at < json->end && *json->at != '"') {
                if ((unsigned char)*json->at < ' ')
                        return broken(json, err, "no bare control character in a string");
                if (*json->at++ == '\\' && !skip_escape(json))
                        return broken(json, err, "an escape such as \\n or \\u0041");
        }
        if (json->at >= json->end)
                return broken(json, err, "a closing quote");
        token->length = (size_t)(json->at - token->at);
        json->at++;
        return 0;
}

static bool skip_digits(struct json *json)
{
        const char *start = json->at;

        while (json->at < json->end && text_is_digit(*json->at))
                json->at++;
        return json->at > start;
}

static int read_number(struct json *json, struct json_token *token, struct error *err)
{
        token->kind = JSON_NUMBER;
        token->at = json->at;
        if (is_next(json, '-'))
                json->at++;
        if (is_next(json, '0'))
                json->at++;
        else if (!skip_digits(json))
                return broken(json, err, "a value");
        if (is_next(json, '.')) {
                json->at++;
                if (!skip_digits(json))
                        return broken(json, err, "digits");
        }
        if (is_next(json, 'e') || is_next(json, 'E')) {
                json->at++;
                if (is_next(json, '+') || is_next(json, '-'))
                        json->at++;
                if (!skip_digits(json))
                        return broken(json, err, "digits");
        }
        token->length = (size_t)(json->at - token->at);
        return 0;
}

static bool read_word(struct json *json, const char *word)
{
        size_t length = strlen(word);

        if ((size_t)(json->end - json->at) < length || memcmp(json->at, word, length) != 0)
                return false;
        json->at += length;
        return true;
}

static int open_level(struct json *json, struct json_token *token, struct error *err)
{
        bool is_object = *json->at == '{';

        if (json->depth >= JSON_DEPTH) {
                json->failed = -E2BIG;
                return fail(err, -E2BIG, "JSON nests deeper than %u levels", JSON_DEPTH);
        }
        json->at++;
        json->is_object &= ~(UINT32_C(1) << json->depth);
        json->is_object |= (uint32_t)is_object << json->depth;
        json->depth++;
        json->expect = is_object ? EXPECT_KEY_OR_END : EXPECT_VALUE_OR_END;
        token->kind = is_object ? JSON_OBJECT : JSON_ARRAY;
        token->length = 1;
        return 0;
}

static bool is_in_object(const struct json *json)
{
        return json->depth && (json->is_object >> (json->depth - 1) & 1u);
}

/* Sets the state after the end of a value. */
static void end_value(struct json *json)
{
        json->expect = json->depth ? EXPECT_COMMA_OR_END : EXPECT_NOTHING;
}

static int read_value(struct json *json, struct json_token *token, struct error *err)
{
        int rc = 0;

        if (is_next(json, '{') || is_next(json, '['))
                return open_level(json, token, err);
        if (is_next(json, '"')) {
                token->kind = JSON_STRING;
                rc = read_string(json, token, err);
        } else if (read_word(json, "true")) {
                token->kind = JSON_TRUE;
        } else if (read_word(json, "false")) {
                token->kind = JSON_FALSE;
        } else if (read_word(json, "null")) {
                token->kind = JSON_NULL;
        } else {
                rc = read_number(json, token, err);
        }
        if (rc == 0)
                end_value(json);
        return rc;
}

static int read_key(struct json *json, struct json_token *token, struct error *err)
{
        int rc;

        if (!is_next(json, '"'))
                return broken(json, err, "a key in quotes");
        token->kind = JSON_KEY;
        rc = read_string(json, token, err);
        if (rc < 0)
                return rc;
        skip_space(json);
        if (!is_next(json, ':'))
                return broken(json, err, "a colon");
        json->at++;
        json->expect = EXPECT_VALUE;
        return 0;
}

/* Reads the bracket that closes the innermost level; false if that is not the next character. */
static bool close_level(struct json *json, struct json_token *token)
{
        if (!json->depth || !is_next(json, is_in_object(json) ? '}' : ']'))
                return false;
        token->kind = is_in_object(json) ? JSON_OBJECT_END : JSON_ARRAY_END;
        token->length = 1;
        json->at++;
        json->depth--;
        end_value(json);
        return true;
}

static int read_token(struct json *json, struct json_token *token, struct error *err)
{
        if (json->expect == EXPECT_COMMA_OR_END) {
                if (close_level(json, token))
                        return 0;
                if (!is_next(json, ','))
                        return broken(json, err, "a comma or a closing bracket");
                json->at++;
                skip_space(json);
                token->at = json->at;
                json->expect = is_in_object(json) ? EXPECT_KEY : EXPECT_VALUE;
        }
        if (json->expect == EXPECT_KEY_OR_END || json->expect == EXPECT_VALUE_OR_END) {
                if (close_level(json, token))
                        return 0;
        }
        if (json->expect == EXPECT_KEY || json->expect == EXPECT_KEY_OR_END)
                return read_key(json, token, err);
        return read_value(json, token, err);
}

int json_next(struct json *json, struct json_token *ret, struct error *err)
{
        struct json_token token = { .kind = JSON_END };
        int rc;

        if (json->failed)
                return fail(err, json->failed, "JSON is broken");
        skip_space(json);
        token.at = json->at;
        if (json->expect != EXPECT_NOTHING) {
                rc = read_token(json, &token, err);
                if (rc < 0)
                        return rc;
        } else if (json->at < json->end) {
                return broken(json, err, "nothing more");
        }
        *ret = token;
        return 0;
}

static unsigned hex_quad(const char *at)
{
        unsigned value = 0;

        for (unsigned i = 0; i < 4; i++) {
                char c = text_lower(at[i]);

                value = value << 4 | (unsigned)(text_is_digit(c) ? c - '0' : c - 'a' + 10);
        }
        return value;
}

/* Writes a code point as UTF-8; returns the number of bytes. */
static size_t put_utf8(char ret[4], unsigned point)
{
        if (point < 0x80) {
                ret[0] = (char)point;
                return 1;
        }
        if (point < 0x800) {
                ret[0] = (char)(0xc0 | point >> 6);
                ret[1] = (char)(0x80 | (point & 63));
                return 2;
        }
        if (point < 0x10000) {
                ret[0] = (char)(0xe0 | point >> 12);
                ret[1] = (char)(0x80 | (point >> 6 & 63));
                ret[2] = (char)(0x80 | (point & 63));
                return 3;
        }
        ret[0] = (char)(0xf0 | point >> 18);
        ret[1] = (char)(0x80 | (point >> 12 & 63));
        ret[2] = (char)(0x80 | (point >> 6 & 63));
        ret[3] = (char)(0x80 | (point & 63));
        return 4;
}

/* Reads one \uXXXX escape, or two that are a surrogate pair, and moves `*at` behind. A lone
 * surrogate becomes U+FFFD. */
static unsigned read_escape_point(const char **at, const char *end)
{
        unsigned high = hex_quad(*at);
        unsigned low;

        *at += 4;
        if (high < 0xd800 || high > 0xdfff)
                return high;
        if (high > 0xdbff || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
                return 0xfffd;
        low = hex_quad(*at + 2);
        if (low < 0xdc00 || low > 0xdfff)
                return 0xfffd;
        *at += 6;
        return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

static size_t read_char(const char **at, const char *end, char ret[4])
{
        static const char from[] = "bfnrt";
        static const char to[] = "\b\f\n\r\t";
        const char *named;

        ret[0] = *(*at)++;
        if (ret[0] != '\\')
                return 1;
        ret[0] = *(*at)++;
        if (ret[0] == 'u')
                return put_utf8(ret, read_escape_point(at, end));
        named = strchr(from, ret[0]);
        if (named)
                ret[0] = to[named - from];
        return 1;
}

int json_text(const struct json_token *token, char *ret, size_t bytes, struct error *err)
{
        const char *at = token->at;
        const char *end = token->at + token->length;
        size_t used = 0;

        /* The first pass only checks, so that an error leaves `ret` unchanged; the second
         * pass writes. */
        for (int is_real = 0; is_real < 2; is_real++) {
                for (at = token->at, used = 0; at < end;) {
                        char piece[4];
                        size_t length = read_char(&at, end, piece);

                        if (!piece[0])
                                return fail(err, -EINVAL, "a string with a NUL inside");
                        if (used + length >= bytes)
                                return fail(err, -ENAMETOOLONG,
                                            "a string of more than %zu characters", bytes - 1);
                        if (is_real)
                                memcpy(ret + used, piece, length);
                        used += length;
                }
        }
        ret[used] = '\0';
        return 0;
}

int json_whole(const struct json_token *token, uint64_t *ret, struct error *err)
{
        uint64_t value = 0;

        if (token->kind != JSON_NUMBER)
                return fail(err, -EINVAL, "expected a whole number");
        for (size_t i = 0; i < token->length; i++) {
                if (!text_is_digit(token->at[i]))
                        return fail(err, -EINVAL, "'%.*s' is not a whole number",
                                    token->length > 40 ? 40 : (int)token->length, token->at);
                if (__builtin_mul_overflow(value, 10u, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(token->at[i] - '0'), &value))
                        return fail(err, -ERANGE, "'%.*s' does not fit 64 bits",
                                    token->length > 40 ? 40 : (int)token->length, token->at);
        }
        *ret = value;
        return 0;
}
