/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the daemon of a runtime folder for a command that needs it: the aliquotd beside the
 * command, or in PATH. It leaves the terminal's job, keeps its state in the runtime folder, and
 * ends with the last session. Of several started at once one stays.
 */
#ifndef ALIQUOT_CLI_STARTER_H
#define ALIQUOT_CLI_STARTER_H

#include "cli/request.h"
#include "store/store.h"

/* Name of its log in the folder. starter_start() returns 0 when a daemon serves the folder. */
#define STARTER_LOG "aliquotd.log"
int starter_start(const struct store *store, const struct cli_request *request, struct error *err);

/* Whether such a daemon ran here before; it knows its own sessions. */
bool starter_has_begun(const struct store *store);

#endif
