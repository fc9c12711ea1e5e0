/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses aliquotd's command line, and combines it with the configuration file into one config.
 *
 *      options_parse(argc, argv, &options);            // exits with 2 if it is invalid
 *      options_config(&options, &config, &report);     // at the start, and again on SIGHUP
 *
 * A flag overrides the file. The file is the one given with --config, which must exist. Without
 * --config it is OPTIONS_CONFIG for root, and aliquot/aliquotd.conf in $XDG_CONFIG_HOME or
 * ~/.config for other users; it need not exist.
 */
#ifndef ALIQUOT_DAEMON_OPTIONS_H
#define ALIQUOT_DAEMON_OPTIONS_H

#include <stdbool.h>

#include "common/error.h"
#include "daemon/config/config.h"

#define OPTIONS_CONFIG "/etc/aliquot/aliquotd.conf"
#define OPTIONS_WRONG 2 /* exit status for an invalid command line or config */
#define OPTIONS_FLAGS 4u

/* A key of the config that a flag sets; the texts are borrowed from argv. */
struct options_flag {
        const char *flag;
        const char *key;
        const char *value;
};

struct options {
        const char *config; /* NULL: the usual file, if it exists */
        bool must_check_config;
        bool must_print_config;
        bool must_reset_database;
        bool is_until_empty; /* the daemon ends with its last session */
        bool is_simulated;
        const char *sim; /* argument of --sim; "" if it has none */
        unsigned flag_count;
        struct options_flag flag[OPTIONS_FLAGS];
};

void options_parse(int argc, char **argv, struct options *ret);

/* Fill in the config from the environment, the file and the flags. -EINVAL: there are mistakes,
 * which `report` lists. options_config() then leaves *ret unchanged; options_read() fills in what
 * could be read. */
int options_read(const struct options *options, struct config *ret, struct config_report *report);

int options_config(const struct options *options, struct config *ret, struct config_report *report);

/* Finds the folder of the database: config->state_dir, or else /var/lib/aliquot for root, or else
 * $XDG_STATE_HOME/aliquot or ~/.local/state/aliquot. */
int options_state_dir(const struct config *config, char ret[CONFIG_PATH_BYTES], struct error *err);

#endif
