/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends signals to all processes of a session, from a separate process.
 *
 * The processes of a session are found in the mappings and descriptors of processes, whose reading
 * can block (aside.h). There is one child at a time for each user; the next child skips the process
 * at which the last one got stuck. So users who block the search block it for their own sessions
 * only. At most HUNTS_AT_ONCE children make progress at a time, so the searches for all users
 * together use no more processors than that; users are served in turns.
 *
 *      hunts_order(hunts, session, &signal)    // sent soon, not before this returns
 *      hunts_tend(hunts, now_ns)               // every HUNT_TEND_NS while hunts_are_on()
 *
 * A new order for a session replaces one that was not begun. One thread.
 */
#ifndef ALIQUOT_DAEMON_NODE_HUNT_H
#define ALIQUOT_DAEMON_NODE_HUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sessions.h"
#include "daemon/node/folder.h"

#define HUNT_TEND_NS UINT64_C(20000000)
/* A child that has examined no further process for this long is stuck. */
#define HUNT_STILL_NS UINT64_C(3000000000)
/* Users whose sessions are served at a time. */
#define HUNTS_MAX 64u
#define HUNTS_AT_ONCE 4u

struct hunts;

/* NULL: no memory. `sessions` and `store` must outlive it. */
struct hunts *hunts_new(const struct sessions *sessions, const struct store *store);

/* Ends the searches; signals that were ordered and not yet sent are not sent. */
void hunts_free(struct hunts *hunts);

void hunts_order(struct hunts *hunts, const struct sessions_one *session,
                 const struct folder_signal *signal);

/* Whether some order is not carried out yet. */
bool hunts_are_on(const struct hunts *hunts);

/* Begins and ends searches. Returns how many processes were signalled, as far as that is known now
 * and was not said before. */
unsigned hunts_tend(struct hunts *hunts, uint64_t now_ns);

#endif
