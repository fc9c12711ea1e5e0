/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins a session through its socket, without a path to its files.
 *
 * The socket is used once, while the session is found; after that the daemon may exit. The process
 * keeps a descriptor of `slots` above 511, closed on exec. The file is opened through that
 * descriptor for each check of the locks (see liveness.h). If the program has closed the
 * descriptor, the socket is asked for another one. That takes at most a second, because fork()
 * waits meanwhile, and after a failure it is not tried again for a second. The operation that needs
 * the descriptor then fails as if the file were gone. A child of fork() has the descriptor too; a
 * program started by exec joins again.
 */
#ifndef ALIQUOT_SHIM_SOCKET_H
#define ALIQUOT_SHIM_SOCKET_H

#include <stdbool.h>

#include "settings/settings.h"
#include "store/liveness.h"
#include "store/store.h"

/* Joins the session of the socket at `path`. Only the thread that finds the session may call.
 * `is_found`: the settings did not name the path. `settings` is borrowed for the life of the
 * process. */
int socket_join(const char *path, bool is_found, const struct settings *settings,
                struct store_session *ret, struct error *err);

/* Sets the path of the socket that is asked for new descriptors from now on. */
int socket_renew_at(const char *path, struct error *err);

/* Returns the kept descriptor of `slots`; NULL if the session was not joined through a socket. */
struct liveness_kept *socket_kept(void);

#endif
