/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the daemon for what only it knows about its sessions: TTLs, endings, labels, and the figures
 * of sessions whose pages this user may not read.
 *
 * One request for all sessions is made each second, and top hardly waits for the answer. While the
 * daemon does not answer, the screen shows only that, and since when.
 */
#ifndef ALIQUOT_CLI_TOP_SOURCE_TERMS_H
#define ALIQUOT_CLI_TOP_SOURCE_TERMS_H

#include "cli/client.h"
#include "cli/names.h"
#include "cli/presence.h"
#include "cli/top/question.h"
#include "cli/top/snapshot.h"

struct source_terms {
        /* set by the caller: there will be only one snapshot, so waiting is useful */
        bool waits_long;
        /* set by the caller: ask for the GPUs too, since there is no driver here */
        bool wants_devices;
        unsigned device_count;
        struct client_device device[SETTINGS_GPUS];

        struct client_session *session; /* owned; ordered by name */
        size_t count;
        uint64_t at_ns;            /* time of the answer, by clock_now_ns() */
        struct question *question; /* the request that is being made; owned */
        enum presence presence;    /* whether a daemon serves, as of the last check */
        bool is_away;              /* the daemon did not answer the last request */
        /* no daemon runs, but its socket file exists: it did not shut down properly */
        bool has_left_socket;
        /* When the first and the latest request were made, and when the daemon last answered;
         * CLOCK_MONOTONIC; 0: not yet. */
        uint64_t began_ns, asked_ns, answered_ns;
        uint64_t next_ns; /* earliest time of the next request */
};

/* Reads the daemon's sessions. `terms` is all zeroes at first. */
void source_terms_read(struct source_terms *terms, const struct store *store);
void source_terms_close(struct source_terms *terms);

/* Returns whether a daemon that should answer has been silent for seconds. A daemon should answer
 * if it runs, if it ran and did not shut down properly, or if there are sessions of a daemon. For a
 * single snapshot: whether it did not answer for that one; `*ret_seconds` is then 0. */
bool source_terms_is_silent(const struct source_terms *terms, bool has_sessions,
                            uint64_t *ret_seconds);

/* Adds the names of the daemon's sessions, in order. -ENOMEM. */
int source_terms_names(const struct source_terms *terms, struct names *ret);

/* Returns the daemon's data about a session; NULL: none. */
const struct client_session *source_terms_find(const struct source_terms *terms, const char *name);

/* Fill in the terms of a session from the daemon's answer, and also its figures if this user may
 * not read its pages. */
void source_terms_fill(const struct source_terms *terms, const struct client_session *told,
                       struct snapshot_session *ret);
void source_terms_fill_figures(const struct source_terms *terms, const struct client_session *told,
                               struct snapshot_session *ret);

#endif
