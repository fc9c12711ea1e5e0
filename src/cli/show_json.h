/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a session as JSON: the daemon's fields (docs/api.md) with the same names and values, and
 * the fields that only its pages have.
 *
 * A daemon's field is null if the session has no daemon, or the daemon does not answer.
 */
#ifndef ALIQUOT_CLI_SHOW_JSON_H
#define ALIQUOT_CLI_SHOW_JSON_H

#include "cli/client.h"
#include "cli/usage.h"

/* `session` and `usage` are NULL if the pages cannot be read, `terms` without a daemon. */
struct seen {
        const struct store_session *session;
        const struct usage *usage;
        const struct client_session *terms;
};

/* Prints on standard output. -errno if it could not be written. */
int show_json(const struct seen *seen);

#endif
