/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds reasons why the daemon would fail to start although each key of the config is valid: in the
 * files, folders and names to which the config refers.
 *
 *      start_check(&config, &report)           // --check-config
 *
 * The checks call the functions that the start calls, but write, create and lock nothing. What only
 * an attempt can show is not checked: the database, the driver, and whether a port is free. One
 * thread.
 */
#ifndef ALIQUOT_DAEMON_START_CHECK_H
#define ALIQUOT_DAEMON_START_CHECK_H

#include "common/error.h"
#include "daemon/base/token.h"
#include "daemon/config/config.h"
#include "store/store.h"

#define START_SOCKET_FILE "aliquotd.sock" /* its name in the runtime folder */

/* Returns 0, or a negative errno after adding a line to the report for each problem. */
int start_check(const struct config *config, struct config_report *report);

/* Reads the token in http.token_file; its length is 0 if no file is configured. */
int start_read_token(const struct config *config, struct token *ret, struct error *err);

/* Finds the runtime folder: the one in the config, or else the one that store_find() finds. `make`:
 * creates it. */
int start_find_runtime(const struct config *config, bool make, struct store *ret,
                       struct error *err);

/* Logs a warning if this daemon uses its user's default folder, but the user's commands use another
 * daemon: that of the whole machine, to which the user has access. */
void start_warn_unused(const struct config *config, const struct store *store);

#endif
