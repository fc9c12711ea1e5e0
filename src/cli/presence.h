/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a daemon serves a runtime folder, told by the kernel: who listens on its socket, and
 * whether one of its locks, the file's or the folder's, is held.
 */
#ifndef ALIQUOT_CLI_PRESENCE_H
#define ALIQUOT_CLI_PRESENCE_H

#include "store/store.h"

#define PRESENCE_LOCK "daemon.lock"

enum presence {
        PRESENCE_NONE,
        PRESENCE_LISTENS,
        PRESENCE_STARTS,  /* it holds a lock and does not listen yet, or any more */
        PRESENCE_BARRED,  /* the socket is there and not for us */
        PRESENCE_UNKNOWN, /* nobody listens; who holds the locks is not told (file_locks.h) */
};

enum presence presence_look(const struct store *store);

/* Whether a daemon serves the folder and keeps this user out, also where only the second is known;
 * PRESENCE_BARRED may also be a folder that is closed, with nobody in it. */
bool presence_is_barred(const struct store *store);

/* Whether one has ever served it. */
bool presence_has_been(const struct store *store);

#endif
