/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions that a daemon saw use what they do not say (docs/watch.md): of memory, then they get no
 * more (clamped); or of a GPU's time (reported). In words, and as JSON.
 */
#ifndef ALIQUOT_CLI_FINDINGS_H
#define ALIQUOT_CLI_FINDINGS_H

#include "cli/client.h"
#include "cli/names.h"
#include "common/json_out.h"

/* Whether there is a finding about the session's GPU time, on any GPU. */
bool findings_has_any(const struct client_session *session);

/* Prints a line for each finding, and one for a clamp. */
void findings_print(const struct client_session *session);

/* `compute_reported` of a share, null where no daemon tells it, and `compute_report` while it is.
 */
void findings_json(struct json_out *out, const struct client_share *share, bool is_told);

/* The sessions that are `what`, "clamped" or "reported"; false: no daemon tells, which is not
 * waited for for long. */
bool findings_list(const struct store *store, const char *what, struct names *ret);

#endif
