/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections of the config that say who may take what, as rules of core/policy.h.
 *
 *      [policy]                everybody
 *      [policy group NAME]     the members of a group
 *      [policy user NAME]      one user
 *      [policy profile NAME]   whoever comes by a profile
 *
 * One table has the keys; each value is read, written and described by it. Users and groups are
 * looked up when the file is read, and an unknown one is a mistake; a number is taken as it is.
 * The section of everybody has defaults. It lacks two keys: keys of [admission] stand for those.
 */
#ifndef ALIQUOT_DAEMON_CONFIG_CONFIG_POLICY_H
#define ALIQUOT_DAEMON_CONFIG_CONFIG_POLICY_H

#include <stdio.h>

#include "common/error.h"
#include "core/policy.h"

#define CONFIG_POLICY_TEXT_BYTES 1024u /* of any value */
#define CONFIG_POLICY_NAME_BYTES (POLICY_NAME_BYTES + 16u)

struct config_policy_key {
        enum policy_key key;
        const char
                *standard; /* of [policy]; NULL: it is not a key of that section, but `instead` */
        const char *instead;
        const char *expected; /* what a value looks like */
        const char *meaning;  /* one line */
};

/* In the order of the manual. */
extern const struct config_policy_key config_policy_keys[POLICY_KEYS];

/* NULL: there is none of that name. */
const struct config_policy_key *config_policy_find(const char *name);
const struct config_policy_key *config_policy_of(enum policy_key key);

/* The rule of everybody alone, with its defaults. */
void config_policy_init(struct policy *ret);

/* Whether a section's name begins as these do. */
bool config_policy_is_section(const char *section);

/* The rule of this section; a new one if there is none yet. NULL with the reason in `err`. */
struct policy_rule *config_policy_rule(struct policy *policy, const char *section,
                                       struct error *err);

/* -EINVAL, with nothing written, for what is not as expected. */
int config_policy_parse(const struct config_policy_key *key, const char *text,
                        struct policy_rule *rule);

/* What the rule says of a key, as config_policy_parse() reads it. Returns `ret`. */
const char *config_policy_format(const struct config_policy_key *key,
                                 const struct policy_rule *rule,
                                 char ret[CONFIG_POLICY_TEXT_BYTES]);

/* An amount of a key other than POLICY_GPUS, as a rule would say it. Returns `ret`. */
const char *config_policy_amount(enum policy_key key, uint64_t amount,
                                 char ret[CONFIG_POLICY_TEXT_BYTES]);

/* The section of a rule, without brackets: "policy user anna". Returns `ret`. */
const char *config_policy_section(const struct policy_rule *rule,
                                  char ret[CONFIG_POLICY_NAME_BYTES]);

/* The rules as sections of a file; of everybody's a value that is the default in a comment. */
void config_policy_print(FILE *stream, const struct policy *policy);

#endif
