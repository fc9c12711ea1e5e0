/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the promises of a daemon that does not run: its sessions stay in the folder with their
 * limits, but no daemon compares them with a session that a user creates in the same folder.
 */
#ifndef ALIQUOT_CLI_PROMISES_H
#define ALIQUOT_CLI_PROMISES_H

#include "cli/request.h"
#include "store/store.h"

/* Checks whether a daemon can be started for the flag `wish`, which needs one. Such a daemon ends
 * with its last session and does not know the sessions of another one. CLIENT_AWAY if there are
 * sessions of another daemon; 0 if there are none, or if a daemon that was started for a command
 * ran in this folder before, which knows its own sessions. */
int promises_are_nobodys(const struct store *store, const char *wish, struct error *err);

/* Reports such sessions and their memory on standard error. CLIENT_AWAY if a card has too little
 * memory for the request and these sessions. */
int promises_check(const struct store *store, const struct cli_request *request, struct error *err);

#endif
