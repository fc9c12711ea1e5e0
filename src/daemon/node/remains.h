/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many removed sessions of a user still take room in the runtime folder's file system.
 *
 * A tenant that has a file of its session open or mapped, or is in its folder, keeps inodes there
 * after the session was removed, also those of deleted files. Such a session counts as one of its
 * user's (sessions.h), or rounds of them would take all inodes. A watch on the folder tells when
 * the kernel has let go of all of it, as each open file holds the folder that it was opened in.
 *
 *      remains_add(remains, store, session)    // before its folder is removed
 *      remains_of(remains, uid)
 *
 * Where the kernel gives no further watch the session is not counted, and the log says so once. A
 * daemon that starts anew counts from none. One thread.
 */
#ifndef ALIQUOT_DAEMON_NODE_REMAINS_H
#define ALIQUOT_DAEMON_NODE_REMAINS_H

#include "core/sessions.h"
#include "store/store.h"

/* Of each user so many do not count: those that were removed since the daemon last looked, a second
 * ago, are yet to be deleted. */
#define REMAINS_SPARED 512u

struct remains;

/* NULL: no memory. */
struct remains *remains_new(void);
void remains_free(struct remains *remains);

void remains_add(struct remains *remains, const struct store *store,
                 const struct sessions_one *session);

/* How many of a user's removed sessions still take room, without the spared ones. */
uint32_t remains_of(struct remains *remains, uint32_t uid);

#endif
