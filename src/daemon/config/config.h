/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's configuration: an INI file, whose values flags override. One table (config_keys.c)
 * holds the type, default, range and meaning of each key; reading, checking, printing and the
 * manual use it. The sections that begin with "policy" have a table of their own (config_policy.h).
 *
 *      config_init(&config);                           // the defaults
 *      config_read_file(&config, path, &report);
 *      config_set(&config, "http.address", value, "--http", &report);
 *      config_check(&config, &report);                 // checks keys against each other
 *
 * Each mistake is a line of the report, with file and line (or flag, or variable), key, value, and
 * what was expected. Reading continues after a mistake, so that all are reported; after a negative
 * result the caller discards the config. On a reload the file is read into a new config, from which
 * the keys are copied that may change while the daemon runs. Unknown keys, repeated keys and values
 * out of range are mistakes. A word of an older version is accepted with a warning. No function
 * allocates memory; every text is terminated.
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

/* Where each key was set, for messages. Arrays are indexed like config_keys. */
struct config_places {
        char file[CONFIG_PATH_BYTES];
        uint32_t line[CONFIG_KEYS_MAX];     /* line in the file; 0: not set there */
        const char *other[CONFIG_KEYS_MAX]; /* the flag or variable that set it; NULL: none */
        uint64_t refused;                   /* one bit per key: its value was a mistake */
};

struct config {
        char runtime_dir[CONFIG_PATH_BYTES]; /* "": the default folders, see store_find() */
        char state_dir[CONFIG_PATH_BYTES];   /* "": the default folders, see options_state_dir() */
        enum log_level log_level;

        char http_address[CONFIG_NAME_BYTES]; /* "": no TCP; otherwise address_parse() accepts it */
        bool is_remote_allowed;
        char token_file[CONFIG_PATH_BYTES]; /* "": nobody can change anything over TCP */
        bool is_token_required;             /* the token is needed over TCP, even to read */
        uint32_t connections_max;
        uint32_t peer_connections_max;
        uint32_t rate_per_second; /* requests per peer; 0: no limit */
        uint32_t rate_burst;      /* requests of a peer that may come at once */
        uint64_t body_bytes_max;
        uint64_t header_bytes_max;
        /* for a whole request to arrive, and for its answer to be sent */
        uint64_t request_timeout_ns;
        uint64_t idle_timeout_ns; /* time between two requests of a connection */

        uint32_t socket_mode;
        char socket_group[CONFIG_NAME_BYTES]; /* name or number; "": the daemon's own group */

        char join_token_file[CONFIG_PATH_BYTES]; /* "": no token is needed to join */
        bool is_join_token_required;
        uint32_t join_connections_max;
        uint32_t join_session_connections_max;
        uint32_t join_rate_per_second; /* joins per session; 0: no limit */
        uint32_t join_rate_burst;
        uint64_t join_timeout_ns; /* time for a HELLO to arrive */

        char profiles[CONFIG_PATH_BYTES]; /* each is valid for profile_parse(); "": none */
        /* how long to wait for room on a full card; 0: refused at once */
        uint64_t profiles_wait_ns;
        uint32_t door_connections_max;

        struct sessions_policy policy;
        bool is_swap_default; /* default for sessions whose request does not mention swap */
        struct swap_rules swap;
        bool kills_stuck; /* end the programs of a session that is overdue */
        /* every user may create sessions whose contexts are not charged; false: only
         * administrators */
        bool may_all_free_contexts;
        struct watch_policy watch;               /* without grace_ns, which is `policy.grace_ns` */
        struct claims_policy claims;             /* settings of core/claims.h */
        char managed_cgroups[CONFIG_PATH_BYTES]; /* see identity_is_in(); "": none */
        bool has_leases;
        bool has_session_metrics;
        uint32_t audit_days; /* days for which events are kept; 0: for ever */
        uint64_t audit_rows; /* number of events that are kept; 0: no limit */

        struct policy rules; /* the limits on what users may have: config_policy.h */

        struct config_places places; /* must be the last member: all members before it are values */
};

/* One line per mistake, as many as fit; `count` is the number of all mistakes. */
struct config_report {
        unsigned count;
        char text[8192];
};

/* Adds a mistake to the report; returns -EINVAL. */
int config_report_add(struct config_report *report, const char *mistake);

void config_init(struct config *ret);

/* Reads a file, or a text with this `name` for the report. 0, or negative: the file cannot be read,
 * or there are mistakes. */
int config_read_file(struct config *config, const char *path, struct config_report *report);
int config_read_text(struct config *config, const char *name, const char *text, size_t length,
                     struct config_report *report);

/* Sets one key. `key` is "section.name" and must be in the table; `origin` names the source of the
 * value. */
int config_set(struct config *config, const char *key, const char *value, const char *origin,
               struct config_report *report);

/* Returns where the key ("section.name") was set: "FILE:LINE: ", "--flag: " or "VARIABLE: "; "": it
 * has its default. */
const char *config_place(const struct config *config, const char *key,
                         char ret[CONFIG_PLACE_BYTES]);

/* Whether the key was set to a value that was a mistake, so that it has its default only for that
 * reason. */
bool config_was_refused(const struct config *config, const char *key);

/* Checks keys against each other; each is valid by itself. */
int config_check(const struct config *config, struct config_report *report);

/* Copies the values of `fresh` that may change while the daemon runs. The report names the others
 * that differ, which need a restart. Returns their number. */
int config_reload(struct config *config, const struct config *fresh, struct config_report *report);

/* Prints every key with its meaning and present value, as a file from which the same config can be
 * read. Default values are commented out. */
void config_print(FILE *stream, const struct config *config);

#endif
