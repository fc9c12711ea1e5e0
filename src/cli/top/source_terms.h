/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only a daemon knows of its sessions: until when they live, what comes then, their labels;
 * and the figures of those whose pages are not for us.
 *
 * It is asked for all of them at once, once a second. While it does not answer nothing of it is
 * shown, and it is not waited for again soon.
 */
#ifndef ALIQUOT_CLI_TOP_SOURCE_TERMS_H
#define ALIQUOT_CLI_TOP_SOURCE_TERMS_H

#include "cli/client.h"
#include "cli/top/snapshot.h"

struct source_terms {
        struct client_session *session; /* owned; in the order of their names */
        size_t count, room;
        uint64_t at_ns;   /* when they were told; clock_now_ns() */
        uint64_t next_ns; /* not asked before; CLOCK_MONOTONIC */
};

/* From zeroed terms. */
void source_terms_read(struct source_terms *terms, const struct store *store);
void source_terms_close(struct source_terms *terms);

/* NULL: no daemon tells of it. */
const struct client_session *source_terms_find(const struct source_terms *terms, const char *name);

/* The terms of a session, and of one whose pages are not for us the figures. */
void source_terms_fill(const struct source_terms *terms, const struct client_session *told,
                       struct snapshot_session *ret);
void source_terms_fill_figures(const struct source_terms *terms, const struct client_session *told,
                               struct snapshot_session *ret);

#endif
