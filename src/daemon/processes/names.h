/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the pids of a session's processes, as usage_name() does, but without blocking the daemon's
 * event loop: if /proc must be searched, a child process does it (aside.h), and is killed when its
 * time is over.
 */
#ifndef ALIQUOT_DAEMON_PROCESSES_NAMES_H
#define ALIQUOT_DAEMON_PROCESSES_NAMES_H

#include "store/usage.h"

#define NAMES_MAX 512u /* maximum number of processes in a list for which /proc is searched */

/* Fills in local_pid of each process in `list` that is found. Returns within `max_ns`
 * (CLOCK_MONOTONIC) plus scheduling delays; 0: /proc is not searched. One thread. */
void names_find(struct usage_process *list, unsigned count, uint64_t max_ns);

#endif
