/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/options.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"

enum {
        KEY_CHECK_CONFIG = 256,
        KEY_PRINT_CONFIG,
        KEY_RUNTIME_DIR,
        KEY_STATE_DIR,
        KEY_HTTP,
        KEY_TOKEN_FILE,
        KEY_SIM,
        KEY_RESET_DATABASE,
        KEY_UNTIL_EMPTY,
};

static const struct argp_option argp_options[] = {
        { "config", 'c', "FILE", 0,
          "Read this instead of " OPTIONS_CONFIG " (root) or ~/.config/aliquot/aliquotd.conf", 1 },
        { "check-config", KEY_CHECK_CONFIG, NULL, 0,
          "Say what is wrong with the config, and exit: 0 if nothing is", 1 },
        { "print-config", KEY_PRINT_CONFIG, NULL, 0,
          "Print every key with its meaning and present value, and exit", 1 },
        { "runtime-dir", KEY_RUNTIME_DIR, "DIR", 0, "Folder of the sessions and the socket", 2 },
        { "state-dir", KEY_STATE_DIR, "DIR", 0, "Folder of the database", 2 },
        { "http", KEY_HTTP, "ADDR:PORT", 0, "Listen on TCP too, as on 127.0.0.1:9420", 2 },
        { "token-file", KEY_TOKEN_FILE, "FILE", 0, "Secret of administrators over TCP", 2 },
        { "sim", KEY_SIM, "SPEC", OPTION_ARG_OPTIONAL, "Simulated GPUs, as in gpus=2,memory=16GiB",
          2 },
        { "reset-database", KEY_RESET_DATABASE, NULL, 0,
          "Put the database aside and begin with an empty one", 3 },
        { "until-empty", KEY_UNTIL_EMPTY, NULL, 0,
          "End with the last session, or if none comes within a minute", 3 },
        { 0 },
};

static void add_flag(struct options *options, struct argp_state *state, const char *flag,
                     const char *key, const char *value)
{
        for (unsigned i = 0; i < options->flag_count; i++) {
                if (strcmp(options->flag[i].key, key) == 0)
                        argp_error(state, "%s is given twice", flag);
        }
        /* The array has one element for each of these flags. */
        options->flag[options->flag_count++] = (struct options_flag){ flag, key, value };
}

static error_t parse(int key, char *value, struct argp_state *state)
{
        struct options *options = state->input;

        switch (key) {
        case 'c':
                options->config = value;
                return 0;
        case KEY_CHECK_CONFIG:
                options->must_check_config = true;
                return 0;
        case KEY_PRINT_CONFIG:
                options->must_print_config = true;
                return 0;
        case KEY_RUNTIME_DIR:
                add_flag(options, state, "--runtime-dir", "daemon.runtime_dir", value);
                return 0;
        case KEY_STATE_DIR:
                add_flag(options, state, "--state-dir", "daemon.state_dir", value);
                return 0;
        case KEY_HTTP:
                add_flag(options, state, "--http", "http.address", value);
                return 0;
        case KEY_TOKEN_FILE:
                add_flag(options, state, "--token-file", "http.token_file", value);
                return 0;
        case KEY_SIM:
                options->is_simulated = true;
                options->sim = value ? value : "";
                return 0;
        case KEY_RESET_DATABASE:
                options->must_reset_database = true;
                return 0;
        case KEY_UNTIL_EMPTY:
                options->is_until_empty = true;
                return 0;
        case ARGP_KEY_ARG:
                argp_error(state, "%s: expected no argument", value);
                return EINVAL;
        default:
                return ARGP_ERR_UNKNOWN;
        }
}

void options_parse(int argc, char **argv, struct options *ret)
{
        static const struct argp argp = {
                .options = argp_options,
                .parser = parse,
                .doc = "The node's daemon: owns the sessions that share its GPUs.\v"
                       "It stays in the foreground. Programs under a limit need it neither to run "
                       "nor to "
                       "be held to the limit: it can be stopped and started under them.",
        };
        struct options options = { .sim = "" };

        argp_program_version = "aliquotd " ALIQUOT_VERSION;
        argp_err_exit_status = OPTIONS_WRONG;
        if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
                exit(OPTIONS_WRONG);
        /* As for the command aliquot: ALIQUOT_SIM selects the simulator, unless
         * ALIQUOT_REAL_LIBNVML names a driver. */
        if (getenv("ALIQUOT_SIM") && !getenv("ALIQUOT_REAL_LIBNVML"))
                options.is_simulated = true;
        *ret = options;
}

/* Finds a folder of the user: aliquot in the folder that `variable` names, or `below`/aliquot in
 * the home folder. -ENOENT: there is no home folder. */
static int user_folder(const char *variable, const char *below, char ret[CONFIG_PATH_BYTES])
{
        const char *said = getenv(variable);
        const char *home = getenv("HOME");

        if (said && said[0] == '/')
                return text_put(ret, CONFIG_PATH_BYTES, NULL, "%s/aliquot", said);
        if (home && home[0] == '/')
                return text_put(ret, CONFIG_PATH_BYTES, NULL, "%s/%s/aliquot", home, below);
        return -ENOENT;
}

/* Finds the configuration file at its usual path; "": it does not exist. */
static void find_file(char ret[CONFIG_PATH_BYTES])
{
        char folder[CONFIG_PATH_BYTES];

        ret[0] = '\0';
        if (geteuid() == 0)
                text_put(ret, CONFIG_PATH_BYTES, NULL, OPTIONS_CONFIG);
        else if (user_folder("XDG_CONFIG_HOME", ".config", folder) == 0)
                text_put(ret, CONFIG_PATH_BYTES, NULL, "%s/aliquotd.conf", folder);
        if (access(ret, F_OK) < 0)
                ret[0] = '\0';
}

/* Reads the environment variables of GPU Slice's server. The file and the flags override them. */
static int read_aliases(struct config *config, struct config_report *report)
{
        static const struct {
                const char *variable;
                const char *key;
        } aliases[] = {
                { "GPUSLICE_DEFAULT_TTL", "admission.ttl" },
                { "GPUSLICE_IPC_TOKEN_REQUIRED", "join.token_required" },
                { "GPUSLICE_METRICS_DEBUG", "metrics.sessions" },
        };
        int rc = 0;

        for (unsigned i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
                const char *value = getenv(aliases[i].variable);

                if (value &&
                    config_set(config, aliases[i].key, value, aliases[i].variable, report) < 0)
                        rc = -EINVAL;
        }
        return rc;
}

int options_read(const struct options *options, struct config *ret, struct config_report *report)
{
        char path[CONFIG_PATH_BYTES];
        int rc;

        config_init(ret);
        rc = read_aliases(ret, report);
        find_file(path);
        if ((options->config || path[0]) &&
            config_read_file(ret, options->config ? options->config : path, report) < 0)
                rc = -EINVAL;
        for (unsigned i = 0; i < options->flag_count; i++) {
                const struct options_flag *flag = &options->flag[i];

                if (config_set(ret, flag->key, flag->value, flag->flag, report) < 0)
                        rc = -EINVAL;
        }
        return config_check(ret, report) < 0 ? -EINVAL : rc;
}

int options_config(const struct options *options, struct config *ret, struct config_report *report)
{
        struct config config;
        int rc = options_read(options, &config, report);

        if (rc == 0)
                *ret = config;
        return rc;
}

int options_state_dir(const struct config *config, char ret[CONFIG_PATH_BYTES], struct error *err)
{
        int rc;

        if (config->state_dir[0])
                rc = text_put(ret, CONFIG_PATH_BYTES, NULL, "%s", config->state_dir);
        else if (geteuid() == 0)
                rc = text_put(ret, CONFIG_PATH_BYTES, NULL, "/var/lib/aliquot");
        else
                rc = user_folder("XDG_STATE_HOME", ".local/state", ret);
        return rc < 0 ? fail(err, rc, "no place for the database was found; say --state-dir") : 0;
}
