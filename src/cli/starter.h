/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting the daemon of a runtime folder for one who needs it: the aliquotd beside the command, or
 * in PATH. It belongs to nobody's job, keeps what it knows in the runtime folder, and goes with the
 * last session. Of several that are started at once one stays.
 */
#ifndef ALIQUOT_CLI_STARTER_H
#define ALIQUOT_CLI_STARTER_H

#include "cli/request.h"
#include "store/store.h"

/* A daemon serves the folder when this returns 0; its log is STARTER_LOG there. */
#define STARTER_LOG "aliquotd.log"
int starter_start(const struct store *store, const struct cli_request *request, struct error *err);

/* Such a daemon was there once, and knows its sessions. */
bool starter_has_begun(const struct store *store);

#endif
