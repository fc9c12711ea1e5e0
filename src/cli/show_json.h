/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session as JSON: what the daemon's API says of it (docs/api.md) under the same names and with
 * the same values, and what its pages alone know.
 *
 * What a daemon says is null of a session that has none, or whose daemon does not answer.
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

/* On standard output. -errno if it could not be written. */
int show_json(const struct seen *seen);

#endif
