/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the pids of a session's processes, as usage_name() does, without blocking the daemon's
 * loop: if /proc must be walked, a child process does it (aside.h), which is killed when its time
 * is over.
 */
#ifndef ALIQUOT_DAEMON_PROCESSES_NAMES_H
#define ALIQUOT_DAEMON_PROCESSES_NAMES_H

#include "store/usage.h"

#define NAMES_MAX 512u /* Maximum number of processes of a list that a walk can find. */

/* Fills local_pid. Returns within `most_ns` (CLOCK_MONOTONIC) plus scheduling delays; 0: no walk. A
 * process that was not found by then has no local_pid. One thread. */
void names_find(struct usage_process *list, unsigned count, uint64_t most_ns);

#endif
