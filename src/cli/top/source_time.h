/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's GPU time: terms and counters, from its pages, or from the daemon if this user may not
 * read the pages.
 *
 * Other users can write the pages: the numbers are shown as they are, and used for nothing else.
 */
#ifndef ALIQUOT_CLI_TOP_SOURCE_TIME_H
#define ALIQUOT_CLI_TOP_SOURCE_TIME_H

#include "cli/client.h"
#include "cli/top/snapshot.h"

/* Reads the GPU time of a share; `row` is its row in both pages. */
void source_time_read(const struct store_session *session, unsigned row, struct snapshot_time *ret);

/* Adds values that only the daemon has, with the time of its answer. */
void source_time_add(const struct client_share *told, uint64_t at_ns, struct snapshot_time *ret);

/* Fills in all values of a share from the daemon's answer. */
void source_time_fill(const struct client_share *told, uint64_t at_ns, struct snapshot_time *ret);

#endif
