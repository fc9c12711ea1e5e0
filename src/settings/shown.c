/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the text of settings_canonical() for display. A size gets a unit if the result is exact,
 * so the text can be given to --memory again.
 */
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "settings/settings.h"

/* Adds a number of bytes in the largest binary unit that divides it. */
static void add_bytes(struct text *text, const char *digits, size_t length)
{
        static const char *const units[] = { "TiB", "GiB", "MiB", "KiB" };
        unsigned long long bytes = strtoull(digits, NULL, 10);

        for (unsigned i = 0; bytes && i < 4; i++) {
                unsigned long long unit = 1ULL << (40 - 10 * i);

                if (bytes % unit == 0) {
                        text_add(text, "%llu%s", bytes / unit, units[i]);
                        return;
                }
        }
        text_add(text, "%.*s", (int)length, digits);
}

/* Adds the text from `at` to `end`, with a unit for each number of bytes that follows '=', as
 * in "memory=8589934592,0=25%". */
static void add_sizes(struct text *text, const char *at, const char *end)
{
        const char *begin = at;

        while (at < end) {
                size_t digits = strspn(at, "0123456789");
                bool is_bytes = digits && at > begin && at[-1] == '=' &&
                                (at[digits] == ',' || at + digits == end);

                if (is_bytes)
                        add_bytes(text, at, digits);
                else
                        text_add(text, "%.*s", (int)(digits ? digits : 1), at);
                at += digits ? digits : 1;
        }
}

const char *settings_shown(const char *canonical, char *ret, size_t bytes)
{
        const char *at = canonical;
        struct text text;

        text_begin(&text, ret, bytes);
        /* name= is the last setting, and a card's name may contain any character, such as ';'. */
        while (at[0] && !text_begins(at, "name=")) {
                const char *end = at + strcspn(at, ";");

                if (text_begins(at, "memory=") || text_begins(at, "oversubscribe="))
                        add_sizes(&text, at, end);
                else
                        text_add(&text, "%.*s", (int)(end - at), at);
                text_add(&text, "%s", end[0] ? ";" : "");
                at = end + (end[0] != 0);
        }
        text_add(&text, "%s", at);
        return ret;
}
