/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up symbols and file names in the tables of all APIs. It reads only constants.
 */
#include "interpose/api.h"

#include <string.h>

uint32_t api_hash(const char *text)
{
        uint32_t value = 0x811c9dc5u;

        for (; *text; text++)
                value = (value ^ (uint8_t)*text) * 0x01000193u;
        return value;
}

int api_find(const struct api *api, const char *symbol)
{
        const struct api_table *t = api->table;

        for (uint32_t at = api_hash(symbol);; at++) {
                unsigned number = t->symbol[at & t->symbol_mask];

                if (number == 0)
                        return API_NO_ENTRY;
                if (text_equals(entry_name(api, number - 1), symbol))
                        return (int)number - 1;
        }
}

const struct api *api_of_prefix(const char *symbol)
{
        for (const struct api *const *api = api_list; *api; api++)
                if (symbol_begins(symbol, (*api)->prefix))
                        return *api;
        return NULL;
}

/* Whether `text` is a version suffix: groups of digits, each after a dot, such as ".1" or
 * ".535.104.05"; or empty. */
static bool is_version_suffix(const char *text)
{
        while (*text == '.') {
                size_t digits = strspn(text + 1, "0123456789");

                if (digits == 0)
                        return false;
                text += 1 + digits;
        }
        return *text == '\0';
}

const struct api *api_of_file(const char *file)
{
        const char *slash = strrchr(file, '/');
        const char *base = slash ? slash + 1 : file;

        for (const struct api *const *api = api_list; *api; api++) {
                size_t length = strlen((*api)->stem);

                if (strncmp(base, (*api)->stem, length) == 0 && is_version_suffix(base + length))
                        return *api;
        }
        return NULL;
}
