/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends signals to all processes of a session, from a separate process.
 *
 * The processes of a session are found in the mappings and descriptors of processes, whose reading
 * can block (aside.h). There is one child process at a time for each owner, which is a user or a
 * container (sessions_payer()). The next child skips the process at which the last child got stuck,
 * so an owner who blocks the search blocks it only for that owner's sessions. At most HUNTS_AT_ONCE
 * children make progress at a time, so the searches for all owners together use no more processors
 * than that; owners are served in rotation.
 *
 *      hunts_order(hunts, session, &signal)    // the signal is sent after this returns
 *      hunts_tend(hunts, now_ns)               // every HUNT_TEND_NS while hunts_are_on()
 *
 * A new order for a session replaces an order of the session that has not begun. All functions are
 * called by one thread.
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
/* maximum number of owners for whose sessions a search runs or waits */
#define HUNTS_MAX 64u
#define HUNTS_AT_ONCE 4u

struct hunts;

/* Returns NULL if there is no memory. `sessions` and `store` must outlive the result. */
struct hunts *hunts_new(const struct sessions *sessions, const struct store *store);

/* Kills the children. Signals that were ordered and not yet sent are not sent. */
void hunts_free(struct hunts *hunts);

void hunts_order(struct hunts *hunts, const struct sessions_one *session,
                 const struct folder_signal *signal);

/* Whether there are orders that were not carried out yet. */
bool hunts_are_on(const struct hunts *hunts);

/* Starts and ends children. Returns how many processes got a signal from children that have ended
 * since the last call. */
unsigned hunts_tend(struct hunts *hunts, uint64_t now_ns);

#endif
