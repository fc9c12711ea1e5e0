/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a program whose output is read through a pipe. The program gets no input.
 */
#ifndef ALIQUOT_CLI_TOP_SPAWN_H
#define ALIQUOT_CLI_TOP_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

/* Starts the program. Its standard error and, with `has_output`, its standard output go to the pipe
 * *ret_fd, which the caller closes. The caller also waits for *ret_pid. Returns a negative errno on
 * failure. */
int spawn_piped(char **argv, bool has_output, pid_t *ret_pid, int *ret_fd);

#endif
