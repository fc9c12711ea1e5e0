/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores a session's limits in its own folder, as a second copy beside the database.
 *
 *      promise_write(page, session)                at each change, once its limits are in the page
 *      promise_read(&store, name, &promise, &err)  at the daemon's start, to compare
 *
 * The database can be lost or damaged while programs run. `limits` is the daemon's own file, on
 * tmpfs, and only the daemon can write it, so it is as trustworthy as the database. It holds the
 * name, id, limits, caps and guarantees; the owner is the owner of `slots`. It does not hold
 * labels, TTL, weight, priority and gang.
 */
#ifndef ALIQUOT_DAEMON_NODE_PROMISE_H
#define ALIQUOT_DAEMON_NODE_PROMISE_H

#include "core/sessions.h"
#include "store/store.h"

struct promise {
        /* Fields that the page does not hold have their defaults; version 0: an older daemon wrote
         * it. */
        struct sessions_one session;
        bool is_shut; /* no program can join it any more */
        bool is_live; /* a process lives in it, or that is unknown */
};

void promise_write(struct limits_page *page, const struct sessions_one *session);

/* 1: the folder of a daemon's session. 0: there is none, or its user made it. Negative: it cannot
 * be read; then only `is_live` is set. */
int promise_read(const struct store *store, const char *name, struct promise *ret,
                 struct error *err);

/* Whether both give the same memory, caps and guarantees on the same GPUs. */
bool promise_is_same(const struct sessions_one *a, const struct sessions_one *b);

#endif
