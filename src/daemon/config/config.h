/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon was told: an INI file, then flags. One table (config_keys.c) says of each key its
 * type, default, range and meaning; reading, checking, printing and the manual all come from it.
 * The sections that begin with "policy" have a table of their own (config_policy.h).
 *
 *      config_init(&config);                           // the defaults
 *      config_read_file(&config, path, &report);
 *      config_set(&config, "http.address", value, "--http", &report);
 *      config_check(&config, &report);                 // what no key can say alone
 *
 * Each mistake is a line of the report: file and line (or flag, or variable), key, value, and what
 * was expected. Reading goes on after one, so that all are seen at once; whoever gets a negative
 * answer throws the config away. A reload reads into a fresh config and then takes over what may
 * change while the daemon runs. Nothing is guessed: unknown keys, keys said twice and values out of
 * range are mistakes; a word of an older version is taken, with a line that warns. No heap; every
 * text is terminated.
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
#define CONFIG_FILE_MOST 65536u
#define CONFIG_KEYS_MOST 64u
#define CONFIG_PLACE_BYTES (CONFIG_PATH_BYTES + 16)

/* Where each key was said, for messages; by place in the table of keys. */
struct config_places {
        char file[CONFIG_PATH_BYTES];
        uint32_t line[CONFIG_KEYS_MOST];     /* of the file; 0: it did not say it */
        const char *other[CONFIG_KEYS_MOST]; /* the flag or variable that did; NULL: none */
        uint64_t refused;                    /* bit per key: what was said was a mistake */
};

struct config {
        char runtime_dir[CONFIG_PATH_BYTES]; /* "": the usual places, see store_find() */
        char state_dir[CONFIG_PATH_BYTES];   /* "": options_state_dir() */
        enum log_level log_level;

        char http_address[CONFIG_NAME_BYTES]; /* "": no TCP; else address_parse() takes it */
        bool is_remote_allowed;
        char token_file[CONFIG_PATH_BYTES]; /* "": nobody can change anything over TCP */
        bool is_token_required;             /* over TCP, also to read */
        uint32_t connections_most;
        uint32_t peer_connections_most;
        uint32_t rate_per_second; /* requests of one peer; 0: any number */
        uint32_t rate_burst;      /* that may come at once */
        uint64_t body_bytes_most;
        uint64_t header_bytes_most;
        uint64_t request_timeout_ns; /* for a whole request to arrive, and its answer to leave */
        uint64_t idle_timeout_ns;    /* between two requests of a connection */

        uint32_t socket_mode;
        char socket_group[CONFIG_NAME_BYTES]; /* name or number; "": the daemon's own */

        char join_token_file[CONFIG_PATH_BYTES]; /* "": nothing is asked of who joins */
        bool is_join_token_required;
        uint32_t join_connections_most;
        uint32_t join_session_connections_most;
        uint32_t join_rate_per_second; /* joins of one session; 0: any number */
        uint32_t join_rate_burst;
        uint64_t join_timeout_ns; /* for a HELLO to arrive */

        char profiles[CONFIG_PATH_BYTES]; /* profile_parse() takes each; "": none */
        uint64_t profiles_wait_ns;        /* for room on a full card; 0: refused at once */
        uint32_t door_connections_most;

        struct sessions_policy policy;
        bool is_swap_default; /* of a session without a word about it */
        struct swap_rules swap;
        bool kills_stuck;                        /* programs of a session that is overdue */
        bool may_all_free_contexts;              /* else administrators alone ask for that */
        struct watch_policy watch;               /* without its grace_ns, which is the policy's */
        struct claims_policy claims;             /* likewise */
        char managed_cgroups[CONFIG_PATH_BYTES]; /* see identity_is_in(); "": none is */
        bool has_leases;
        bool has_session_metrics;
        uint32_t audit_days; /* 0: for ever */
        uint64_t audit_rows; /* 0: any number */

        struct policy rules; /* who may take what: config_policy.h */

        struct config_places places; /* last: what is before it is the values */
};

/* One line a mistake, as many as fit; `count` counts all. */
struct config_report {
        unsigned count;
        char text[8192];
};

/* Adds a mistake to the report; returns -EINVAL. */
int config_report_add(struct config_report *report, const char *mistake);

void config_init(struct config *ret);

/* 0, or negative when the file cannot be read or holds a mistake. `name` is for the report. */
int config_read_file(struct config *config, const char *path, struct config_report *report);
int config_read_text(struct config *config, const char *name, const char *text, size_t length,
                     struct config_report *report);

/* `key` is "section.name" and of the table; `origin` says who wants it. */
int config_set(struct config *config, const char *key, const char *value, const char *origin,
               struct config_report *report);

/* "FILE:LINE: ", "--flag: " or "VARIABLE: "; "": the key ("section.name") has its default. */
const char *config_place(const struct config *config, const char *key,
                         char ret[CONFIG_PLACE_BYTES]);

/* Whether the key was said, and what was said was a mistake: its default stands for nothing. */
bool config_was_refused(const struct config *config, const char *key);

/* Checks keys against each other, where each is good by itself. */
int config_check(const struct config *config, struct config_report *report);

/* Takes over from `fresh` what may change at run time. The report names the rest that differs:
 * those need a restart, and are counted in the answer. */
int config_reload(struct config *config, const struct config *fresh, struct config_report *report);

/* Every key with its meaning and present value, as a file that reads back to the same config. A
 * value that is the default stands in a comment. */
void config_print(FILE *stream, const struct config *config);

#endif
