/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a daemon says of its policy: the rules, and what they give a user.
 */
#ifndef ALIQUOT_CLI_CLIENT_POLICY_H
#define ALIQUOT_CLI_CLIENT_POLICY_H

#include "cli/client.h"

#define CLIENT_BOUND_BYTES 256u

/* One key of a rule, or of what a user may take. */
struct client_bound {
        char key[CLIENT_WORD_BYTES];
        char most[CLIENT_BOUND_BYTES]; /* as the config says it */
        char rule[CLIENT_BOUND_BYTES]; /* the section, or the key of [admission]; "": none */
};

/* Who is told of each; `bound` is borrowed for the call. */
struct client_bounds {
        void (*each)(const struct client_bound *bound, void *context);
        void *context;
};

/* Every key of every rule. */
int client_rules(const struct store *store, const struct client_bounds *bounds, struct error *err);

/* Whom a check is about. */
struct client_subject {
        uint32_t uid;
        const uint32_t *group;
        unsigned group_count;
        const char *profile; /* NULL: none */
};

/* What the user may take. With a `wish` (NULL: none) it is refused, -EACCES, where the policy would
 * refuse a session like that. */
int client_check(const struct store *store, const struct client_subject *subject,
                 const struct client_wish *wish, const struct client_bounds *bounds,
                 struct error *err);

#endif
