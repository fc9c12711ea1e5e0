/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who processes are (identity.h), read by children of the daemon (aside.h), one for each user.
 *
 * A process can keep its reader waiting, or have more than 65,000 mappings. So who asks does not
 * read: it says which process it wants to know, and takes what its user's child has read by then.
 * Where the child stands still it is ended, and the process that it stood at is left alone for
 * READERS_REST_NS. Users who hold up their reader hold it up for their own processes alone: while
 * another user waits for one of the READERS_USERS places, who is left alone gives its place back at
 * once, and who is read for long after READERS_TURN_NS. Whoever asks for many users' processes
 * begins with those that got no place before, so that places go round.
 *
 *      readers_know(readers, &sessions)        // when they may have changed
 *      ticket = readers_ask(readers, pid)
 *      readers_tend(readers, most_ns)          // children begin, go on and end
 *      readers_answer(readers, ticket, &who)   // as often as wanted, until it is whole
 *      readers_drop(readers, ticket)
 *
 * A child reads whoever it has read the least of next, so new processes come first; each time twice
 * as much as the last time, from the beginning. Once it has used READERS_FREE_NS it takes a tenth
 * of a processor. One thread.
 */
#ifndef ALIQUOT_DAEMON_PROCESSES_READERS_H
#define ALIQUOT_DAEMON_PROCESSES_READERS_H

#include "daemon/processes/identity.h"

#define READERS_SLICE_NS UINT64_C(5000000)
#define READERS_FREE_NS UINT64_C(100000000)
/* So much of one is enough: mappings can be added without end. */
#define READERS_MOST_NS UINT64_C(2000000000)
/* Where no process was read on for so long, the child stands still. */
#define READERS_STILL_NS UINT64_C(1000000000)
#define READERS_REST_NS UINT64_C(10000000000)
/* Users whose processes are read at a time, and processes of each. */
#define READERS_USERS 64u
/* While others wait for a place, a user keeps its own for so long. */
#define READERS_TURN_NS UINT64_C(3000000000)
#define READERS_EACH 256u

struct readers;

enum readers_word {
        READERS_SILENT, /* nothing is known yet */
        READERS_PART,   /* its mappings are still being read (is_partial) */
        READERS_WHOLE,
        READERS_NOBODY, /* there is no such process */
        READERS_LOST    /* its user's place is another's now: drop the ticket, ask again later */
};

/* NULL: no memory. */
struct readers *readers_new(void);
void readers_free(struct readers *readers);

/* The sessions of which is who is asked for from now on. */
void readers_know(struct readers *readers, const struct identity_sessions *sessions);

/* A ticket, for as long as the caller knows that the pid is one process's. -EAGAIN: too many are
 * being read, so ask again; -ESRCH: there is no such process. */
int readers_ask(struct readers *readers, uint32_t pid);
enum readers_word readers_answer(const struct readers *readers, int ticket, struct identity *ret);
/* A negative number is no ticket. */
void readers_drop(struct readers *readers, int ticket);

/* Waits until all that was asked is whole, up to `most_ns` (CLOCK_MONOTONIC). */
void readers_tend(struct readers *readers, uint64_t most_ns);

#endif
