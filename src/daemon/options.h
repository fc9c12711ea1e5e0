/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquotd's command line, and the one config that comes of it and the file.
 *
 *      options_parse(argc, argv, &options);            // exits with 2 when called wrong
 *      options_config(&options, &config, &report);     // at the start, and again on SIGHUP
 *
 * A flag is stronger than the file. The file is the one of --config, which must be there; else
 * OPTIONS_CONFIG, or for who is not root aliquot/aliquotd.conf in $XDG_CONFIG_HOME or ~/.config,
 * which need not be.
 */
#ifndef ALIQUOT_DAEMON_OPTIONS_H
#define ALIQUOT_DAEMON_OPTIONS_H

#include <stdbool.h>

#include "common/error.h"
#include "daemon/config/config.h"

#define OPTIONS_CONFIG "/etc/aliquot/aliquotd.conf"
#define OPTIONS_WRONG 2 /* exit status */
#define OPTIONS_FLAGS 4u

/* A key of the config that a flag says; borrowed from argv. */
struct options_flag {
        const char *flag;
        const char *key;
        const char *value;
};

struct options {
        const char *config; /* NULL: the usual place, if it is there */
        bool must_check_config;
        bool must_print_config;
        bool must_reset_database;
        bool is_until_empty; /* it ends with the last session */
        bool is_simulated;
        const char *sim; /* "" when --sim says no more */
        unsigned flag_count;
        struct options_flag flag[OPTIONS_FLAGS];
};

void options_parse(int argc, char **argv, struct options *ret);

/* The same for whoever looks on after a mistake: *ret has what could be read. */
int options_read(const struct options *options, struct config *ret, struct config_report *report);

int options_config(const struct options *options, struct config *ret, struct config_report *report);

/* Where the database is: config->state_dir, else /var/lib/aliquot for root, else
 * $XDG_STATE_HOME/aliquot or ~/.local/state/aliquot. */
int options_state_dir(const struct config *config, char ret[CONFIG_PATH_BYTES], struct error *err);

#endif
