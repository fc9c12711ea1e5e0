/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits as settings_canonical() writes them, for people: sizes with a unit where one says them
 * exactly, so that the words can be given to --memory again.
 */
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "settings/settings.h"

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

const char *settings_shown(const char *canonical, char *ret, size_t bytes)
{
        static const char memory[] = "memory=";
        const char *at = canonical;
        struct text text;

        text_begin(&text, ret, bytes);
        if (strncmp(at, memory, strlen(memory)) == 0) {
                const char *end = at + strcspn(at, ";");

                while (at < end) {
                        size_t digits = strspn(at, "0123456789");
                        bool is_bytes = digits && at > canonical && at[-1] == '=' &&
                                        (at[digits] == ',' || at + digits == end);

                        if (is_bytes)
                                add_bytes(&text, at, digits);
                        else
                                text_add(&text, "%.*s", (int)(digits ? digits : 1), at);
                        at += digits ? digits : 1;
                }
        }
        text_add(&text, "%s", at);
        return ret;
}
