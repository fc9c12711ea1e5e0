/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose words come back through a pipe. It reads nothing.
 */
#ifndef ALIQUOT_CLI_TOP_SPAWN_H
#define ALIQUOT_CLI_TOP_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

/* Its standard error, with `has_output` its standard output too, in *ret_fd: the caller's to close,
 * as *ret_pid is to be waited for. Negative errno. */
int spawn_piped(char **argv, bool has_output, pid_t *ret_pid, int *ret_fd);

#endif
