/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many descriptors this process may have, and what each kind of them may take.
 *
 * Connections, sessions and the processes that are watched take descriptors for as long as others
 * want, so each kind has a part of what there is: all parts together leave an eighth, and
 * DESCRIPTORS_KEPT at least, for the daemon's own files and the driver's, and a request that is let
 * in can be answered. Above its part each kind has another way: the peer with most connections
 * loses one, a session is joined by its files and takes no turns, a process is looked for. The
 * limit is asked for each time, as it can be changed from outside.
 */
#ifndef ALIQUOT_DAEMON_BASE_DESCRIPTORS_H
#define ALIQUOT_DAEMON_BASE_DESCRIPTORS_H

/* Log, locks, database, event loop and listeners have about 16; a request opens a few. A driver
 * opens several for each GPU. */
#define DESCRIPTORS_KEPT 34u

/* One in so many of what is left. By descriptors 1/8, 2/24, 2/48, 2/6, 1/8, 1/24, 1/8 and 1/8:
 * together all. */
#define DESCRIPTORS_HTTP 8u
#define DESCRIPTORS_HTTP_PEER 16u /* of those of DESCRIPTORS_HTTP, a half */
#define DESCRIPTORS_VISITS 24u    /* socket and process */
#define DESCRIPTORS_DOORS 48u     /* likewise, of those who come by a door */
#define DESCRIPTORS_SESSIONS 6u   /* socket and limits */
#define DESCRIPTORS_SEATS 8u      /* a session's slots, for the scheduler */
#define DESCRIPTORS_SWAPS 24u     /* slots of a session that swaps, for the swapper */
#define DESCRIPTORS_RESIDENTS 8u
#define DESCRIPTORS_GPU_USERS 8u

/* What is accepted in a turn of the event loop, at the daemon's own socket or at all sessions'
 * together: what is closed stays open for up to two turns (sink.h), beyond its part. That is less
 * than half of what is kept. */
#define DESCRIPTORS_TURN 64u

/* As many as the hard limit allows, up to what is ever of use. */
void descriptors_raise(void);

/* How many of a kind there may be, where `allowed` is the most that anybody wants. At least 1. */
unsigned descriptors_most(unsigned allowed, unsigned part);

#endif
