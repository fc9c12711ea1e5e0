/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user asked for, read from flags and environment into one plain value.
 *
 * Happy path:
 *      settings_read()          flag, then ALIQUOT_*, then the names of other systems
 *      !is_asked                nobody asked for anything: pass through
 *      settings_name()          the session: its name, or a hash of (uid, canonical limits)
 *      settings_canonical()     the one text that equal limits share; kept in the page
 *      settings_resolve()       resolve.h: rules into bytes per GPU, once the GPUs are known
 *
 * A value that cannot be honoured is refused with a line that names the variable (or flag), the
 * value and what was expected: malformed, contradicting, misspelled, or asking for a feature that
 * is not there. Nothing is ignored but what a stronger source overrides. Pure: no heap, no clock,
 * no file, no descriptor; usable inside other people's processes.
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
#define SETTINGS_CANONICAL_BYTES 1024u /* = limits_page.created_as */
#define SETTINGS_TOKEN_BYTES 4097u     /* terminated */
#define MICRO_PERCENT_A_PPM (SIZE_MICRO_PERCENT_MAX / PAGE_WHOLE_PPM)

/* One limit: bytes or a part of the card; of compute time, a part of it. `selector` is "" for every
 * device without a rule of its own, an index in physical order, or the beginning of a UUID (lower
 * case behind GPU- or MIG-). */
struct settings_rule {
        char selector[SETTINGS_SELECTOR_BYTES];
        struct size size;
};

/* Sorted (default, indices, UUIDs), no selector twice. */
struct settings_rules {
        unsigned count;
        bool may_repeat; /* a GPU may be named by index and by UUID if both say the same */
        char origin[64]; /* the flag or variable that said it */
        struct settings_rule rule[SETTINGS_RULES];
};

/* Where a session stands among others; only a daemon sets one against the other. */
struct settings_rank {
        bool has_guarantee;
        uint32_t guarantee_micro_percent; /* at least so much of a GPU's time, if it is wanted */
        uint32_t weight;                  /* 1..10000; 0: not said; 100 is usual */
        char priority[8];                 /* "rt", "normal", "batch"; "": not said */
        bool has_gang;
        char gang[PAGE_NAME_BYTES]; /* "" with has_gang: asked for none */
};

/* A share of a GPU's time: 0.1 % is the least, and in thousandths of a percent it is kept. */
#define SETTINGS_SHARE_LEAST_MICRO_PERCENT 100000u
#define SETTINGS_SHARE_GRAIN_MICRO_PERCENT 1000u

/* As much of the host's memory as it can spare: store/ says how much that is. */
#define SETTINGS_HOST_SPARE UINT64_MAX

struct settings {
        bool is_asked;                    /* there is a session to enforce */
        char session[PAGE_NAME_BYTES];    /* "" = named by the limits */
        char session_origin[32];          /* the flag or variable that said it */
        char socket[SETTINGS_PATH_BYTES]; /* of a session to join; "" = found by its folder */
        char token[SETTINGS_TOKEN_BYTES]; /* for whoever listens there; "" = none */
        struct settings_rules memory;
        struct settings_rules compute; /* sizes are all parts: micro_percent, 0.1 % at least */
        struct settings_rank rank;
        uint64_t host_bytes;          /* of the host's memory in place of the cards'; 0: none */
        bool swaps;                   /* its memory may be moved to the host, and back */
        bool says_swap;               /* that was said, yes or no */
        char gpu[SETTINGS_GPU_BYTES]; /* selectors as given, "" = all */
        bool is_context_free;
        bool has_ttl;
        uint64_t ttl_ns;                       /* 0 with has_ttl: asked for none */
        char device_name[96];                  /* "" = the card's own */
        char runtime_dir[SETTINGS_PATH_BYTES]; /* "" = the usual places */
        struct log_config log;
};

/* A flag of the command line, stronger than every variable. */
struct settings_flag {
        const char *variable; /* the ALIQUOT_ variable that it mirrors; NULL ends the list */
        const char *flag;     /* as the user typed it, "--memory": for messages */
        const char *value;    /* NULL: not given */
};

/* For a program that has its environment alone: it can make a session, but not one that ends by
 * itself, which takes a daemon. With flags, for a command that can ask one. */
int settings_read(struct settings *ret, char *const *environment, struct error *err);
int settings_read_flags(struct settings *ret, char *const *environment,
                        const struct settings_flag *flags, struct error *err);

/* Of a privileged program (common/environment.h) instead of settings_read(): its environment gives
 * it nothing, neither a limit nor a log, and refuses it the GPU where a variable asks for a limit
 * or names a session. To pass that over would lift the limit for whoever can start such a program;
 * to make the session would write where that user says, with the program's rights. */
int settings_check_privileged(char *const *environment, struct error *err);

/* Of a program whose session is given to it, by this socket: of its own words those about the log
 * and the token of who joins count, and what is wrong with them is nothing. NULL: no words. */
void settings_read_given(struct settings *ret, const char *socket, char *const *environment);

/* The runtime folder that the environment says, as settings.runtime_dir; "": the usual places. */
int settings_read_folder(char *const *environment, char ret[SETTINGS_PATH_BYTES],
                         struct error *err);

/* Every variable that says something about limits, devices or the session (not logs or folders):
 * a command that made a session for a child takes them out of the child's environment. */
bool settings_is_limit_variable(const char *name);

/* The limits in canonical words, e.g. "memory=8589934592,0=25%;compute=30%;context=free;name=Some
 * card". */
int settings_canonical(const struct settings *settings, char ret[SETTINGS_CANONICAL_BYTES],
                       struct error *err);

/* The same for people: "memory=4GiB" for "memory=4294967296". Cut where it does not fit. */
const char *settings_shown(const char *canonical, char *ret, size_t bytes);

/* Rules as they are given: "8589934592,0=25%". */
void settings_spell(const struct settings_rules *rules, struct text *text);

/* Names that nobody gave: whoever knows a program's user and limits can say its session's. None but
 * that user's programs make such a session, so a daemon makes none. */
#define SETTINGS_HASH_STEM "env-"

/* `session`, or SETTINGS_HASH_STEM and a hash of uid and canonical limits. */
int settings_name(const struct settings *settings, uint32_t uid, char ret[PAGE_NAME_BYTES],
                  struct error *err);

/* [A-Za-z0-9._-], 1..63 characters, no leading dot. */
int settings_check_name(const char *origin, const char *name, struct error *err);

#endif
