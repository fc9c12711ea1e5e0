/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a daemon no longer believes of a session, or grants to it, since it was seen to use what it
 * does not say (docs/daemon.md): in words, and as JSON.
 */
#ifndef ALIQUOT_CLI_CLAMPS_H
#define ALIQUOT_CLI_CLAMPS_H

#include "cli/client.h"
#include "cli/names.h"
#include "common/json_out.h"

/* Of its memory, or of its time on any GPU. */
bool clamps_has_any(const struct client_session *session);

/* A line for each. */
void clamps_print(const struct client_session *session);

/* `compute_clamped` of a share, null where no daemon tells it, and `compute_clamp` while it is. */
void clamps_json(struct json_out *out, const struct client_share *share, bool is_told);

/* The sessions that have any; false: no daemon tells, which is not waited for for long. */
bool clamps_list(const struct store *store, struct names *ret);

#endif
