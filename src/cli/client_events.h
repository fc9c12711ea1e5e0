/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the daemon's events about sessions, with a request of client.h that stays open.
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
        char session[PAGE_NAME_BYTES]; /* name of the session; "": the event is about no session */
        char who[64];
        const char *json;   /* the whole event, in one line */
        const char *detail; /* for users: "key=value key=value" */
};

/* Which events are requested; if zeroed, all events from now on. */
struct client_hearing {
        const char *session; /* events of this session only; NULL: of all sessions */
        bool has_since, has_last;
        int64_t since; /* with has_since: also past events with a higher number than this */
        int64_t last;  /* with has_last: also this many of the latest past events */
        /* Called about once a second, even without events; false ends the request. NULL: never
         * ends. */
        bool (*is_wanted)(void *context);
};

/* Calls `each` for every event. Returns 0 when `each` or .is_wanted returns false, CLIENT_AWAY when
 * the daemon ends. */
int client_events(const struct store *store, const struct client_hearing *hearing,
                  bool (*each)(const struct client_event *event, void *context), void *context,
                  struct error *err);

#endif
