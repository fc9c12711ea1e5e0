/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts values of configuration keys from text and back (config_keys.h).
 *
 * The key's type determines how its text is parsed; its range is checked here too. On failure the
 * config is unchanged, and config_key_expected() describes valid values. A value is written in the
 * largest unit of which it is a multiple, so that parsing it gives the same value.
 */
#include <errno.h>
#include <string.h>

#include "common/text.h"
#include "common/units.h"
#include "daemon/base/address.h"
#include "daemon/config/config_keys.h"
#include "settings/profile.h"

#define KI (UINT64_C(1) << 10)
#define MI (UINT64_C(1) << 20)
#define GI (UINT64_C(1) << 30)
#define TI (UINT64_C(1) << 40)
#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define HOUR (3600 * SECOND)

struct suffix {
        const char *name;
        uint64_t factor;
};

/* Largest first, because a value is written in the largest unit of which it is a multiple. */
static const struct suffix size_suffixes[] = {
        { "TiB", TI }, { "GiB", GI }, { "MiB", MI }, { "KiB", KI }, { "", 1 },
};
static const struct suffix time_suffixes[] = {
        { "d", 24 * HOUR }, { "h", HOUR },  { "m", 60 * SECOND }, { "s", SECOND },
        { "ms", MS },       { "us", 1000 }, { "ns", 1 },
};

static void *field_of(const struct config_key *key, const struct config *config)
{
        return (char *)config + key->offset;
}

static bool is_text(const struct config_key *key)
{
        return key->type <= CONFIG_ADDRESS;
}

static uint64_t get_number(const struct config_key *key, const struct config *config)
{
        uint32_t narrow;
        uint64_t wide;
        bool is_on;

        switch (key->bytes) {
        case sizeof(bool):
                memcpy(&is_on, field_of(key, config), sizeof(is_on));
                return is_on;
        case sizeof(narrow):
                memcpy(&narrow, field_of(key, config), sizeof(narrow));
                return narrow;
        default:
                memcpy(&wide, field_of(key, config), sizeof(wide));
                return wide;
        }
}

static void put_number(const struct config_key *key, uint64_t value, struct config *config)
{
        uint32_t narrow = (uint32_t)value;
        bool is_on = value != 0;

        switch (key->bytes) {
        case sizeof(bool):
                memcpy(field_of(key, config), &is_on, sizeof(is_on));
                break;
        case sizeof(narrow):
                memcpy(field_of(key, config), &narrow, sizeof(narrow));
                break;
        default:
                memcpy(field_of(key, config), &value, sizeof(value));
                break;
        }
}

static bool parse_whole(const char *text, unsigned base, uint64_t *ret)
{
        uint64_t value = 0;

        if (!*text)
                return false;
        for (; *text; text++) {
                if (!text_is_digit(*text) || (unsigned)(*text - '0') >= base ||
                    __builtin_mul_overflow(value, base, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
                        return false;
        }
        *ret = value;
        return true;
}

static bool parse_percent(const char *text, uint64_t *ret)
{
        char number[16] = "";
        size_t length = strlen(text);

        if (length && text[length - 1] == '%')
                length--;
        if (length >= sizeof(number))
                return false;
        memcpy(number, text, length);
        return parse_whole(number, 10, ret);
}

static bool parse_switch(const char *text, uint64_t *ret)
{
        static const char *const words[] = { "no", "yes", "false", "true", "0", "1", "off", "on" };

        for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
                if (text_is_same(text, words[i])) {
                        *ret = i & 1;
                        return true;
                }
        }
        return false;
}

static bool parse_word(const struct config_key *key, const char *text, uint64_t *ret)
{
        for (unsigned i = 0; key->words[i]; i++) {
                if (strcmp(text, key->words[i]) == 0) {
                        *ret = i;
                        return true;
                }
        }
        return false;
}

static bool parse_size(const char *text, uint64_t *ret)
{
        struct size size;

        *ret = 0;
        if (strcmp(text, "0") == 0)
                return true;
        if (size_parse(text, &size, NULL) < 0 || !size.bytes)
                return false;
        *ret = size.bytes;
        return true;
}

static bool parse_number(const struct config_key *key, const char *text, uint64_t *ret)
{
        switch (key->type) {
        case CONFIG_SWITCH:
                return parse_switch(text, ret);
        case CONFIG_PERCENT:
                return parse_percent(text, ret);
        case CONFIG_SIZE:
                return parse_size(text, ret);
        case CONFIG_TIME:
                *ret = 0;
                return strcmp(text, "none") == 0 || duration_parse(text, ret, NULL) == 0;
        case CONFIG_WORD:
                return parse_word(key, text, ret);
        case CONFIG_MODE:
                return parse_whole(text, 8, ret) && (*ret & 0600) == 0600;
        default:
                return parse_whole(text, 10, ret);
        }
}

/* Whether each path is absolute and has no "..". */
static bool is_good_list(const char *text)
{
        for (const char *at = text; *at; at += strspn(at, ", ")) {
                size_t length = strcspn(at, ", ");

                if (*at != '/')
                        return false;
                at += length;
        }
        return !strstr(text, "/..");
}

/* Whether each name is a valid profile, and none is repeated. */
static bool are_profiles(const char *text)
{
        struct profile profile;

        for (const char *at = text + strspn(text, ", "); *at; at += strspn(at, ", ")) {
                char name[sizeof(profile.name)] = "";
                size_t length = strcspn(at, ", ");

                if (length >= sizeof(name))
                        return false;
                memcpy(name, at, length);
                if (profile_parse(name, &profile, NULL) < 0 || profile_is_in(name, at + length))
                        return false;
                at += length;
        }
        return true;
}

/* Whether the text is valid. A text of any type is one line without ';' that fits its field. */
static bool is_good_text(const struct config_key *key, const char *text)
{
        struct address address;

        if (strlen(text) >= key->bytes)
                return false;
        for (const char *at = text; *at; at++) {
                if ((unsigned char)*at < ' ' || *at == 0x7f || *at == ';')
                        return false;
        }
        if (!text[0] || key->type == CONFIG_TEXT)
                return true;
        if (key->type == CONFIG_ADDRESS)
                return address_parse(text, &address, NULL) == 0;
        if (key->type == CONFIG_CGROUPS)
                return is_good_list(text);
        if (key->type == CONFIG_PROFILES)
                return are_profiles(text);
        return text[0] == '/';
}

int config_key_parse(const struct config_key *key, const char *text, struct config *config)
{
        uint64_t value;

        if (is_text(key)) {
                if (!is_good_text(key, text))
                        return -EINVAL;
                memset(field_of(key, config), 0, key->bytes);
                memcpy(field_of(key, config), text, strlen(text));
                return 0;
        }
        if (!parse_number(key, text, &value))
                return -EINVAL;
        if (key->most && (value < key->least || value > key->most))
                return -EINVAL;
        put_number(key, value, config);
        return 0;
}

static void add_scaled(struct text *text, uint64_t value, const struct suffix *suffix)
{
        while (suffix->factor > 1 && value % suffix->factor)
                suffix++;
        text_add(text, "%llu%s", (unsigned long long)(value / suffix->factor), suffix->name);
}

static void add_number(struct text *text, const struct config_key *key, uint64_t value)
{
        switch (key->type) {
        case CONFIG_SWITCH:
                text_add(text, "%s", value ? "yes" : "no");
                break;
        case CONFIG_WORD:
                text_add(text, "%s", key->words[value]);
                break;
        case CONFIG_MODE:
                text_add(text, "%04llo", (unsigned long long)value);
                break;
        case CONFIG_PERCENT:
                text_add(text, "%llu%%", (unsigned long long)value);
                break;
        case CONFIG_TIME:
                if (value)
                        add_scaled(text, value, time_suffixes);
                else
                        text_add(text, "none");
                break;
        case CONFIG_SIZE:
                if (value)
                        add_scaled(text, value, size_suffixes);
                else
                        text_add(text, "0");
                break;
        default:
                text_add(text, "%llu", (unsigned long long)value);
                break;
        }
}

const char *config_key_format(const struct config_key *key, const struct config *config, char *ret,
                              size_t bytes)
{
        struct text text;

        text_begin(&text, ret, bytes);
        if (is_text(key))
                text_add(&text, "%s", (const char *)field_of(key, config));
        else
                add_number(&text, key, get_number(key, config));
        return ret;
}

static void add_range(struct text *text, const struct config_key *key, const char *what)
{
        text_add(text, "%s, ", what);
        add_number(text, key, key->least);
        text_add(text, " to ");
        add_number(text, key, key->most);
}

static void add_words(struct text *text, const struct config_key *key)
{
        for (unsigned i = 0; key->words[i]; i++) {
                if (i)
                        text_add(text, key->words[i + 1] ? ", " : " or ");
                text_add(text, "%s", key->words[i]);
        }
}

const char *config_key_expected(const struct config_key *key, char *ret, size_t bytes)
{
        static const char *const what[] = {
                [CONFIG_TEXT] = "a name",
                [CONFIG_FOLDER] = "the absolute path of a folder",
                [CONFIG_FILE] = "the absolute path of a file",
                [CONFIG_PROFILES] = "shares such as gpu0-4GiB-30 or 4GiB-30-rt, each once",
                [CONFIG_CGROUPS] = "cgroups such as /kubepods.slice, separated by commas",
                [CONFIG_ADDRESS] = ADDRESS_EXPECTED,
                [CONFIG_SWITCH] = "yes or no",
                [CONFIG_NUMBER] = "a whole number",
                [CONFIG_PERCENT] = "a percentage without decimals",
                [CONFIG_SIZE] = "a size such as 64KiB",
                [CONFIG_TIME] = "a duration such as 30s or 1h30m",
                [CONFIG_MODE] = "an octal mode such as 0660 that lets its owner in",
        };
        struct text text;

        text_begin(&text, ret, bytes);
        if (key->type == CONFIG_WORD)
                add_words(&text, key);
        else if (key->most)
                add_range(&text, key, what[key->type]);
        else
                text_add(&text, "%s%s", what[key->type], is_text(key) ? ", or nothing" : "");
        return ret;
}

bool config_key_is_same(const struct config_key *key, const struct config *a,
                        const struct config *b)
{
        return memcmp(field_of(key, a), field_of(key, b), key->bytes) == 0;
}

void config_key_copy(const struct config_key *key, const struct config *from, struct config *to)
{
        memcpy(field_of(key, to), field_of(key, from), key->bytes);
}
