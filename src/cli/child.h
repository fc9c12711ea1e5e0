/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program in place of this command: by exec, or as a child whose end the command waits for.
 *
 * While it waits, signals sent to the command are passed to the program, signals from the terminal
 * to the whole job are left to it, and the command stops and continues when the program does. The
 * program dies with the command. The command ends as the program did: with its exit status, or by
 * the same signal.
 */
#ifndef ALIQUOT_CLI_CHILD_H
#define ALIQUOT_CLI_CHILD_H

#include <sys/types.h>

#include "common/error.h"

/* In a child that was just forked: makes the kernel kill it when `parent` dies, and exits at once
 * if `parent` is dead already. */
void child_die_with(pid_t parent);

/* Becomes the program; returns 126 or 127, with `err`, only if that cannot be. */
int child_replace(const char *path, char **argv, struct error *err);

/* Starts the program and waits for its end: a status of waitpid(), or a negative errno. */
int child_wait(const char *path, char **argv, struct error *err);

/* How child_wait's program ended, as our own end: the exit status, or death by the same signal. */
int child_end_alike(int wait_status);

#endif
