/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only a daemon knows of its sessions: until when they live, what comes then, their labels;
 * and the figures of those whose pages are not for us.
 *
 * It is asked for all of them at once, once a second, and hardly waited for. While it does not
 * answer nothing of it is shown, but that and since when.
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
        uint64_t at_ns;            /* when they were told; clock_now_ns() */
        struct question *question; /* that is being asked; owned */
        enum presence presence;    /* when it was looked for last */
        bool is_away;              /* it did not answer the last time */
        bool has_left_socket;      /* and did not end as it should */
        /* CLOCK_MONOTONIC; 0: not yet. */
        uint64_t began_ns, asked_ns, answered_ns;
        uint64_t next_ns; /* not asked before */
};

/* Reads what the daemon says of sessions; the terms are all zeroes at first. */
void source_terms_read(struct source_terms *terms, const struct store *store);
void source_terms_close(struct source_terms *terms);

/* Whether a daemon has not answered for seconds that should: it is there, or was and did not say
 * good-bye, or sessions are its. Of one look: whether it has not answered that; then they are 0. */
bool source_terms_is_silent(const struct source_terms *terms, bool has_sessions,
                            uint64_t *ret_seconds);

/* Adds the names of the sessions that the daemon tells of, in order; -ENOMEM. */
int source_terms_names(const struct source_terms *terms, struct names *ret);

/* What the daemon says of a session; NULL: nothing. */
const struct client_session *source_terms_find(const struct source_terms *terms, const char *name);

/* The terms of a session, and of one whose pages are not for us the figures. */
void source_terms_fill(const struct source_terms *terms, const struct client_session *told,
                       struct snapshot_session *ret);
void source_terms_fill_figures(const struct source_terms *terms, const struct client_session *told,
                               struct snapshot_session *ret);

#endif
