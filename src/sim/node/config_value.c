/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See config_value.h. Sizes, times and rates are digits, optionally a decimal fraction, and a unit
 * from a table.
 */
#include "sim/node/config_value.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/context/device.h"
#include "sim/node/config.h"
#include "sim/node/node.h"

struct config_unit {
        const char *name;
        uint64_t factor;
};

static const struct config_unit byte_units[] = {
        { "", 1 },
        { "B", 1 },
        { "K", 1ULL << 10 },
        { "KiB", 1ULL << 10 },
        { "KB", 1000 },
        { "M", 1ULL << 20 },
        { "MiB", 1ULL << 20 },
        { "MB", 1000000 },
        { "G", 1ULL << 30 },
        { "GiB", 1ULL << 30 },
        { "GB", 1000000000 },
        { "T", 1ULL << 40 },
        { "TiB", 1ULL << 40 },
        { "TB", 1000000000000 },
        { NULL, 0 },
};

static const struct config_unit time_units[] = {
        { "", 1 }, { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }, { NULL, 0 },
};

const char *item_trim(const char *text, size_t *length)
{
        while (*length > 0 && isspace((unsigned char)*text)) {
                text++;
                --*length;
        }
        while (*length > 0 && isspace((unsigned char)text[*length - 1]))
                --*length;
        return text;
}

static bool quantity_parse(const char *text, const struct config_unit *units, uint64_t *ret)
{
        char *end;

        if (!isdigit((unsigned char)text[0]))
                return false;
        errno = 0;
        unsigned long long number = strtoull(text, &end, 10);
        double fraction = 0;
        if (errno)
                return false;
        if (*end == '.') {
                double scale = 0.1;
                for (end++; isdigit((unsigned char)*end); end++, scale /= 10)
                        fraction += (*end - '0') * scale;
        }
        for (const struct config_unit *unit = units; unit->name; unit++) {
                if (strcmp(end, unit->name) != 0)
                        continue;
                if (number > UINT64_MAX / unit->factor)
                        return false;
                *ret = number * unit->factor + (uint64_t)(fraction * (double)unit->factor);
                return true;
        }
        return false;
}

bool bytes_parse(const char *text, uint64_t *ret)
{
        return quantity_parse(text, byte_units, ret);
}

bool rate_parse(const char *text, uint64_t *ret)
{
        char number[64];
        size_t length = strlen(text);

        if (strcmp(text, "max") == 0) {
                *ret = 0;
                return true;
        }
        if (length >= sizeof(number))
                return false;
        memcpy(number, text, length + 1);
        if (length > 2 && strcmp(number + length - 2, "/s") == 0)
                number[length - 2] = '\0';
        return bytes_parse(number, ret) && *ret > 0;
}

bool time_parse(const char *text, uint64_t *ret)
{
        return quantity_parse(text, time_units, ret);
}

bool period_parse(const char *text, uint64_t *ret)
{
        return time_parse(text, ret) && *ret % NODE_BUCKET_NS == 0;
}

bool number_parse(const char *text, uint64_t *ret)
{
        static const struct config_unit plain[] = { { "", 1 }, { NULL, 0 } };

        return !strchr(text, '.') && quantity_parse(text, plain, ret);
}

bool model_parse(const char *text, uint64_t *ret)
{
        for (unsigned model = 0; model < MODEL_COUNT; model++) {
                if (strcmp(model_spec(model)->key, text) == 0) {
                        *ret = model;
                        return true;
                }
        }
        return false;
}

/* Parses one of two words: `yes` gives 1, `no` gives 0. */
static bool either(const char *text, const char *yes, const char *no, uint64_t *ret)
{
        *ret = strcmp(text, yes) == 0;
        return *ret || strcmp(text, no) == 0;
}

bool noop_parse(const char *text, uint64_t *ret)
{
        return either(text, "noop", "off", ret);
}

bool on_parse(const char *text, uint64_t *ret)
{
        return either(text, "on", "off", ret);
}

bool current_parse(const char *text, uint64_t *ret)
{
        return either(text, "measured", "usual", ret);
}

bool ended_parse(const char *text, uint64_t *ret)
{
        return either(text, "crash", "error", ret);
}

bool costs_parse(const char *text, uint64_t *ret)
{
        return either(text, "real", "none", ret);
}

bool grants_parse(const char *text, uint64_t *ret)
{
        return either(text, "real", "plain", ret);
}

bool clock_parse(const char *text, uint64_t *ret)
{
        return either(text, "virtual", "real", ret);
}
