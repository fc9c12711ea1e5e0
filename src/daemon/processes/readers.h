/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads who processes are (identity.h), in children of the daemon (aside.h), one for each user.
 *
 * A process can block its reader, or have more than 65,000 mappings. So the caller does not read.
 * It says which process it wants to know, and takes what that user's child has read by then. A
 * child that gets stuck is killed, and the process at which it got stuck is skipped for
 * READERS_REST_NS. So a user who blocks the reader blocks only the user's own processes. There are
 * READERS_USERS entries for users. While another user waits for an entry, a user whose processes
 * are skipped loses it at once, and a user whose reading takes long loses it after READERS_TURN_NS.
 * A caller that asks for many users' processes begins with the users that got no entry before, so
 * that every user gets one in turn.
 *
 *      readers_know(readers, &sessions)        // when the sessions may have changed
 *      ticket = readers_ask(readers, pid)
 *      readers_tend(readers, most_ns)          // children begin, go on and end
 *      readers_answer(readers, ticket, &who)   // repeatedly, until the answer is complete
 *      readers_drop(readers, ticket)
 *
 * A child next reads the process that it has read least, so new processes come first. Each time it
 * reads twice as much as the last time, from the beginning. After READERS_FREE_NS of processor time
 * it is limited to a tenth of a processor. One thread.
 */
#ifndef ALIQUOT_DAEMON_PROCESSES_READERS_H
#define ALIQUOT_DAEMON_PROCESSES_READERS_H

#include "daemon/processes/identity.h"

#define READERS_SLICE_NS UINT64_C(5000000)
#define READERS_FREE_NS UINT64_C(100000000)
/* Maximum processor time for one process: mappings can be added without end. */
#define READERS_MAX_NS UINT64_C(2000000000)
/* A child that has made no progress for this long is stuck. */
#define READERS_STILL_NS UINT64_C(1000000000)
#define READERS_REST_NS UINT64_C(10000000000)
/* Users whose processes are read at a time, and processes of each user. */
#define READERS_USERS 64u
/* How long a user keeps its entry while others wait for one. */
#define READERS_TURN_NS UINT64_C(3000000000)
#define READERS_EACH 256u

struct readers;

enum readers_word {
        READERS_SILENT, /* the answer is not known yet */
        READERS_PART,   /* its mappings are still being read (is_partial) */
        READERS_WHOLE,
        READERS_NOBODY, /* there is no such process */
        READERS_LOST    /* its user has lost the entry: drop the ticket, ask again later */
};

/* NULL: no memory. */
struct readers *readers_new(void);
void readers_free(struct readers *readers);

/* Sets the sessions to which processes may belong, from now on. */
void readers_know(struct readers *readers, const struct identity_sessions *sessions);

/* Returns a ticket, valid as long as the caller knows that the pid is not reused. -EAGAIN: too many
 * processes are being read, ask again; -ESRCH: there is no such process. */
int readers_ask(struct readers *readers, uint32_t pid);
enum readers_word readers_answer(const struct readers *readers, int ticket, struct identity *ret);
/* A negative number is no ticket. */
void readers_drop(struct readers *readers, int ticket);

/* Waits until all answers are complete, up to `most_ns` (CLOCK_MONOTONIC). */
void readers_tend(struct readers *readers, uint64_t most_ns);

#endif
