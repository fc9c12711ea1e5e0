/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is promised and counted of a session's time on a GPU: from its pages, and from what a daemon
 * tells of one whose pages are not for us.
 *
 * The pages are other people's: every number is taken as it is, and only shown.
 */
#ifndef ALIQUOT_CLI_TOP_SOURCE_TIME_H
#define ALIQUOT_CLI_TOP_SOURCE_TIME_H

#include "cli/client.h"
#include "cli/top/snapshot.h"

/* Reads the GPU time of a share; `row` is its row in both pages. */
void source_time_read(const struct store_session *session, unsigned row, struct snapshot_time *ret);

/* Adds what only a daemon knows, and told at that time. */
void source_time_add(const struct client_share *told, uint64_t at_ns, struct snapshot_time *ret);

/* Fills in what only a daemon tells of a share. */
void source_time_fill(const struct client_share *told, uint64_t at_ns, struct snapshot_time *ret);

#endif
