/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the daemon for what only it knows of its sessions: TTLs, endings, labels, and the figures of
 * sessions whose pages this user may not read.
 *
 * It is asked for all sessions at once, once a second, with hardly any wait. While it does not
 * answer, the screen shows only that, and since when.
 */
#ifndef ALIQUOT_CLI_TOP_SOURCE_TERMS_H
#define ALIQUOT_CLI_TOP_SOURCE_TERMS_H

#include "cli/client.h"
#include "cli/names.h"
#include "cli/presence.h"
#include "cli/top/question.h"
#include "cli/top/snapshot.h"

struct source_terms {
        bool waits_long;    /* set before: there is one look, and not another */
        bool wants_devices; /* set before: of its GPUs too, since no driver tells of them here */
        unsigned device_count;
        struct client_device device[SETTINGS_GPUS];

        struct client_session *session; /* owned; in the order of their names */
        size_t count;
        uint64_t at_ns;            /* time of the answer, by clock_now_ns() */
        struct question *question; /* that is being asked; owned */
        enum presence presence;    /* when it was looked for last */
        bool is_away;              /* it did not answer the last time */
        bool has_left_socket;      /* and did not end as it should */
        /* CLOCK_MONOTONIC; 0: not yet. */
        uint64_t began_ns, asked_ns, answered_ns;
        uint64_t next_ns; /* not asked before */
};

/* Reads the daemon's sessions; the terms are all zeroes at first. */
void source_terms_read(struct source_terms *terms, const struct store *store);
void source_terms_close(struct source_terms *terms);

/* Whether a daemon that should answer has been silent for seconds: it exists, or it existed and did
 * not shut down, or there are sessions of a daemon. For a single snapshot: whether it did not
 * answer that one; then the seconds are 0. */
bool source_terms_is_silent(const struct source_terms *terms, bool has_sessions,
                            uint64_t *ret_seconds);

/* Adds the names of the daemon's sessions, in order; -ENOMEM. */
int source_terms_names(const struct source_terms *terms, struct names *ret);

/* The daemon's data about a session; NULL: none. */
const struct client_session *source_terms_find(const struct source_terms *terms, const char *name);

/* Fills in the terms of a session, and also the figures if this user may not read its pages. */
void source_terms_fill(const struct source_terms *terms, const struct client_session *told,
                       struct snapshot_session *ret);
void source_terms_fill_figures(const struct source_terms *terms, const struct client_session *told,
                               struct snapshot_session *ret);

#endif
