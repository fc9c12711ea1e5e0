/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the daemon's policy: the rules, and what they allow a user.
 */
#ifndef ALIQUOT_CLI_CLIENT_POLICY_H
#define ALIQUOT_CLI_CLIENT_POLICY_H

#include "cli/client.h"

#define CLIENT_BOUND_BYTES 256u

/* One key of a rule, or of what a user may have. */
struct client_bound {
        char key[CLIENT_WORD_BYTES];
        char most[CLIENT_BOUND_BYTES]; /* the maximum, as it is written in the config */
        /* section of the config, or key of [admission]; "": no rule */
        char rule[CLIENT_BOUND_BYTES];
};

/* A function that is called for each key; `bound` is borrowed for the call. */
struct client_bounds {
        void (*each)(const struct client_bound *bound, void *context);
        void *context;
};

/* Lists every key of every rule. */
int client_rules(const struct store *store, const struct client_bounds *bounds, struct error *err);

/* The user for whom the policy is checked. */
struct client_subject {
        uint32_t uid;
        const uint32_t *group;
        unsigned group_count;
        const char *profile; /* a profile for which it is checked; NULL: none */
};

/* Lists what the user may have. With a `wish` (NULL: none), returns -EACCES if the policy would
 * refuse such a session. */
int client_check(const struct store *store, const struct client_subject *subject,
                 const struct client_wish *wish, const struct client_bounds *bounds,
                 struct error *err);

#endif
