/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the daemon's events about sessions: a request of client.h that goes on.
 */
#ifndef ALIQUOT_CLI_CLIENT_EVENTS_H
#define ALIQUOT_CLI_CLIENT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/client.h"

struct client_event {
        int64_t id;
        char time[CLIENT_WORD_BYTES];
        char type[CLIENT_WORD_BYTES];
        char session[PAGE_NAME_BYTES]; /* "": about no session */
        char who[64];
        const char *json;   /* the whole event, one line */
        const char *detail; /* for people: "key=value key=value" */
};

/* Which events; zeroed: all that come from now on. */
struct client_hearing {
        const char *session; /* NULL: of all */
        bool has_since, has_last;
        int64_t since; /* also events after this number */
        int64_t last;  /* also this many of the latest events */
        /* Asked about once a second, also without events, whether to go on; NULL: always. */
        bool (*is_wanted)(void *context);
};

/* Follows events until `each` or .is_wanted answers false (0), or the daemon ends (CLIENT_AWAY). */
int client_events(const struct store *store, const struct client_hearing *hearing,
                  bool (*each)(const struct client_event *event, void *context), void *context,
                  struct error *err);

#endif
