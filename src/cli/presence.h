/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out from the kernel whether a daemon serves a runtime folder: which process listens on its
 * socket, and whether the lock of its file or of the folder is held.
 */
#ifndef ALIQUOT_CLI_PRESENCE_H
#define ALIQUOT_CLI_PRESENCE_H

#include "store/store.h"

#define PRESENCE_LOCK "daemon.lock"

enum presence {
        PRESENCE_NONE,
        PRESENCE_LISTENS,
        PRESENCE_STARTS, /* it holds a lock and does not listen yet, or no longer listens */
        PRESENCE_BARRED, /* the socket is there and not for us */
        /* no process listens; the holder of the locks is unknown (file_locks.h) */
        PRESENCE_UNKNOWN,
};

enum presence presence_look(const struct store *store);

/* Whether a daemon serves the folder and refuses this user, even if only the refusal is known;
 * PRESENCE_BARRED may also be a closed folder without a daemon. */
bool presence_is_barred(const struct store *store);

/* Whether a daemon has ever served it. */
bool presence_has_been(const struct store *store);

#endif
