/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of a program in a session: one list, which `run` applies and `env` prints.
 *
 * A program under Aliquot needs only the session's name. The limits are added, so that a program
 * that starts after the session was removed creates the same session again instead of failing. All
 * other variables that request limits are removed, because those requests have already been granted
 * or refused.
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
        const char *session;     /* name of the session; "": its name is made from its limits */
        const char *runtime_dir; /* "": one of the usual folders */
        bool with_limits; /* false: the program only joins, with the limits that the session has */
};

/* Makes the list of variables for a program; it is valid until the command ends. */
int exports_make(const struct exports_about *about, struct exports *ret, struct error *err);

/* Sets and removes the variables in this process's environment. */
int exports_apply(const struct exports *exports, struct error *err);

/* Returns whether no later entry has the same name. The list can remove a variable and set it
 * later. */
bool exports_is_last(const struct exports *exports, unsigned at);

/* Prints the variables as lines for a shell. */
void exports_print(const struct exports *exports, FILE *stream);

#endif
