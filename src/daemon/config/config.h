/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's configuration: an INI file, then flags. One table (config_keys.c) holds the type,
 * default, range and meaning of each key; reading, checking, printing and the manual use it. The
 * sections that begin with "policy" have a table of their own (config_policy.h).
 *
 *      config_init(&config);                           // the defaults
 *      config_read_file(&config, path, &report);
 *      config_set(&config, "http.address", value, "--http", &report);
 *      config_check(&config, &report);                 // what no key can say alone
 *
 * Each mistake is a line of the report: file and line (or flag, or variable), key, value, and the
 * expected value. Reading continues after a mistake, to report all of them; after a negative result
 * the caller discards the config. A reload reads into a new config and then takes over the keys
 * that may change while the daemon runs. Unknown keys, repeated keys and values out of range are
 * mistakes; a word of an older version is accepted with a warning. No heap; every text is
 * terminated.
 */
#ifndef ALIQUOT_DAEMON_CONFIG_CONFIG_H
#define ALIQUOT_DAEMON_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/log.h"
#include "core/claims.h"
#include "core/sessions.h"
#include "core/swap.h"
#include "core/watch.h"

#define CONFIG_PATH_BYTES 1024u
#define CONFIG_NAME_BYTES 64u
#define CONFIG_FILE_MAX 65536u
#define CONFIG_KEYS_MAX 64u
#define CONFIG_PLACE_BYTES (CONFIG_PATH_BYTES + 16)

/* Where each key was set, for messages; by its index in the table of keys. */
struct config_places {
        char file[CONFIG_PATH_BYTES];
        uint32_t line[CONFIG_KEYS_MAX];     /* of the file; 0: not set there */
        const char *other[CONFIG_KEYS_MAX]; /* the flag or variable that set it; NULL: none */
        uint64_t refused;                   /* a bit per key: its value was a mistake */
};

struct config {
        char runtime_dir[CONFIG_PATH_BYTES]; /* "": the default places, see store_find() */
        char state_dir[CONFIG_PATH_BYTES];   /* "": options_state_dir() */
        enum log_level log_level;

        char http_address[CONFIG_NAME_BYTES]; /* "": no TCP; otherwise address_parse() accepts it */
        bool is_remote_allowed;
        char token_file[CONFIG_PATH_BYTES]; /* "": nobody can change anything over TCP */
        bool is_token_required;             /* over TCP, even to read */
        uint32_t connections_most;
        uint32_t peer_connections_most;
        uint32_t rate_per_second; /* requests per peer; 0: no limit */
        uint32_t rate_burst;      /* requests that may come at once */
        uint64_t body_bytes_most;
        uint64_t header_bytes_most;
        uint64_t request_timeout_ns; /* for a whole request to arrive, and its answer to leave */
        uint64_t idle_timeout_ns;    /* between two requests of a connection */

        uint32_t socket_mode;
        char socket_group[CONFIG_NAME_BYTES]; /* name or number; "": the daemon's own */

        char join_token_file[CONFIG_PATH_BYTES]; /* "": joiners need no token */
        bool is_join_token_required;
        uint32_t join_connections_most;
        uint32_t join_session_connections_most;
        uint32_t join_rate_per_second; /* joins per session; 0: no limit */
        uint32_t join_rate_burst;
        uint64_t join_timeout_ns; /* for a HELLO to arrive */

        char profiles[CONFIG_PATH_BYTES]; /* profile_parse() accepts each; "": none */
        uint64_t profiles_wait_ns;        /* for room on a full card; 0: refused at once */
        uint32_t door_connections_most;

        struct sessions_policy policy;
        bool is_swap_default; /* for a session whose request does not mention swap */
        struct swap_rules swap;
        bool kills_stuck;            /* the programs of an overdue session */
        bool may_all_free_contexts;  /* otherwise only administrators may ask for that */
        struct watch_policy watch;   /* without grace_ns, which is in `policy` */
        struct claims_policy claims; /* the same */
        char managed_cgroups[CONFIG_PATH_BYTES]; /* see identity_is_in(); "": none is */
        bool has_leases;
        bool has_session_metrics;
        uint32_t audit_days; /* 0: kept for ever */
        uint64_t audit_rows; /* 0: no limit */

        struct policy rules; /* what users may take: config_policy.h */

        struct config_places places; /* last: all fields before it are values */
};

/* One line per mistake, as many as fit; `count` counts all. */
struct config_report {
        unsigned count;
        char text[8192];
};

/* Adds a mistake to the report; returns -EINVAL. */
int config_report_add(struct config_report *report, const char *mistake);

void config_init(struct config *ret);

/* 0, or negative if the file cannot be read or has a mistake. `name` is for the report. */
int config_read_file(struct config *config, const char *path, struct config_report *report);
int config_read_text(struct config *config, const char *name, const char *text, size_t length,
                     struct config_report *report);

/* `key` is "section.name" and in the table; `origin` names the source of the value. */
int config_set(struct config *config, const char *key, const char *value, const char *origin,
               struct config_report *report);

/* "FILE:LINE: ", "--flag: " or "VARIABLE: ", where the key ("section.name") was set; "": it has its
 * default. */
const char *config_place(const struct config *config, const char *key,
                         char ret[CONFIG_PLACE_BYTES]);

/* Whether the key was set to a mistaken value, so that its default means nothing. */
bool config_was_refused(const struct config *config, const char *key);

/* Checks keys against each other; each is valid alone. */
int config_check(const struct config *config, struct config_report *report);

/* Takes over the values of `fresh` that may change at run time. The report names the others that
 * differ: they need a restart. Returns their number. */
int config_reload(struct config *config, const struct config *fresh, struct config_report *report);

/* Prints every key with its meaning and present value, as a file that reads back to the same
 * config. A default value is commented out. */
void config_print(FILE *stream, const struct config *config);

#endif
