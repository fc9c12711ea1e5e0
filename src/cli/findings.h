/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the daemon's findings about sessions (docs/watch.md), as text and as JSON. A session is
 * clamped (it gets no new memory) if it uses memory beyond its ledger, and reported if it uses more
 * GPU time than it claims.
 */
#ifndef ALIQUOT_CLI_FINDINGS_H
#define ALIQUOT_CLI_FINDINGS_H

#include "cli/client.h"
#include "cli/names.h"
#include "common/json_out.h"

/* Returns whether the session is reported for its GPU time, on any GPU. */
bool findings_has_any(const struct client_session *session);

/* Prints a line for each report, and one for a clamp. */
void findings_print(const struct client_session *session);

/* Prints the field `compute_reported` of a share (null if no daemon answers) and, if there is a
 * report, `compute_report`. */
void findings_json(struct json_out *out, const struct client_share *share, bool is_told);

/* Lists the sessions that are `what`: "clamped" or "reported". False: no daemon answers within a
 * short time. */
bool findings_list(const struct store *store, const char *what, struct names *ret);

#endif
