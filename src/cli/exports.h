/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of a program in a session: the one list that `run` applies and `env` prints.
 *
 * The session's name says it all to a program of ours; the limits go with it, so that a program
 * that starts when the session was removed makes the same one again instead of failing. Every
 * other variable that asks for limits is taken away: what it asked for was granted or refused.
 */
#ifndef ALIQUOT_CLI_EXPORTS_H
#define ALIQUOT_CLI_EXPORTS_H

#include <stdio.h>

#include "cli/request.h"

#define EXPORTS_MAX 64u

struct export
{
        char *name;
        char *value; /* NULL: take it away */
};

struct exports {
        unsigned count;
        struct export entry[EXPORTS_MAX];
};

struct exports_about {
        const struct cli_request *request;
        const char *session;     /* "" = named by its limits */
        const char *runtime_dir; /* "" = the usual */
        bool with_limits;        /* else whoever joins takes what there is */
};

/* Makes the variables for a program; they live as long as the command. */
int exports_make(const struct exports_about *about, struct exports *ret, struct error *err);

/* Puts the variables into our own environment. */
int exports_apply(const struct exports *exports, struct error *err);

/* Whether no later entry is of the same name: a variable may be taken away and then set. */
bool exports_is_last(const struct exports *exports, unsigned at);

/* Prints the variables as lines for a shell. */
void exports_print(const struct exports *exports, FILE *stream);

#endif
