/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of a program in a session: one list, which `run` applies and `env` prints.
 *
 * The session's name is enough for a program under Aliquot. The limits are added, so that a program
 * that starts after the session was removed creates the same session again instead of failing. All
 * other variables that ask for limits are removed: their request was granted or refused before.
 */
#ifndef ALIQUOT_CLI_EXPORTS_H
#define ALIQUOT_CLI_EXPORTS_H

#include <stdio.h>

#include "cli/request.h"

#define EXPORTS_MAX 64u

struct export
{
        char *name;
        char *value; /* NULL: remove the variable */
};

struct exports {
        unsigned count;
        struct export entry[EXPORTS_MAX];
};

struct exports_about {
        const struct cli_request *request;
        const char *session;     /* "": named by its limits */
        const char *runtime_dir; /* "" = the usual */
        bool with_limits;        /* false: a program that joins takes the existing limits */
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
