/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out from the kernel whether a daemon serves a runtime folder: whether a process listens on
 * the daemon's socket, and whether the lock of the daemon's file or of the folder is held.
 */
#ifndef ALIQUOT_CLI_PRESENCE_H
#define ALIQUOT_CLI_PRESENCE_H

#include "store/store.h"

#define PRESENCE_LOCK "daemon.lock"

enum presence {
        PRESENCE_NONE,
        PRESENCE_LISTENS,
        PRESENCE_STARTS, /* the lock is held, but no process listens yet, or any more */
        PRESENCE_BARRED, /* there is a socket, but this user may not connect to it */
        /* no process listens, and whether the locks are held is unknown (file_locks.h) */
        PRESENCE_UNKNOWN,
};

enum presence presence_look(const struct store *store);

/* Returns whether a daemon serves the folder and refuses this user. PRESENCE_BARRED alone may also
 * be a closed folder without a daemon. */
bool presence_is_barred(const struct store *store);

/* Returns whether a daemon has ever served the folder. */
bool presence_has_been(const struct store *store);

#endif
