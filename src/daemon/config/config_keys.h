/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of all keys, and values from text and back by it.
 */
#ifndef ALIQUOT_DAEMON_CONFIG_CONFIG_KEYS_H
#define ALIQUOT_DAEMON_CONFIG_CONFIG_KEYS_H

#include "common/error.h"
#include "daemon/config/config.h"

enum config_type {
        CONFIG_TEXT,
        CONFIG_FOLDER, /* absolute path or nothing; so is CONFIG_FILE */
        CONFIG_FILE,
        CONFIG_PROFILES, /* see settings/profile.h, separated by spaces or commas, or nothing */
        CONFIG_CGROUPS,  /* absolute paths, separated by commas, or nothing */
        CONFIG_ADDRESS,  /* see daemon/base/address.h, or nothing */
        CONFIG_SWITCH,   /* yes or no */
        CONFIG_NUMBER,
        CONFIG_PERCENT,
        CONFIG_SIZE,
        CONFIG_TIME, /* 0 is written "none" */
        CONFIG_WORD, /* its place in `words` is the value */
        CONFIG_MODE, /* octal */
};

struct config_key {
        const char *section;
        const char *name;
        enum config_type type;
        size_t offset;
        size_t bytes; /* of the field: a text's room, or a number's width */
        const char *standard;
        uint64_t least, most; /* of a number, in its own unit; else 0 */
        const char *words[6];
        bool is_reloadable;
        const char *meaning; /* one line */
};

extern const struct config_key config_keys[];
extern const size_t config_key_count;

/* The key of that name; NULL: there is none. */
const struct config_key *config_key_find(const char *section, const char *name);

/* What a value of this key looks like: "a duration such as 30s, 1s to 1h". Returns `ret`. */
const char *config_key_expected(const struct config_key *key, char *ret, size_t bytes);

/* What a word that older versions knew means now; NULL: it is none of those. */
const char *config_key_now(const struct config_key *key, const char *word);

/* Writes the field. -EINVAL, with nothing written, for what is not as expected. */
int config_key_parse(const struct config_key *key, const char *text, struct config *config);

/* The field as text that config_key_parse() reads back to the same. Returns `ret`. */
const char *config_key_format(const struct config_key *key, const struct config *config, char *ret,
                              size_t bytes);

bool config_key_is_same(const struct config_key *key, const struct config *a,
                        const struct config *b);
void config_key_copy(const struct config_key *key, const struct config *from, struct config *to);

#endif
