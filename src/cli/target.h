/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the program of a command, and checks that a preloaded library would be loaded into it.
 *
 * The loader silently ignores LD_PRELOAD if it cannot or may not use it, and the program would then
 * run without limits. Therefore the program's file is searched for as a shell does, scripts are
 * followed to their interpreters, and a program that cannot be limited is refused, with advice to
 * the user.
 */
#ifndef ALIQUOT_CLI_TARGET_H
#define ALIQUOT_CLI_TARGET_H

#include <limits.h>
#include <stdbool.h>

#include "common/error.h"

struct target {
        char path[PATH_MAX]; /* path to execute */
};

/* Finds the program. Returns 0, or the exit status of the command: 125 refused, 126 not executable,
 * 127 not found. */
int target_find(const char *command, struct target *ret, struct error *err);

/* Finds the program in a line after "#!": its path, or the name that `env` must search for. False:
 * the line is empty. */
bool target_read_shebang(const char *line, char ret[PATH_MAX]);

#endif
