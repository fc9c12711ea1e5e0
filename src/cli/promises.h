/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a daemon that is away has promised: its sessions stay in the folder, with their limits, and
 * who makes one of their own beside them is counted by nobody.
 */
#ifndef ALIQUOT_CLI_PROMISES_H
#define ALIQUOT_CLI_PROMISES_H

#include "cli/request.h"
#include "store/store.h"

/* CLIENT_AWAY where there are such sessions: a daemon that is started for `wish`, and ends with its
 * last session, would not know them. 0 where such a one was there before, which knows its own. */
int promises_are_nobodys(const struct store *store, const char *wish, struct error *err);

/* Says on standard error that there are such sessions, and what they hold; CLIENT_AWAY where what
 * is asked for does not fit on a card beside them. */
int promises_check(const struct store *store, const struct cli_request *request, struct error *err);

#endif
