/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores a session's limits in its own folder, as a second copy beside the database.
 *
 *      promise_write(page, session)                at each change, after the limits were written to
 * the page promise_read(&store, name, &promise, &err)  at the daemon's start, to compare
 *
 * The database can be lost or damaged while programs run. The session's file `limits` is on tmpfs,
 * and only the daemon can write it, so it is as trustworthy as the database. It holds the session's
 * name, id, limits, caps and guarantees; the session's owner is the owner of the file `slots`. It
 * does not hold labels, TTL, weight, priority and gang.
 */
#ifndef ALIQUOT_DAEMON_NODE_PROMISE_H
#define ALIQUOT_DAEMON_NODE_PROMISE_H

#include "core/sessions.h"
#include "store/store.h"

struct promise {
        /* What the page holds; other fields have their defaults. version 0: an older daemon wrote
         * the page. */
        struct sessions_one session;
        bool is_shut; /* no program can join the session any more */
        bool is_live; /* a process lives in the session, or that is unknown */
};

void promise_write(struct limits_page *page, const struct sessions_one *session);

/* Reads the folder of the session `name`. 1: read. 0: there is no folder, or a user created it.
 * Negative: it cannot be read; then only is_live and the owner are set. */
int promise_read(const struct store *store, const char *name, struct promise *ret,
                 struct error *err);

/* Whether `a` and `b` give the same memory, caps and guarantees on the same GPUs. */
bool promise_is_same(const struct sessions_one *a, const struct sessions_one *b);

#endif
