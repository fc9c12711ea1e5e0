/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program behind a command, and whether a preloaded library would be heeded in it.
 *
 * The loader ignores LD_PRELOAD silently where it cannot or may not heed it: then the program would
 * run unlimited. So the file is found as a shell would, scripts are followed to what interprets
 * them, and a program that we could not limit is refused with what to do about it.
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

/* The program that a line behind "#!" leads to: its path, or the name that `env` is asked to find.
 * False: an empty line. */
bool target_read_shebang(const char *line, char ret[PATH_MAX]);

#endif
