/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a session looks, to people and in JSON, the same in every command.
 */
#ifndef ALIQUOT_CLI_VIEWS_H
#define ALIQUOT_CLI_VIEWS_H

#include "cli/client.h"
#include "cli/table.h"
#include "cli/usage.h"
#include "common/json_out.h"

/* The limit of a row for display: 0 if no memory fits. */
uint64_t views_limit_bytes(const struct store_session *session, unsigned row);

/* Host memory in place of card memory; 0: none. */
uint64_t views_host_bytes(const struct store_session *session);

/* Where the memory of a session that swaps is, by the daemon (`terms`; NULL: none) or by its pages.
 * False: it does not swap. */
bool views_swap(const struct store_session *session, const struct usage *usage,
                const struct client_session *terms, struct client_swap *ret);

/* The same of the GPUs that have no row. */
uint64_t views_default_bytes(const struct store_session *session);

/* null: no limit. */
void views_limit(struct json_out *out, const char *key, uint64_t bytes);

/* What a page says of a GPU. */
struct client_share views_row(const struct store_session *session, unsigned row);

/* uuid, memory_bytes, compute_percent and guarantee_percent, as the daemon's own JSON has them. */
void views_share(struct json_out *out, const struct client_share *share);

/* The UUID of a row; GPU- also where it is an instance, which a page does not tell. */
const char *views_uuid(const struct store_session *session, unsigned row, char ret[]);

/* How what the driver takes besides what it was asked for is known: "measured" by NVML for each
 * process that holds something of the device, else "estimated". NULL: nobody holds anything of it,
 * or it is not charged. */
const char *views_remainder(const struct store_session *session, const struct usage *usage,
                            unsigned row);

/* As it is shown: of what its session's pages tell. The daemon tells of others in the same form. */
struct client_process views_seen_process(const struct store_session *session,
                                         const struct usage_process *process);

void views_process(struct json_out *out, const char *session, const struct client_process *process);

/*
 * The whole session on standard output: what its pages say, and what the daemon that made it says
 * besides, if that answers. One whose pages are not ours to read is as the daemon says.
 */
int views_named(const struct store *store, const char *name, bool is_json, struct error *err);

/* Of its table for people, a row a GPU. */
#define VIEWS_TITLES "GPU,#LIMIT,#USED,#CARD"

/* The rows alone, in a table with these titles. */
int views_rows(const struct store *store, const char *name, struct table *table, struct error *err);

#endif
