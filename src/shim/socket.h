/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins a session by its socket, without a path to its files.
 *
 * The socket is used once, while the session is found; after that the daemon may exit. What stays
 * is a descriptor of `slots` above 511, closed on exec, through which the file is opened for each
 * look at the locks (see liveness.h). If the program has closed the descriptor, the socket is asked
 * for another: for a second at most, because fork() waits meanwhile, and after a failure not again
 * for a second. The operation that needs it then fails as if the file were gone. A child of fork()
 * has the descriptor too; a program started by exec joins again.
 */
#ifndef ALIQUOT_SHIM_SOCKET_H
#define ALIQUOT_SHIM_SOCKET_H

#include <stdbool.h>

#include "settings/settings.h"
#include "store/liveness.h"
#include "store/store.h"

/* Joins. Called by the one thread that finds the session. `is_found`: we found the path, not the
 * settings. `settings` is borrowed for the life of the process. */
int socket_join(const char *path, bool is_found, const struct settings *settings,
                struct store_session *ret, struct error *err);

/* Descriptors are asked for at this path from now on. */
int socket_renew_at(const char *path, struct error *err);

/* For the file of slots; NULL where the session was not joined so. */
struct liveness_kept *socket_kept(void);

#endif
