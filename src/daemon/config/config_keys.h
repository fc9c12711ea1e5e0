/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of all keys except those of the policy, and the conversion of their values from text
 * and back.
 */
#ifndef ALIQUOT_DAEMON_CONFIG_CONFIG_KEYS_H
#define ALIQUOT_DAEMON_CONFIG_CONFIG_KEYS_H

#include "common/error.h"
#include "daemon/config/config.h"

enum config_type {
        CONFIG_TEXT,
        CONFIG_FOLDER, /* absolute path or empty; CONFIG_FILE too */
        CONFIG_FILE,
        /* profiles (settings/profile.h), separated by spaces or commas, or empty */
        CONFIG_PROFILES,
        CONFIG_CGROUPS, /* absolute paths, separated by commas, or empty */
        CONFIG_ADDRESS, /* see daemon/base/address.h, or empty */
        CONFIG_SWITCH,  /* yes or no */
        CONFIG_NUMBER,
        CONFIG_PERCENT,
        CONFIG_SIZE,
        CONFIG_TIME, /* duration; 0 is written "none" */
        CONFIG_WORD, /* the value is the word's index in `words` */
        CONFIG_MODE, /* octal number */
};

struct config_key {
        const char *section;
        const char *name;
        enum config_type type;
        size_t offset;
        size_t bytes; /* size of the field: of a text's array, or of a number */
        const char *standard;
        uint64_t least, most; /* range of a number, in its own unit; 0 for other types */
        const char *words[6];
        bool is_reloadable;
        const char *meaning; /* description, in one line */
};

extern const struct config_key config_keys[];
extern const size_t config_key_count;

/* Returns the key of that name; NULL: there is none. */
const struct config_key *config_key_find(const char *section, const char *name);

/* Describes the valid values of this key, such as "a duration such as 30s, 1s to 1h". Returns
 * `ret`. */
const char *config_key_expected(const struct config_key *key, char *ret, size_t bytes);

/* Returns the present word for a word of an older version; NULL: it is not an old word. */
const char *config_key_now(const struct config_key *key, const char *word);

/* Parses the text and sets the field. -EINVAL: the value is not valid, and the field is
 * unchanged. */
int config_key_parse(const struct config_key *key, const char *text, struct config *config);

/* Formats the field as text that config_key_parse() parses to the same value. Returns `ret`. */
const char *config_key_format(const struct config_key *key, const struct config *config, char *ret,
                              size_t bytes);

bool config_key_is_same(const struct config_key *key, const struct config *a,
                        const struct config *b);
void config_key_copy(const struct config_key *key, const struct config *from, struct config *to);

#endif
