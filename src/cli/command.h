/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a subcommand. Each has its own file; main.c lists them.
 *
 * A command gets its own argument vector, whose argv[0] is "aliquot NAME", and returns the exit
 * status: 0 success or yes, 1 failure or no, 2 wrong arguments, 3 no daemon answers. `run` and
 * `env` return 125 if they refuse. Output goes to standard output as a table, or with --json as
 * JSON. An error goes to standard error as one line, which ends with what the user can do.
 */
#ifndef ALIQUOT_CLI_COMMAND_H
#define ALIQUOT_CLI_COMMAND_H

#include <argp.h>
#include <stdbool.h>

#include "common/error.h"

enum status {
        STATUS_YES = 0,
        STATUS_NO = 1,
        STATUS_WRONG = 2,
        STATUS_AWAY = 3, /* a daemon is needed that does not run or does not answer */
        STATUS_REFUSED = 125,
        STATUS_CANNOT_RUN = 126,
        STATUS_NOT_FOUND = 127,
};

struct command {
        const char *name;
        const char *alias; /* another name for the same command; NULL: none */
        const char *summary;
        int (*run)(int argc, char **argv);
        const struct argp *argp; /* its options; NULL: none */
        bool is_hidden;          /* for Aliquot's internal use */
};

/* All subcommands; the last entry has no name. */
extern const struct command commands[];

/* Finds a command by its name or alias. NULL: there is none. */
const struct command *command_find(const char *name);

int command_run(int argc, char **argv);
int command_env(int argc, char **argv);
int command_create(int argc, char **argv);
int command_ls(int argc, char **argv);
int command_ps(int argc, char **argv);
int command_show(int argc, char **argv);
int command_set(int argc, char **argv);
int command_renew(int argc, char **argv);
int command_rm(int argc, char **argv);
int command_events(int argc, char **argv);
int command_policy(int argc, char **argv);
int command_gpus(int argc, char **argv);
int command_top(int argc, char **argv);
int command_cdi(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_probe(int argc, char **argv);
int command_complete(int argc, char **argv);
int command_help(int argc, char **argv);
int command_version(int argc, char **argv);

extern const struct argp argp_run, argp_env, argp_create, argp_ls, argp_ps, argp_show, argp_set,
        argp_renew, argp_rm, argp_events, argp_policy, argp_gpus, argp_top, argp_cdi, argp_doctor,
        argp_bench;

/* Prints "aliquot NAME: text" on standard error. Returns `status`, or STATUS_AWAY if the error is
 * that no daemon answers. */
int command_fail(const char *name, int status, const struct error *err);

#endif
