/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pids of a session's processes, as usage_name() finds them, but for the daemon's loop: where
 * /proc has to be walked, a child does it (aside.h), which is ended when its time is over.
 */
#ifndef ALIQUOT_DAEMON_PROCESSES_NAMES_H
#define ALIQUOT_DAEMON_PROCESSES_NAMES_H

#include "store/usage.h"

#define NAMES_MOST 512u /* of more, none that needs a walk is found */

/* Returns within `most_ns` (CLOCK_MONOTONIC), and what the machine adds; 0: no walk. Who was not
 * found by then has no local_pid. One thread. */
void names_find(struct usage_process *list, unsigned count, uint64_t most_ns);

#endif
