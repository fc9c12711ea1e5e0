/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every parser reads digits, then a unit, then the end of the text.
 *
 * A number is kept as an integer and up to 18 decimal digits, and is multiplied in 128 bits. So no
 * intermediate value is rounded; the result is rounded down to whole bytes at the end.
 */
#include "common/units.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"

#define FRACTION_DIGITS 18u

/* The number whole + fraction / scale. */
struct number {
        uint64_t whole;
        uint64_t fraction;
        uint64_t scale; /* 10 to the count of decimal digits */
};

struct size_unit {
        const char *name; /* lower case */
        uint64_t factor;
};

#define KI (UINT64_C(1) << 10)
#define MI (UINT64_C(1) << 20)
#define GI (UINT64_C(1) << 30)
#define TI (UINT64_C(1) << 40)

static const struct size_unit size_units[] = {
        { "", 1 },
        { "b", 1 },
        { "k", KI },
        { "m", MI },
        { "g", GI },
        { "t", TI },
        { "ki", KI },
        { "mi", MI },
        { "gi", GI },
        { "ti", TI },
        { "kib", KI },
        { "mib", MI },
        { "gib", GI },
        { "tib", TI },
        { "kb", UINT64_C(1000) },
        { "mb", UINT64_C(1000000) },
        { "gb", UINT64_C(1000000000) },
        { "tb", UINT64_C(1000000000000) },
        { NULL, 0 },
};

static const struct size_unit binary_units[] = {
        { "", 1 },    { "b", 1 },    { "byte", 1 }, { "bytes", 1 }, { "k", KI },  { "kb", KI },
        { "ki", KI }, { "kib", KI }, { "m", MI },   { "mb", MI },   { "mi", MI }, { "mib", MI },
        { "g", GI },  { "gb", GI },  { "gi", GI },  { "gib", GI },  { "t", TI },  { "tb", TI },
        { "ti", TI }, { "tib", TI }, { NULL, 0 },
};

static const struct size_unit time_units[] = {
        { "", UINT64_C(1000000000) },
        { "ns", 1 },
        { "us", UINT64_C(1000) },
        { "ms", UINT64_C(1000000) },
        { "s", UINT64_C(1000000000) },
        { "m", UINT64_C(60000000000) },
        { "h", UINT64_C(3600000000000) },
        { "d", UINT64_C(86400000000000) },
        { NULL, 0 },
};

#define SIZE_EXPECTED                                                                             \
        "a size such as 4GiB, 1.5G, 2000MB or 25% (units: B, KiB MiB GiB TiB, KB MB GB TB, %; K " \
        "or Ki means KiB)"
#define BINARY_EXPECTED "a whole number of bytes such as 1073741824, 1024m or 10g"
#define DURATION_EXPECTED "a duration such as 30s, 5m, 1.5h or 1h30m"

static const char *skip_spaces(const char *at)
{
        while (*at == ' ' || *at == '\t')
                at++;
        return at;
}

/* Reads an integer and returns the end of its digits. NULL: there is no digit, or the number is
 * beyond 64 bits (*ret_too_big). */
static const char *read_whole(const char *at, uint64_t *ret, bool *ret_too_big)
{
        uint64_t value = 0;

        if (!text_is_digit(*at))
                return NULL;
        for (; text_is_digit(*at); at++) {
                if (__builtin_mul_overflow(value, 10u, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value)) {
                        *ret_too_big = true;
                        return NULL;
                }
        }
        *ret = value;
        return at;
}

static const char *read_number(const char *at, struct number *ret, bool *ret_too_big)
{
        struct number number = { .scale = 1 };
        const char *digits;

        at = read_whole(at, &number.whole, ret_too_big);
        if (at && *at == '.') {
                digits = ++at;
                for (; text_is_digit(*at); at++) {
                        if ((size_t)(at - digits) >= FRACTION_DIGITS)
                                return NULL;
                        number.fraction = number.fraction * 10 + (uint64_t)(*at - '0');
                        number.scale *= 10;
                }
                if (at == digits)
                        return NULL;
        }
        *ret = number;
        return at;
}

/* Computes number * factor, rounded down; false if the result is beyond 64 bits. */
static bool multiply(const struct number *number, uint64_t factor, uint64_t *ret)
{
        unsigned __int128 value = (unsigned __int128)number->whole * factor;

        value += (unsigned __int128)number->fraction * factor / number->scale;
        *ret = (uint64_t)value;
        return value <= UINT64_MAX;
}

/* Finds the unit whose name is the `length` characters at `at`. */
static const struct size_unit *find_unit(const struct size_unit *units, const char *at,
                                         size_t length)
{
        for (; units->name; units++) {
                if (strlen(units->name) == length && text_begins(at, units->name))
                        return units;
        }
        return NULL;
}

static int refuse(struct error *err, const char *text, const char *why, const char *expected)
{
        return fail(err, -EINVAL, "'%s' %s; expected %s", text_shown(text), why, expected);
}

static int refuse_number(struct error *err, const char *text, bool is_too_big, const char *expected)
{
        if (is_too_big)
                return fail(err, -ERANGE, "'%s' is too large for a size of 64 bits; expected %s",
                            text_shown(text), expected);
        if (!text[0])
                return fail(err, -EINVAL, "is empty; expected %s", expected);
        if (text[0] == '-' && text_is_digit(text[1]))
                return refuse(err, text, "is negative", expected);
        return refuse(err, text, "is not a number with a unit", expected);
}

static int percent_from(const struct number *number, uint32_t *ret)
{
        uint64_t micro;

        /* Percentages are stored in millionths of a percent: any further decimals must be zeros. */
        if (!multiply(number, 1000000u, &micro) || micro > SIZE_MICRO_PERCENT_MAX)
                return -ERANGE;
        if ((unsigned __int128)number->fraction * 1000000u % number->scale)
                return -EINVAL;
        *ret = (uint32_t)micro;
        return 0;
}

/* Reads a size in percent of the card. */
static int read_percent(const char *text, const struct number *number, struct size *ret,
                        struct error *err)
{
        if (percent_from(number, &ret->micro_percent) < 0)
                return refuse(err, text, "is not a part of the card in at most 6 decimals",
                              "0.000001% to 100%");
        return 0;
}

/* Reads a size in bytes; its unit starts at `at`. */
static int read_bytes(const char *text, const char *at, const struct number *number,
                      struct size *ret, struct error *err)
{
        const struct size_unit *unit = find_unit(size_units, at, strlen(at));

        if (!unit)
                return refuse_number(err, text, false, SIZE_EXPECTED);
        if (unit->factor == 1 && number->scale != 1)
                return refuse(err, text, "is a fraction of a byte", SIZE_EXPECTED);
        if (!multiply(number, unit->factor, &ret->bytes) || ret->bytes == UINT64_MAX)
                return refuse_number(err, text, true, SIZE_EXPECTED);
        return 0;
}

int size_parse(const char *text, struct size *ret, struct error *err)
{
        struct size size = { 0 };
        struct number number;
        bool is_too_big = false;
        const char *at = read_number(text, &number, &is_too_big);
        int rc;

        if (!at)
                return refuse_number(err, text, is_too_big, SIZE_EXPECTED);
        at = skip_spaces(at);
        rc = at[0] == '%' && !at[1] ? read_percent(text, &number, &size, err)
                                    : read_bytes(text, at, &number, &size, err);
        if (rc == 0 && !size.bytes && !size.micro_percent)
                rc = refuse(err, text, "is zero", SIZE_EXPECTED);
        if (rc < 0)
                return rc;
        *ret = size;
        return 0;
}

int size_parse_typed(const char *text, struct size *ret, struct error *err)
{
        bool has_unit = text[strspn(text, "0123456789. \t")] != 0;
        struct size size = { 0 };
        int rc = size_parse(text, &size, err);

        if (rc < 0)
                return rc;
        if (!has_unit && size.bytes < MI)
                return refuse(err, text, "without a unit is so many bytes, less than 1 MiB",
                              SIZE_EXPECTED ", or B behind it where bytes are meant");
        *ret = size;
        return 0;
}

int bytes_parse_binary(const char *text, uint64_t *ret, struct error *err)
{
        struct number number = { .scale = 1 };
        const struct size_unit *unit;
        uint64_t bytes;
        bool is_too_big = false;
        const char *at = read_whole(text, &number.whole, &is_too_big);

        if (!at)
                return refuse_number(err, text, is_too_big, BINARY_EXPECTED);
        at = skip_spaces(at);
        unit = find_unit(binary_units, at, strlen(at));
        if (!unit)
                return refuse_number(err, text, false, BINARY_EXPECTED);
        if (!multiply(&number, unit->factor, &bytes) || bytes == UINT64_MAX)
                return refuse_number(err, text, true, BINARY_EXPECTED);
        if (!bytes)
                return refuse(err, text, "is zero", BINARY_EXPECTED);
        *ret = bytes;
        return 0;
}

/* Reads factor [* factor]..., with spaces anywhere between, and returns the end; NULL
 * as read_whole(). */
static const char *read_product(const char *at, uint64_t *ret, bool *ret_too_big)
{
        uint64_t product = 1;
        uint64_t factor;

        for (;;) {
                at = read_whole(skip_spaces(at), &factor, ret_too_big);
                if (!at)
                        return NULL;
                if (__builtin_mul_overflow(product, factor, &product)) {
                        *ret_too_big = true;
                        return NULL;
                }
                at = skip_spaces(at);
                if (*at != '*')
                        break;
                at++;
        }
        *ret = product;
        return at;
}

int bytes_parse_product(const char *text, uint64_t *ret, struct error *err)
{
        const char *expected = BINARY_EXPECTED ", or a product such as 10*1024*1024*1024";
        const char *at = skip_spaces(text);
        bool has_bracket = *at == '(';
        bool is_too_big = false;
        uint64_t bytes;

        if (!has_bracket && !strchr(text, '*'))
                return bytes_parse_binary(text, ret, err);
        at = read_product(has_bracket ? at + 1 : at, &bytes, &is_too_big);
        if (at && has_bracket)
                at = *at == ')' ? skip_spaces(at + 1) : NULL;
        if (!at || *at)
                return refuse_number(err, text, is_too_big, expected);
        if (bytes == UINT64_MAX)
                return refuse_number(err, text, true, expected);
        if (!bytes)
                return refuse(err, text, "is zero", expected);
        *ret = bytes;
        return 0;
}

int size_resolve(const struct size *size, uint64_t card_bytes, uint64_t *ret, struct error *err)
{
        char shown[SIZE_TEXT_BYTES], card[SIZE_TEXT_BYTES];
        uint64_t bytes = size->bytes;

        if (size->micro_percent) {
                if (!card_bytes)
                        return fail(err, -ENODATA, "%s of a card whose size is not known",
                                    size_canonical(size, shown));
                bytes = (uint64_t)((unsigned __int128)card_bytes * size->micro_percent /
                                   SIZE_MICRO_PERCENT_MAX);
                bytes -= bytes % SIZE_GRAIN_BYTES;
                if (!bytes)
                        return fail(err, -EINVAL, "%s of a card of %s is less than 2 MiB",
                                    size_canonical(size, shown), size_format(card_bytes, card));
        }
        if (card_bytes && bytes > card_bytes)
                return fail(err, -ERANGE, "%s is more than the card has, which is %s",
                            size_format(bytes, shown), size_format(card_bytes, card));
        *ret = bytes;
        return 0;
}

int percent_parse(const char *text, uint32_t *ret_micro_percent, struct error *err)
{
        struct number number;
        bool is_too_big = false;
        const char *at = read_number(text, &number, &is_too_big);

        if (at)
                at = skip_spaces(at);
        if (at && *at == '%')
                at++;
        if (!at || *at || percent_from(&number, ret_micro_percent) < 0)
                return refuse_number(err, text, is_too_big, "a percentage from 0 to 100");
        return 0;
}

int duration_parse(const char *text, uint64_t *ret_ns, struct error *err)
{
        const char *at = text;
        uint64_t total = 0;

        do {
                const struct size_unit *unit;
                struct number number;
                bool is_too_big = false;
                uint64_t part;
                size_t length = 0;

                at = read_number(at, &number, &is_too_big);
                if (!at)
                        return refuse_number(err, text, is_too_big, DURATION_EXPECTED);
                while (at[length] && !text_is_digit(at[length]))
                        length++;
                unit = find_unit(time_units, at, length);
                /* A number without a unit means seconds only if nothing else was given. */
                if (!unit || (!length && total))
                        return refuse_number(err, text, false, DURATION_EXPECTED);
                if (!multiply(&number, unit->factor, &part) ||
                    __builtin_add_overflow(total, part, &total))
                        return refuse_number(err, text, true, DURATION_EXPECTED);
                at += length;
        } while (*at);
        if (!total)
                return refuse(err, text, "is zero", DURATION_EXPECTED);
        *ret_ns = total;
        return 0;
}

const char *size_format(uint64_t bytes, char ret[SIZE_TEXT_BYTES])
{
        static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB" };
        unsigned rank = 0;
        uint64_t unit, hundredths;

        while (rank < 4 && bytes >> (10 * (rank + 1)))
                rank++;
        unit = UINT64_C(1) << (10 * rank);
        /* Rounded down, so that a limit is never shown larger than it is. */
        hundredths = (uint64_t)((unsigned __int128)(bytes % unit) * 100 / unit);
        if (bytes % unit)
                snprintf(ret, SIZE_TEXT_BYTES, "%llu.%02llu %s", (unsigned long long)(bytes / unit),
                         (unsigned long long)hundredths, names[rank]);
        else
                snprintf(ret, SIZE_TEXT_BYTES, "%llu %s", (unsigned long long)(bytes / unit),
                         names[rank]);
        return ret;
}

const char *size_canonical(const struct size *size, char ret[SIZE_TEXT_BYTES])
{
        uint32_t fraction = size->micro_percent % 1000000u;
        int digits = 6;

        if (!size->micro_percent) {
                snprintf(ret, SIZE_TEXT_BYTES, "%llu", (unsigned long long)size->bytes);
                return ret;
        }
        while (digits && fraction % 10 == 0) {
                fraction /= 10;
                digits--;
        }
        if (digits)
                snprintf(ret, SIZE_TEXT_BYTES, "%u.%0*u%%", size->micro_percent / 1000000u, digits,
                         fraction);
        else
                snprintf(ret, SIZE_TEXT_BYTES, "%u%%", size->micro_percent / 1000000u);
        return ret;
}

const char *duration_format(uint64_t ns, char ret[DURATION_TEXT_BYTES])
{
        const unsigned long long s = ns / UINT64_C(1000000000), m = s / 60, h = m / 60, d = h / 24;

        if (d)
                snprintf(ret, DURATION_TEXT_BYTES, "%llud%02lluh", d, h % 24);
        else if (h)
                snprintf(ret, DURATION_TEXT_BYTES, "%lluh%02llum", h, m % 60);
        else if (m)
                snprintf(ret, DURATION_TEXT_BYTES, "%llum%02llus", m, s % 60);
        else
                snprintf(ret, DURATION_TEXT_BYTES, "%llus", s);
        return ret;
}
