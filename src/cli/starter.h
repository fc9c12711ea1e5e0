/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the daemon of a runtime folder for a command that needs it: the aliquotd in the same
 * folder as the command, or in PATH. The daemon leaves the terminal's job, keeps its state in the
 * runtime folder, and ends with its last session. If several are started at once, only one stays.
 */
#ifndef ALIQUOT_CLI_STARTER_H
#define ALIQUOT_CLI_STARTER_H

#include "cli/request.h"
#include "store/store.h"

/* STARTER_LOG is the name of the daemon's log in the folder. starter_start() returns 0 when a
 * daemon serves the folder. */
#define STARTER_LOG "aliquotd.log"
int starter_start(const struct store *store, const struct cli_request *request, struct error *err);

/* Returns whether a daemon that was started by starter_start() ran in this folder before. Such a
 * daemon knows its own sessions. */
bool starter_has_begun(const struct store *store);

#endif
