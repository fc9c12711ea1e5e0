/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the flags of run, env, create and set, and resolves them for this machine.
 *
 *      request_argp         child parsers, which fill a struct request_flags
 *      request_read()       merges flags, environment and aliases into settings
 *      request_resolve()    turns the settings into bytes for each GPU; needs a driver
 */
#ifndef ALIQUOT_CLI_REQUEST_H
#define ALIQUOT_CLI_REQUEST_H

#include <argp.h>
#include <stdbool.h>

#include "machine/cards.h"
#include "cli/library.h"
#include "machine/installation.h"
#include "settings/settings.h"

#define REQUEST_FLAGS 13u
#define REQUEST_LABELS 16u /* the most that a daemon accepts */

struct request_flags {
        bool is_sim;
        const char *sim_spec; /* NULL: not given */
        /* The last entry has the variable NULL. */
        struct settings_flag flag[REQUEST_FLAGS + 1];
        /* a daemon may be started if one is needed; the command sets it before */
        bool may_start_daemon;
        const char *on_end; /* NULL: not given */
        unsigned label_count;
        const char *label[REQUEST_LABELS]; /* "key=value" */
        unsigned any_gpus;                 /* number of GPUs in --gpu any; 0: not given */
};

struct cli_request {
        struct settings settings;
        struct installation own;
        struct own_library library;
        bool is_sim;
        /* set before request_resolve(): if there is no driver, check what can be checked without
         * it */
        bool may_lack_driver;
        /* set before request_resolve(): use the GPUs of the daemon, if one serves */
        bool is_of_node;
        bool is_daemons_choice; /* the daemon chooses the GPUs and resolves the limits on them */
        bool has_cards; /* false: the GPUs are unknown; only limits for all GPUs can be resolved */
        struct cards cards;
        struct settings_gpus gpus;
        struct settings_limits limits;
        struct settings_selection selection; /* the GPUs of --gpu; count 0: all */
};

/* Parsers for struct argp_child. The input of each is a struct request_flags. */
extern const struct argp request_sim_argp;     /* --sim */
extern const struct argp request_limits_argp;  /* --memory and the flags that belong to it */
extern const struct argp request_change_argp;  /* the same flags for a session that exists */
extern const struct argp request_session_argp; /* --session */
extern const struct argp request_gpu_argp;     /* --gpu */
extern const struct argp request_life_argp;    /* --ttl and other flags that need a daemon */

/* Return the flag that needs a daemon, for a message; NULL: none does. For request_daemon_wish(), a
 * TTL from a variable counts too. Not for request_daemon_asked(): the variable is for new sessions,
 * and does not change an existing one. */
const char *request_daemon_wish(const struct request_flags *flags,
                                const struct cli_request *request);
const char *request_daemon_asked(const struct request_flags *flags,
                                 const struct cli_request *request);

/* Makes settings from the flags and, unless `flags_only`, from the environment. */
int request_read(const struct request_flags *flags, bool flags_only, struct cli_request *ret,
                 struct error *err);

/* Opens Aliquot's library with the requested driver: the simulator (--sim) or the machine's. */
int request_open_driver(const struct request_flags *flags, struct cli_request *request,
                        struct error *err);

/* Lists the cards of this machine. If a simulated GPU does not start, the error says what was
 * expected. With is_of_node, lists the cards of the daemon that serves the runtime folder, unless a
 * driver is requested (--sim, ALIQUOT_REAL_LIBNVML). */
int request_cards(struct cli_request *request, struct error *err);

/* Resolves the cards, the limits on them, and the selection. */
int request_resolve(struct cli_request *request, struct error *err);

/* After request_resolve(): returns whether the GPU with this UUID was selected. */
bool request_selects(const struct cli_request *request, const uint8_t uuid[16]);

/* After request_resolve(): excludes all GPUs that were not selected, including GPUs that are added
 * later. */
void request_bound(struct cli_request *request);

#endif
