/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a session that was made for one run: with the last process of it, whoever that is.
 *
 * Such a session is unused when no process holds a slot in it, no `aliquot run` keeps it, and no
 * process that we can see carries its name in its environment (so that a program in the background
 * which has yet to touch the GPU finds it). `run` looks at its end; what outlived its run is swept
 * away by a later command. Sessions with a name of the user's own stay until `aliquot rm`.
 *
 * Processes that other users started are passed by: they cannot join. So are those that became
 * another user's. A child looks at the rest (common/aside.h), since a process can make its reader
 * wait. If that takes more than 5 s, the session counts as used.
 */
#ifndef ALIQUOT_CLI_SWEEP_H
#define ALIQUOT_CLI_SWEEP_H

#include <stdbool.h>
#include <sys/types.h>

#include "store/store.h"

/* Whether a process besides this one and `asker` (0: nobody) carries the session's name in the
 * environment that it was started with. A process that does not show its environment counts as
 * having none. */
bool sweep_is_named(const struct store *store, const char *name, pid_t asker);

/* Whether a process has joined the session: it has its `slots` mapped, and may take a slot later. A
 * process that does not show its mappings counts as having none. */
bool sweep_is_mapped(const struct store *store, const char *name);

/* Removes a session of one run if it is unused. */
void sweep_one(const struct store *store, const char *name);

/* The same of another's run, and not within a minute from when it was made: that run may be
 * starting. Whether it was removed. */
bool sweep_old(const struct store *store, const char *name);

/* All such. */
void sweep_all(const struct store *store);

/* Marks the session as kept until this process ends (an exec ends it too). */
int sweep_keep(const struct store_session *session, struct error *err);

#endif
