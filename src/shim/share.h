/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gets a session from the daemon for a program that was started without one.
 *
 *      share_find(&settings, &err)             0: a daemon shares its card in this way
 *      share_join(&settings, &session, &err)   the session that it has created for this process
 *
 * A daemon with swap = yes in [default] listens on <runtime>/share. A process that sends HELLO to
 * that socket gets a session of its own, which swaps and ends with the process. If there is no such
 * socket, these functions only look for it. Only the thread that finds the session may call.
 */
#ifndef ALIQUOT_SHIM_SHARE_H
#define ALIQUOT_SHIM_SHARE_H

#include "settings/settings.h"
#include "store/store.h"

/* Whether a daemon shares its card. Returns 0, or -ENOENT if there is none. */
int share_find(const struct settings *settings, struct error *err);

/* Joins the session that the daemon creates for this process. Call it after share_find().
 * `settings` is borrowed for the life of the process. */
int share_join(const struct settings *settings, struct store_session *ret, struct error *err);

#endif
