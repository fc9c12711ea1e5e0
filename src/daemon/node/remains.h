/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the removed sessions of a user that still take room in the runtime folder's file system.
 *
 * A tenant that has a file of its session open or mapped, or has the folder as working directory,
 * keeps inodes there after the session was removed, including those of deleted files. Such a
 * session still counts as one of its user's sessions (sessions.h); otherwise many removed sessions
 * could take all inodes. An inotify watch on the folder reports when the kernel has released the
 * folder and all its files, because each open file keeps a reference to its folder.
 *
 *      remains_add(remains, store, session)    // before the session's folder is removed
 *      remains_of(remains, uid)               // number of such sessions
 *
 * If the kernel allows no further watch, the session is not counted, and the log says so once. A
 * restarted daemon counts from zero. All functions are called by one thread.
 */
#ifndef ALIQUOT_DAEMON_NODE_REMAINS_H
#define ALIQUOT_DAEMON_NODE_REMAINS_H

#include "core/sessions.h"
#include "store/store.h"

/* Number of each user's removed sessions that are not counted: the files of sessions removed in the
 * last second may not be deleted yet. */
#define REMAINS_SPARED 512u

struct remains;

/* Returns NULL if there is no memory. */
struct remains *remains_new(void);
void remains_free(struct remains *remains);

void remains_add(struct remains *remains, const struct store *store,
                 const struct sessions_one *session);

/* Returns the number of a user's removed sessions that still take room, less REMAINS_SPARED. */
uint32_t remains_of(struct remains *remains, uint32_t uid);

#endif
