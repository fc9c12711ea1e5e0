/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session was promised, as its own folder says.
 *
 *      promise_write(page, session)                at each change, once its limits are in the page
 *      promise_read(&store, name, &promise, &err)  at the daemon's start, to compare
 *
 * The database is the daemon's memory, but it can be lost or damaged while programs run. `limits`
 * is the daemon's own file, on tmpfs, and only the daemon can write it: what it says of a session
 * is as good as the database's word. It holds the name, id, limits, caps and guarantees; the owner
 * is who owns `slots`. It does not hold labels, TTL, weight, priority and gang.
 */
#ifndef ALIQUOT_DAEMON_NODE_PROMISE_H
#define ALIQUOT_DAEMON_NODE_PROMISE_H

#include "core/sessions.h"
#include "store/store.h"

struct promise {
        /* What the page does not hold is as usual; version 0: an older daemon wrote it. */
        struct sessions_one session;
        bool is_shut; /* nobody can join it any more */
        bool is_live; /* somebody lives in it, or that cannot be told */
};

void promise_write(struct limits_page *page, const struct sessions_one *session);

/* 1: the folder of a daemon's session. 0: there is none, or its user made it. Negative: it cannot
 * be read; only `is_live` is set then. */
int promise_read(const struct store *store, const char *name, struct promise *ret,
                 struct error *err);

/* Whether both give the same memory, caps and guarantees on the same GPUs. */
bool promise_is_same(const struct sessions_one *a, const struct sessions_one *b);

#endif
