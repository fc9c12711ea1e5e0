/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the daemon's findings about sessions (docs/watch.md), in words and as JSON: memory beyond
 * the ledger, for which a session is clamped, and GPU time beyond its claims, for which it is
 * reported.
 */
#ifndef ALIQUOT_CLI_FINDINGS_H
#define ALIQUOT_CLI_FINDINGS_H

#include "cli/client.h"
#include "cli/names.h"
#include "common/json_out.h"

/* Whether there is a finding about the session's GPU time, on any GPU. */
bool findings_has_any(const struct client_session *session);

/* Prints a line for each report, and one for a clamp. */
void findings_print(const struct client_session *session);

/* `compute_reported` of a share, null if no daemon says it, and `compute_report` if there is
 * one. */
void findings_json(struct json_out *out, const struct client_share *share, bool is_told);

/* Lists the sessions that are `what`, "clamped" or "reported"; false: no daemon answers within a
 * short time. */
bool findings_list(const struct store *store, const char *what, struct names *ret);

#endif
