/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the removed sessions of a user that still take room in the runtime folder's file system.
 *
 * A tenant that has a file of its session open or mapped, or has the folder as working directory,
 * keeps inodes there after the session was removed, including those of deleted files. Such a
 * session counts as one of its user's (sessions.h); otherwise many of them could take all inodes. A
 * watch on the folder reports when the kernel has released all of it, because each open file holds
 * its folder.
 *
 *      remains_add(remains, store, session)    // before its folder is removed
 *      remains_of(remains, uid)
 *
 * If the kernel gives no further watch, the session is not counted, and the log says so once. A
 * restarted daemon counts from zero. One thread.
 */
#ifndef ALIQUOT_DAEMON_NODE_REMAINS_H
#define ALIQUOT_DAEMON_NODE_REMAINS_H

#include "core/sessions.h"
#include "store/store.h"

/* This many of each user do not count: sessions removed in the last second, whose files are yet to
 * be deleted. */
#define REMAINS_SPARED 512u

struct remains;

/* NULL: no memory. */
struct remains *remains_new(void);
void remains_free(struct remains *remains);

void remains_add(struct remains *remains, const struct store *store,
                 const struct sessions_one *session);

/* Number of a user's removed sessions that still take room, without the spared ones. */
uint32_t remains_of(struct remains *remains, uint32_t uid);

#endif
