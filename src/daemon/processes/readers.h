/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the identities of processes (identity.h) in children of the daemon (aside.h), one child for
 * each user.
 *
 * A process can block its reader, or have more than 65,000 mappings. So the caller does not read a
 * process itself. It requests the process, and gets what the child of the process's user has read
 * by then. A child that gets stuck is killed, and the process at which it got stuck is skipped for
 * READERS_REST_NS. So a user who blocks the reading blocks it only for that user's own processes.
 * There are READERS_USERS entries for users. While another user waits for an entry, a user whose
 * processes are skipped loses it at once, and a user whose reading takes long loses it after
 * READERS_TURN_NS. A caller that requests processes of many users should begin with users that got
 * no entry the last time, so that every user gets one at some time.
 *
 *      readers_know(readers, &sessions)        // when sessions may have changed
 *      ticket = readers_ask(readers, pid)
 *      readers_tend(readers, max_ns)          // starts and ends children
 *      readers_answer(readers, ticket, &who)   // repeatedly, until READERS_WHOLE
 *      readers_drop(readers, ticket)
 *
 * A child always continues with the process that it has read for the shortest time, so new
 * processes come first. Each time it reads the process from the beginning, for twice as long as the
 * last time. After READERS_FREE_NS of processor time the child is limited to a tenth of a
 * processor. All functions are called by one thread.
 */
#ifndef ALIQUOT_DAEMON_PROCESSES_READERS_H
#define ALIQUOT_DAEMON_PROCESSES_READERS_H

#include "daemon/processes/identity.h"

#define READERS_SLICE_NS UINT64_C(5000000)
#define READERS_FREE_NS UINT64_C(100000000)
/* Maximum processor time for reading one process, because mappings can be added without end. */
#define READERS_MAX_NS UINT64_C(2000000000)
/* A child that has made no progress for this long is stuck. */
#define READERS_STILL_NS UINT64_C(1000000000)
#define READERS_REST_NS UINT64_C(10000000000)
/* Number of users whose processes are read at a time. READERS_EACH: number of processes of each
 * user. */
#define READERS_USERS 64u
/* How long a user may keep its entry while other users wait for one. */
#define READERS_TURN_NS UINT64_C(3000000000)
#define READERS_EACH 256u

struct readers;

enum readers_word {
        READERS_SILENT, /* nothing is known yet */
        READERS_PART,   /* known so far, but mappings are still being read (is_partial) */
        READERS_WHOLE,
        READERS_NOBODY, /* there is no such process */
        /* the user has lost its entry: drop the ticket and request the process again later */
        READERS_LOST
};

/* Returns NULL if there is no memory. */
struct readers *readers_new(void);
void readers_free(struct readers *readers);

/* Sets the sessions to which processes may belong from now on. */
void readers_know(struct readers *readers, const struct identity_sessions *sessions);

/* Requests a process. Returns a ticket, valid as long as the caller makes sure that the pid is not
 * reused. -EAGAIN: too many processes are being read, try again later. -ESRCH: there is no such
 * process. */
int readers_ask(struct readers *readers, uint32_t pid);
enum readers_word readers_answer(const struct readers *readers, int ticket, struct identity *ret);
/* Ends a request. Does nothing if `ticket` is negative. */
void readers_drop(struct readers *readers, int ticket);

/* Starts and ends children, and waits up to `max_ns` (CLOCK_MONOTONIC) until all answers are
 * complete. */
void readers_tend(struct readers *readers, uint64_t max_ns);

#endif
