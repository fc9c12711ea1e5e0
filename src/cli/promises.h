/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the promises of a stopped daemon: its sessions stay in the folder with their limits, and no
 * daemon counts a session that a user creates beside them.
 */
#ifndef ALIQUOT_CLI_PROMISES_H
#define ALIQUOT_CLI_PROMISES_H

#include "cli/request.h"
#include "store/store.h"

/* CLIENT_AWAY if there are such sessions: a daemon that is started for `wish`, and ends with its
 * last session, would not know them. 0 if such a daemon ran here before, which knows its own
 * sessions. */
int promises_are_nobodys(const struct store *store, const char *wish, struct error *err);

/* Reports such sessions and their memory on standard error; CLIENT_AWAY if the request does not fit
 * on a card beside them. */
int promises_check(const struct store *store, const struct cli_request *request, struct error *err);

#endif
