/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes a session that was created for one run, after its last process has ended.
 *
 * Such a session is unused when no process holds a slot in it, no `aliquot run` keeps it, and no
 * visible process has its name in its environment (a background program that has yet to use the GPU
 * will join it). `run` checks at its end; a later command removes a session that outlived its run.
 * Sessions with a name from the user stay until `aliquot rm`.
 *
 * Processes of other users are skipped, because they cannot join, and so are processes that changed
 * their user. A child process examines all other processes (common/aside.h), because a process can
 * block whoever reads its files in /proc. If that takes more than 5 s, the session counts as used.
 */
#ifndef ALIQUOT_CLI_SWEEP_H
#define ALIQUOT_CLI_SWEEP_H

#include <stdbool.h>
#include <sys/types.h>

#include "store/store.h"

/* Returns whether any process was started with the session's name in its environment, except for
 * this process and `asker` (0: none). A process whose environment cannot be read counts as having
 * none. */
bool sweep_is_named(const struct store *store, const char *name, pid_t asker);

/* Returns whether a process maps the session's file `slots`, so that it may take a slot later. A
 * process whose mappings cannot be read counts as having none. */
bool sweep_is_mapped(const struct store *store, const char *name);

/* Removes a session that was created for one run, if it is unused. */
void sweep_one(const struct store *store, const char *name);

/* Like sweep_one(), for the session of another command's run. It is not removed within a minute of
 * its creation, because that run may still be starting. Returns whether it was removed. */
bool sweep_old(const struct store *store, const char *name);

/* Calls sweep_old() for all sessions of the folder that were created for one run. */
void sweep_all(const struct store *store);

/* Marks the session as in use until this process ends or calls exec. */
int sweep_keep(const struct store_session *session, struct error *err);

#endif
