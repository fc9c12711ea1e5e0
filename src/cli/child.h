/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program in our place: replaced by it, or standing behind it until it ends.
 *
 * While we stand behind it, what is sent to us reaches it, what the terminal sends to the whole
 * job is left to it, and we stop and go on when it does. It dies with us. We end as it ended: with
 * its exit status, or by the same signal.
 */
#ifndef ALIQUOT_CLI_CHILD_H
#define ALIQUOT_CLI_CHILD_H

#include <sys/types.h>

#include "common/error.h"

/* In a child that was just forked: it is killed when `parent` dies, and ends now if that has died.
 */
void child_die_with(pid_t parent);

/* Becomes the program; returns 126 or 127, with `err`, only if that cannot be. */
int child_replace(const char *path, char **argv, struct error *err);

/* Starts it and waits for its end: a status of waitpid(), or a negative errno. */
int child_wait(const char *path, char **argv, struct error *err);

/* How child_wait's program ended, as our own end: the exit status, or death by the same signal. */
int child_end_alike(int wait_status);

#endif
