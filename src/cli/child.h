/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program in place of this command: either by exec, or as a child for whose end the command
 * waits.
 *
 * While it waits, the command forwards the signals that it receives to the program, except those
 * from the terminal, which the program gets itself. It stops and continues together with the
 * program. If the command dies, the kernel kills the program. The command ends as the program did:
 * with the same exit status, or by the same signal.
 */
#ifndef ALIQUOT_CLI_CHILD_H
#define ALIQUOT_CLI_CHILD_H

#include <sys/types.h>

#include "common/error.h"

/* To be called in a child that was just forked: makes the kernel kill the child when `parent` dies,
 * and exits at once if `parent` is already dead. */
void child_die_with(pid_t parent);

/* Executes the program in place of this process. Returns only on failure, with 126 or 127 and
 * `err`. */
int child_replace(const char *path, char **argv, struct error *err);

/* Starts the program and waits for its end. Returns a status as of waitpid(), or a negative
 * errno. */
int child_wait(const char *path, char **argv, struct error *err);

/* Ends like the program of child_wait(): returns its exit status, or dies by the same signal. */
int child_end_alike(int wait_status);

#endif
