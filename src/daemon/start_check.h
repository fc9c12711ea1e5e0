/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a start with this config would fail for, although each key is well written: the files,
 * folders and names that the config leads to.
 *
 *      start_check(&config, &report)           // --check-config
 *
 * Each answer is the start's own: the same function is asked, and writes, makes and locks nothing
 * here. What only an attempt can tell is left to the start: the database, the driver, and whether a
 * port is free. One thread.
 */
#ifndef ALIQUOT_DAEMON_START_CHECK_H
#define ALIQUOT_DAEMON_START_CHECK_H

#include "common/error.h"
#include "daemon/base/token.h"
#include "daemon/config/config.h"
#include "store/store.h"

#define START_SOCKET_FILE "aliquotd.sock" /* in the runtime folder */

/* 0, or negative with a line of the report for each thing. */
int start_check(const struct config *config, struct config_report *report);

/* The secret of http.token_file; length 0 where none is said. */
int start_read_token(const struct config *config, struct token *ret, struct error *err);

/* The runtime folder: the one that the config says, else as store_find() has it. */
int start_find_runtime(const struct config *config, bool make, struct store *ret,
                       struct error *err);

/* Warns where this daemon has a usual folder and its user's commands go to another daemon: that of
 * the whole machine, which lets them in. */
void start_warn_unused(const struct config *config, const struct store *store);

#endif
