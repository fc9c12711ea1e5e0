/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the program of a command, and whether a preloaded library would be loaded into it.
 *
 * The loader silently ignores LD_PRELOAD where it cannot or may not use it; the program would then
 * run without limits. So the file is searched for as a shell does, scripts are followed to their
 * interpreters, and a program that cannot be limited is refused, with what to do about it.
 */
#ifndef ALIQUOT_CLI_TARGET_H
#define ALIQUOT_CLI_TARGET_H

#include <limits.h>
#include <stdbool.h>

#include "common/error.h"

struct target {
        char path[PATH_MAX]; /* to execute */
};

/* 0, or the status to exit with: 125 refused, 126 not executable, 127 not found. */
int target_find(const char *command, struct target *ret, struct error *err);

/* The program of a line after "#!": its path, or the name that `env` must find. False: an empty
 * line. */
bool target_read_shebang(const char *line, char ret[PATH_MAX]);

#endif
