/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session from the daemon for a program that came without one.
 *
 *      share_find(&settings, &err)             0: a daemon shares its card this way
 *      share_join(&settings, &session, &err)   the session that it has made for this process
 *
 * A daemon with swap = yes in [default] listens on <runtime>/share. Who says HELLO there gets a
 * session of its own that swaps, and that ends with the process. Where the socket is missing,
 * looking for it is all that is done. By the one thread that finds the session.
 */
#ifndef ALIQUOT_SHIM_SHARE_H
#define ALIQUOT_SHIM_SHARE_H

#include "settings/settings.h"
#include "store/store.h"

/* -ENOENT: no daemon does. */
int share_find(const struct settings *settings, struct error *err);

/* After share_find(). `settings` is borrowed for the life of the process. */
int share_join(const struct settings *settings, struct store_session *ret, struct error *err);

#endif
