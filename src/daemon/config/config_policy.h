/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections of the config that limit what users may take, as rules of core/policy.h.
 *
 *      [policy]                everybody
 *      [policy group NAME]     the members of a group
 *      [policy user NAME]      one user
 *      [policy profile NAME]   whoever comes by a profile
 *
 * One table has the keys; it reads, writes and describes each value. Users and groups are looked up
 * when the file is read, and an unknown name is a mistake; a number is taken as it is. The section
 * for everybody has defaults. It lacks two keys, for which there are keys of [admission].
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
        const char *standard; /* default in [policy]; NULL: `instead` stands for it there */
        const char *instead;
        const char *expected; /* description of its values */
        const char *meaning;  /* one line */
};

/* In the order of the manual. */
extern const struct config_policy_key config_policy_keys[POLICY_KEYS];

/* NULL: there is none of that name. */
const struct config_policy_key *config_policy_find(const char *name);
const struct config_policy_key *config_policy_of(enum policy_key key);

/* Only the rule for everybody, with its defaults. */
void config_policy_init(struct policy *ret);

/* Whether a section's name begins like these. */
bool config_policy_is_section(const char *section);

/* The rule of this section; a new one if there is none yet. NULL with the reason in `err`. */
struct policy_rule *config_policy_rule(struct policy *policy, const char *section,
                                       struct error *err);

/* -EINVAL, with nothing written: not a valid value. */
int config_policy_parse(const struct config_policy_key *key, const char *text,
                        struct policy_rule *rule);

/* The rule's value of a key, as config_policy_parse() reads it. Returns `ret`. */
const char *config_policy_format(const struct config_policy_key *key,
                                 const struct policy_rule *rule,
                                 char ret[CONFIG_POLICY_TEXT_BYTES]);

/* An amount of a key other than POLICY_GPUS, as in a rule. Returns `ret`. */
const char *config_policy_amount(enum policy_key key, uint64_t amount,
                                 char ret[CONFIG_POLICY_TEXT_BYTES]);

/* The section of a rule, without brackets: "policy user anna". Returns `ret`. */
const char *config_policy_section(const struct policy_rule *rule,
                                  char ret[CONFIG_POLICY_NAME_BYTES]);

/* Prints the rules as sections of a file; default values of [policy] are commented out. */
void config_policy_print(FILE *stream, const struct policy *policy);

#endif
