/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections of the config that limit what users may have. They are stored as rules of
 * core/policy.h.
 *
 *      [policy]                everybody
 *      [policy group NAME]     the members of a group
 *      [policy user NAME]      one user
 *      [policy profile NAME]   sessions of containers with this profile
 *
 * One table has the keys, with default and description. Users and groups are looked up when the
 * file is read: an unknown name is a mistake, and a number is used as the id. The section for
 * everybody has defaults. It does not have the keys `sessions` and `ttl`; keys in [admission] set
 * these.
 */
#ifndef ALIQUOT_DAEMON_CONFIG_CONFIG_POLICY_H
#define ALIQUOT_DAEMON_CONFIG_CONFIG_POLICY_H

#include <stdio.h>

#include "common/error.h"
#include "core/policy.h"

#define CONFIG_POLICY_TEXT_BYTES 1024u /* large enough for any value */
#define CONFIG_POLICY_NAME_BYTES (POLICY_NAME_BYTES + 16u)

struct config_policy_key {
        enum policy_key key;
        /* default in [policy]; NULL: [policy] does not have this key, and the key `instead` is
         * used */
        const char *standard;
        const char *instead;
        const char *expected; /* description of valid values */
        const char *meaning;  /* description, in one line */
};

/* The keys, in the order of the manual. */
extern const struct config_policy_key config_policy_keys[POLICY_KEYS];

/* config_policy_find() returns the key of that name; NULL: there is none. */
const struct config_policy_key *config_policy_find(const char *name);
const struct config_policy_key *config_policy_of(enum policy_key key);

/* Fills in the rule for everybody with its defaults, and no other rule. */
void config_policy_init(struct policy *ret);

/* Whether a section is one of the policy: "policy", or "policy " and more. */
bool config_policy_is_section(const char *section);

/* Returns the rule of this section, and adds it if there is none yet. NULL: `err` has the
 * reason. */
struct policy_rule *config_policy_rule(struct policy *policy, const char *section,
                                       struct error *err);

/* Parses a value into the rule. -EINVAL: the value is not valid, and the rule is unchanged. */
int config_policy_parse(const struct config_policy_key *key, const char *text,
                        struct policy_rule *rule);

/* Formats the rule's value of a key so that config_policy_parse() can read it. Returns `ret`. */
const char *config_policy_format(const struct config_policy_key *key,
                                 const struct policy_rule *rule,
                                 char ret[CONFIG_POLICY_TEXT_BYTES]);

/* Formats an amount of a key other than POLICY_GPUS. Returns `ret`. */
const char *config_policy_amount(enum policy_key key, uint64_t amount,
                                 char ret[CONFIG_POLICY_TEXT_BYTES]);

/* Formats the section of a rule, without brackets, such as "policy user anna". Returns `ret`. */
const char *config_policy_section(const struct policy_rule *rule,
                                  char ret[CONFIG_POLICY_NAME_BYTES]);

/* Prints the rules as sections of a file; default values of [policy] are commented out. */
void config_policy_print(FILE *stream, const struct policy *policy);

#endif
