/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session that this process has by its socket, and no path to its files.
 *
 * Asked once, while the session is found; after that the daemon may go. What stays is a descriptor
 * of `slots` above 511, closed on exec, through which it is opened for each look at the locks (see
 * liveness.h). Where the program has closed it, the socket is asked for another: for a second at
 * most, since fork() waits meanwhile, and after a failure not again for as long; what needs it then
 * fails as with a file that is gone. A child of fork() has the descriptor too; a program that is
 * exec'd joins anew.
 */
#ifndef ALIQUOT_SHIM_SOCKET_H
#define ALIQUOT_SHIM_SOCKET_H

#include <stdbool.h>

#include "settings/settings.h"
#include "store/liveness.h"
#include "store/store.h"

/* By the one thread that finds the session. `is_found`: the path is ours and not the settings'.
 * `settings` is borrowed for the life of the process. */
int socket_join(const char *path, bool is_found, const struct settings *settings,
                struct store_session *ret, struct error *err);

/* Descriptors are asked for at this path from now on. */
int socket_renew_at(const char *path, struct error *err);

/* For the file of slots; NULL where the session was not joined so. */
struct liveness_kept *socket_kept(void);

#endif
