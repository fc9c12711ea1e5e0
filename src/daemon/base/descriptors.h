/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides the process's limit of descriptors among the kinds that need them.
 *
 * Connections, sessions and watched processes hold descriptors as long as others want, so each kind
 * has a part of the limit. All parts together leave an eighth, and DESCRIPTORS_KEPT at least, for
 * the daemon's own files and the driver's, so that an admitted request can be answered. When its
 * part is used up, each kind has another way: the peer with the most connections loses one; a
 * session is joined by its files and takes no turns; a process is searched for. The limit is read
 * each time, because it can be changed from outside.
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

/* Maximum number accepted in a turn of the event loop, at the daemon's own socket or at all
 * sessions' sockets together. A closed one stays open for up to two turns (sink.h), beyond its
 * part; that is less than half of what is kept. */
#define DESCRIPTORS_TURN 64u

/* Raises the soft limit to the hard one, up to a useful maximum. */
void descriptors_raise(void);

/* How many of a kind there may be, where `allowed` is the most that anybody wants. At least 1. */
unsigned descriptors_most(unsigned allowed, unsigned part);

#endif
