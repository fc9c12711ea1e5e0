/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the flags of run, env, create and set, and resolves them for this machine.
 *
 *      request_argp             a child parser: fills a struct request_flags
 *      request_read()           merges flags, environment and aliases into settings
 *      request_resolve()        ... and these into bytes for each GPU; needs a driver
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
#define REQUEST_LABELS 16u /* as many as a daemon takes */

struct request_flags {
        bool is_sim;
        const char *sim_spec; /* NULL: not given */
        /* Ends with a NULL variable. */
        struct settings_flag flag[REQUEST_FLAGS + 1];
        bool may_start_daemon; /* a daemon may be started if needed; set before */
        const char *on_end;    /* NULL: not given */
        unsigned label_count;
        const char *label[REQUEST_LABELS]; /* "key=value" */
        unsigned any_gpus;                 /* of --gpu any: how many; 0: not given */
};

struct cli_request {
        struct settings settings;
        struct installation own;
        struct own_library library;
        bool is_sim;
        bool may_lack_driver;   /* set before request_resolve(): check what can be checked */
        bool is_of_node;        /* set before: GPUs are those of the daemon, where one serves */
        bool is_daemons_choice; /* of GPUs: it resolves the limits on them */
        bool has_cards; /* false: GPUs could not be told; only limits for all of them resolve */
        struct cards cards;
        struct settings_gpus gpus;
        struct settings_limits limits;
        struct settings_selection selection; /* of --gpu; count 0: all */
};

/* For argp_child: the input of each is a struct request_flags. */
extern const struct argp request_sim_argp;     /* --sim */
extern const struct argp request_limits_argp;  /* --memory and what goes with it */
extern const struct argp request_change_argp;  /* the same of a session that is there */
extern const struct argp request_session_argp; /* --session */
extern const struct argp request_gpu_argp;     /* --gpu */
extern const struct argp request_life_argp;    /* --ttl and other flags that need a daemon */

/* The flag that needs a daemon, for a message; NULL: none does. A TTL from a variable counts too,
 * except for _asked(): it is for new sessions, and does not change an existing one. */
const char *request_daemon_wish(const struct request_flags *flags,
                                const struct cli_request *request);
const char *request_daemon_asked(const struct request_flags *flags,
                                 const struct cli_request *request);

/* Settings from flags, and from the environment unless `flags_only`. */
int request_read(const struct request_flags *flags, bool flags_only, struct cli_request *ret,
                 struct error *err);

/* Opens our library with the driver that was asked for: --sim, or the machine's. */
int request_open_driver(const struct request_flags *flags, struct cli_request *request,
                        struct error *err);

/* The cards of this machine; of a simulated GPU that does not start, what was expected. With
 * is_of_node those of the daemon that serves the runtime folder, unless a driver is named
 * (--sim, ALIQUOT_REAL_LIBNVML). */
int request_cards(struct cli_request *request, struct error *err);

/* Resolves the cards, their limits, and the selection. */
int request_resolve(struct cli_request *request, struct error *err);

/* After request_resolve(): whether this GPU was selected, by its name. */
bool request_selects(const struct cli_request *request, const uint8_t uuid[16]);

/* After request_resolve(): excludes all GPUs that were not selected, including later ones. */
void request_bound(struct cli_request *request);

#endif
