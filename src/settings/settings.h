/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the user's settings from flags and environment into one plain value.
 *
 * Happy path:
 *      settings_read()          flag, then ALIQUOT_*, then the names of other systems
 *      !is_asked                nobody asked for anything: pass through
 *      settings_name()          the session: its name, or a hash of (uid, canonical limits)
 *      settings_canonical()     the one text that equal limits share; kept in the page
 *      settings_resolve()       resolve.h: rules into bytes per GPU, once the GPUs are known
 *
 * A value that cannot be honoured is refused with a line that names the variable (or flag), the
 * value and what was expected: malformed, contradicting, misspelled, or asking for a missing
 * feature. Only a value that a stronger source overrides is ignored. Pure: no heap, no clock, no
 * file, no descriptor; usable inside other people's processes.
 */
#ifndef ALIQUOT_SETTINGS_SETTINGS_H
#define ALIQUOT_SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/log.h"
#include "common/text.h"
#include "common/units.h"
#include "proto/page.h"

#define SETTINGS_RULES 32u
#define SETTINGS_SELECTOR_BYTES 48u
#define SETTINGS_GPU_BYTES 1024u
#define SETTINGS_PATH_BYTES 1024u
#define SETTINGS_CANONICAL_BYTES 1024u /* as limits_page.created_as */
#define SETTINGS_TOKEN_BYTES 4097u     /* terminated */
#define MICRO_PERCENT_A_PPM (SIZE_MICRO_PERCENT_MAX / PAGE_WHOLE_PPM)

/* One limit: bytes or a part of the card; for compute time, a part of it. `selector` is "" for
 * every device without its own rule, an index in physical order, or the beginning of a UUID (lower
 * case after GPU- or MIG-). */
struct settings_rule {
        char selector[SETTINGS_SELECTOR_BYTES];
        struct size size;
};

/* Sorted (default, indices, UUIDs), no selector twice. */
struct settings_rules {
        unsigned count;
        bool may_repeat; /* index and UUID may name the same GPU if both values are the same */
        char origin[64]; /* the flag or variable that set it */
        struct settings_rule rule[SETTINGS_RULES];
};

/* Rank of a session among others; only a daemon weighs sessions against each other. */
struct settings_rank {
        bool has_guarantee;
        uint32_t guarantee_micro_percent; /* minimum share of a GPU's time, while wanted */
        uint32_t weight;                  /* 1..10000; 0: not set; the default is 100 */
        char priority[8];                 /* "rt", "normal", "batch"; "": not set */
        bool has_gang;
        char gang[PAGE_NAME_BYTES]; /* "" with has_gang: no gang */
};

/* A share of a GPU's time: minimum 0.1 %, stored in thousandths of a percent. */
#define SETTINGS_SHARE_MIN_MICRO_PERCENT 100000u
#define SETTINGS_SHARE_GRAIN_MICRO_PERCENT 1000u

/* As much host memory as can be spared: store/ determines how much. */
#define SETTINGS_HOST_SPARE UINT64_MAX

struct settings {
        bool is_asked;                    /* there is a session to enforce */
        char session[PAGE_NAME_BYTES];    /* "": named by the limits */
        char session_origin[32];          /* the flag or variable that set it */
        char socket[SETTINGS_PATH_BYTES]; /* of a session to join; "": found by its folder */
        char token[SETTINGS_TOKEN_BYTES]; /* for the server of that socket; "": none */
        struct settings_rules memory;
        struct settings_rules compute; /* every size is a part: micro_percent, at least 0.1 % */
        struct settings_rank rank;
        uint64_t host_bytes;          /* of host memory in place of card memory; 0: none */
        bool swaps;                   /* its memory may be moved to the host, and back */
        bool says_swap;               /* that was set, to yes or no */
        char gpu[SETTINGS_GPU_BYTES]; /* selectors as given; "": all */
        bool is_context_free;
        bool has_ttl;
        uint64_t ttl_ns;                       /* 0 with has_ttl: none */
        char device_name[96];                  /* "": the card's own */
        char runtime_dir[SETTINGS_PATH_BYTES]; /* "": the default places */
        struct log_config log;
};

/* A flag of the command line; overrides every variable. */
struct settings_flag {
        const char *variable; /* the ALIQUOT_ variable that it mirrors; NULL ends the list */
        const char *flag;     /* as the user typed it, "--memory": for messages */
        const char *value;    /* NULL: not given */
};

/* The first is for a program that has only its environment: it can make a session, but not one that
 * ends by itself, which needs a daemon. The second, with flags, is for a command that can ask a
 * daemon. */
int settings_read(struct settings *ret, char *const *environment, struct error *err);
int settings_read_flags(struct settings *ret, char *const *environment,
                        const struct settings_flag *flags, struct error *err);

/* For a privileged program (common/environment.h), instead of settings_read(): its environment sets
 * neither a limit nor a log. If a variable asks for a limit or names a session, the program is
 * refused the GPU. Ignoring the variable would lift the limit for any user who can start such a
 * program; making the session would write where that user says, with the program's rights. */
int settings_check_privileged(char *const *environment, struct error *err);

/* For a program that was given its session by this socket: of its own settings only the log and the
 * token for joining count, and mistakes in them are ignored. NULL: no settings. */
void settings_read_given(struct settings *ret, const char *socket, char *const *environment);

/* The runtime folder from the environment, as settings.runtime_dir; "": the default places. */
int settings_read_folder(char *const *environment, char ret[SETTINGS_PATH_BYTES],
                         struct error *err);

/* Whether the variable is about limits, devices or the session (not logs or folders): a command
 * that made a session for a child removes it from the child's environment. */
bool settings_is_limit_variable(const char *name);

/* The limits as canonical text, e.g. "memory=8589934592,0=25%;compute=30%;context=free;name=Some
 * card". */
int settings_canonical(const struct settings *settings, char ret[SETTINGS_CANONICAL_BYTES],
                       struct error *err);

/* The same for display: "memory=4GiB" for "memory=4294967296". Cut if it does not fit. */
const char *settings_shown(const char *canonical, char *ret, size_t bytes);

/* Writes the rules in the form in which they are given: "8589934592,0=25%". */
void settings_spell(const struct settings_rules *rules, struct text *text);

/* Prefix of names that no user gave: anyone who knows a program's user and limits can compute its
 * session's name. Only that user's programs make such a session; a daemon makes none. */
#define SETTINGS_HASH_STEM "env-"

/* `session`, or else SETTINGS_HASH_STEM and a hash of uid and canonical limits. */
int settings_name(const struct settings *settings, uint32_t uid, char ret[PAGE_NAME_BYTES],
                  struct error *err);

/* Allows [A-Za-z0-9._-], 1..63 characters, no leading dot. */
int settings_check_name(const char *origin, const char *name, struct error *err);

#endif
