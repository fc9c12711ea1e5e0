/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a session as JSON: the daemon's fields (docs/api.md) with the same names and values, and
 * the fields that only the session's pages have.
 *
 * A field of the daemon is null if no daemon created the session, or the daemon does not answer.
 */
#ifndef ALIQUOT_CLI_SHOW_JSON_H
#define ALIQUOT_CLI_SHOW_JSON_H

#include "cli/client.h"
#include "cli/usage.h"

/* What is known of a session. `session` and `usage` are NULL if the pages cannot be read; `terms`
 * is NULL without a daemon. */
struct seen {
        const struct store_session *session;
        const struct usage *usage;
        const struct client_session *terms;
};

/* Prints the JSON on standard output. Returns -errno if that failed. */
int show_json(const struct seen *seen);

#endif
