/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the user's settings from flags and environment into one plain value.
 *
 * In the usual case the functions are called in this order:
 *      settings_read()          reads each setting from its flag, else from its ALIQUOT_ variable,
 *                               else from the variables of other systems
 *      !settings.is_asked       means: no setting asks for a limit, so the program runs without a
 *                               session
 *      settings_name()          names the session: its given name, or a hash of the user id and the
 *                               canonical limits
 *      settings_canonical()     writes the limits as canonical text, which is the same for equal
 *                               limits; the session's page (proto/page.h) stores it
 *      settings_resolve()       turns the limits into bytes per GPU, once the GPUs are known
 *                               (resolve.h)
 *
 * A setting that cannot be honoured is refused with a message that names the variable (or flag),
 * its value and the expected form. That applies to malformed, contradicting and misspelled
 * settings, and to features that are missing. Only a value that a stronger source overrides is
 * ignored. The functions use no heap, clock, file or descriptor, so they may run inside other
 * people's processes.
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
#define SETTINGS_CANONICAL_BYTES 1024u /* the size of limits_page.created_as */
#define SETTINGS_TOKEN_BYTES 4097u     /* with the terminating NUL */
#define MICRO_PERCENT_A_PPM (SIZE_MICRO_PERCENT_MAX / PAGE_WHOLE_PPM)

/* A limit on one GPU, or on all GPUs without a rule of their own. A memory limit is in bytes or a
 * part of the card's memory; a compute limit is a part of the GPU's time. `selector` is an index in
 * physical order, or the beginning of a UUID (lower case after GPU- or MIG-); "" selects all GPUs
 * that no other rule names. */
struct settings_rule {
        char selector[SETTINGS_SELECTOR_BYTES];
        struct size size;
};

/* The rules for memory, or those for compute. Sorted: the default (selector ""), then indices, then
 * UUIDs. No selector occurs twice. */
struct settings_rules {
        unsigned count;
        bool may_repeat; /* an index and a UUID may name one GPU if their sizes are equal */
        char origin[64]; /* flag or variable that set the rules */
        struct settings_rule rule[SETTINGS_RULES];
};

/* A session's rank among others, which a daemon uses to divide GPU time between sessions. */
struct settings_rank {
        bool has_guarantee;
        /* minimum share of a GPU's time while the session wants it */
        uint32_t guarantee_micro_percent;
        uint32_t weight;  /* 1..10000; 0: not set, which counts as 100 */
        char priority[8]; /* "rt", "normal" or "batch"; "": not set */
        bool has_gang;
        char gang[PAGE_NAME_BYTES]; /* with has_gang and "", the session leaves its gang */
};

/* A share of a GPU's time is at least 0.1 % and a multiple of 0.001 %. */
#define SETTINGS_SHARE_MIN_MICRO_PERCENT 100000u
#define SETTINGS_SHARE_GRAIN_MICRO_PERCENT 1000u

/* Value of settings.host_bytes for as much host memory as the machine can spare; store/ computes
 * the amount. */
#define SETTINGS_HOST_SPARE UINT64_MAX

struct settings {
        /* a setting asks for a limit, so the program runs in a session */
        bool is_asked;
        char session[PAGE_NAME_BYTES]; /* session name; "": derived from the limits */
        char session_origin[32];       /* flag or variable that set `session` */
        /* socket of the session to join; "": none, the session is found in the runtime folder */
        char socket[SETTINGS_PATH_BYTES];
        char token[SETTINGS_TOKEN_BYTES]; /* join token sent to that socket; "": none */
        struct settings_rules memory;
        /* every size is a share of time (micro_percent), at least 0.1 % */
        struct settings_rules compute;
        struct settings_rank rank;
        /* host memory that the session may use in place of card memory; 0: none */
        uint64_t host_bytes;
        bool swaps;                   /* the session's memory may be moved to the host and back */
        bool says_swap;               /* `swaps` was set explicitly, to yes or no */
        char gpu[SETTINGS_GPU_BYTES]; /* list of GPU selectors, as given; "": all GPUs */
        bool is_context_free;         /* contexts are not charged to the memory limit */
        bool has_ttl;                 /* `ttl_ns` was set */
        /* lifetime of the session, ns; 0: it does not end by itself */
        uint64_t ttl_ns;
        /* name that programs see for the card; "": the card's own */
        char device_name[96];
        char runtime_dir[SETTINGS_PATH_BYTES]; /* "": the default folders */
        struct log_config log;
};

/* A command-line flag. It overrides all variables for the same setting. */
struct settings_flag {
        const char *variable; /* the ALIQUOT_ variable for the same setting; NULL ends the list */
        const char *flag;     /* the flag as typed, for example "--memory"; for messages */
        const char *value;    /* NULL: the flag was not given */
};

/* Read all settings. settings_read() is for a program that has only its environment. Such a program
 * can create a session, but refuses a setting that needs a daemon, such as a time to live.
 * settings_read_flags() is for a command, which also has flags and can ask a daemon. */
int settings_read(struct settings *ret, char *const *environment, struct error *err);
int settings_read_flags(struct settings *ret, char *const *environment,
                        const struct settings_flag *flags, struct error *err);

/* Checks the environment of a privileged program (common/environment.h), which calls this instead
 * of settings_read(): it applies no limit and no log setting from its environment. If a variable
 * asks for a limit or names a session, the program is refused the GPU. Ignoring the variable would
 * lift the limit for any user who can start such a program. Creating the session would write to a
 * folder that this user chose, with the program's rights. */
int settings_check_privileged(char *const *environment, struct error *err);

/* Reads the settings of a program whose session was given to it by `socket`. Only the log
 * settings and the join token are read from `environment`, and malformed ones are ignored. NULL:
 * no variables. */
void settings_read_given(struct settings *ret, const char *socket, char *const *environment);

/* Reads only the runtime folder, as for settings.runtime_dir; "": the default folders. */
int settings_read_folder(char *const *environment, char ret[SETTINGS_PATH_BYTES],
                         struct error *err);

/* Whether the variable sets a limit, a device or the session (not a log or a folder). A command
 * that made a session for a child removes such variables from the child's environment. */
bool settings_is_limit_variable(const char *name);

/* Writes the limits as canonical text, such as
 * "memory=8589934592,0=25%;compute=30%;context=free". */
int settings_canonical(const struct settings *settings, char ret[SETTINGS_CANONICAL_BYTES],
                       struct error *err);

/* Writes canonical limits for display: "memory=4GiB" for "memory=4294967296". Cuts the text if it
 * does not fit. Returns `ret`. */
const char *settings_shown(const char *canonical, char *ret, size_t bytes);

/* Appends the rules to `text` in the form in which the user gives them: "8589934592,0=25%". */
void settings_spell(const struct settings_rules *rules, struct text *text);

/* Prefix of session names that are derived from a hash. Anyone who knows a program's user and
 * limits can compute this name. Only programs of that user create such a session; a daemon
 * creates none. */
#define SETTINGS_HASH_STEM "env-"

/* Writes the session's name: settings.session if it is set, else SETTINGS_HASH_STEM and a hash of
 * `uid` and the canonical limits. */
int settings_name(const struct settings *settings, uint32_t uid, char ret[PAGE_NAME_BYTES],
                  struct error *err);

/* Checks a session name: 1..63 characters of [A-Za-z0-9._-], no dot or dash first. `origin` is the
 * flag or variable for the message. */
int settings_check_name(const char *origin, const char *name, struct error *err);

#endif
