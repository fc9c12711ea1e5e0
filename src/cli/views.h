/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints sessions as text and as JSON, in the same form in every command.
 */
#ifndef ALIQUOT_CLI_VIEWS_H
#define ALIQUOT_CLI_VIEWS_H

#include "cli/client.h"
#include "cli/table.h"
#include "cli/usage.h"
#include "common/json_out.h"

/* Returns the limit of a row for display: 0 if no memory fits. */
uint64_t views_limit_bytes(const struct store_session *session, unsigned row);

/* Returns the host memory that the session may use in place of card memory; 0: none. */
uint64_t views_host_bytes(const struct store_session *session);

/* Finds where the memory of a session that swaps is, from the daemon (`terms`; NULL: none) or from
 * its pages. False: the session does not swap. */
bool views_swap(const struct store_session *session, const struct usage *usage,
                const struct client_session *terms, struct client_swap *ret);

/* Returns the limit, for display, of the GPUs that have no row. */
uint64_t views_default_bytes(const struct store_session *session);

/* Prints a limit in bytes; null: no limit. */
void views_limit(struct json_out *out, const char *key, uint64_t bytes);

/* Returns what the session's page has for a row's GPU. */
struct client_share views_row(const struct store_session *session, unsigned row);

/* Prints uuid, memory_bytes, compute_percent and guarantee_percent, as the daemon's own JSON
 * does. */
void views_share(struct json_out *out, const struct client_share *share);

/* Returns the UUID of a row's device as text. It begins with GPU- even for a MIG instance, because
 * a page does not distinguish these. */
const char *views_uuid(const struct store_session *session, unsigned row, char ret[]);

/* Returns how the remainder is known: the memory that the driver takes in addition to what the
 * processes requested. "measured": by NVML, for each process that holds memory of the device;
 * otherwise "estimated". NULL: no process holds memory of the device, or the remainder is not
 * charged. */
const char *views_remainder(const struct store_session *session, const struct usage *usage,
                            unsigned row);

/* views_seen_process() converts a process from a session's pages to the form in which the daemon
 * reports processes; views_process() prints that form. */
struct client_process views_seen_process(const struct store_session *session,
                                         const struct usage_process *process);

void views_process(struct json_out *out, const char *session, const struct client_process *process);

/*
 * Prints the whole session on standard output: what its pages contain and, if the daemon that
 * created it answers, what the daemon reports in addition. If this user may not read the pages,
 * only what the daemon reports.
 */
int views_named(const struct store *store, const char *name, bool is_json, struct error *err);

/* Titles of the session's table, which has a row for each GPU. */
#define VIEWS_TITLES "GPU,#LIMIT,#USED,#CARD"

/* Adds only those rows to a table with these titles. */
int views_rows(const struct store *store, const char *name, struct table *table, struct error *err);

#endif
