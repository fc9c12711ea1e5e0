/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides the process's limit of descriptors (RLIMIT_NOFILE) among the kinds of things that need
 * them.
 *
 * Clients and tenants decide how long connections, sessions and watched processes keep descriptors
 * open, so each kind may use only a part of the limit. All parts together leave an eighth of the
 * limit, and at least DESCRIPTORS_KEPT, for the daemon's own files and the driver's, so that an
 * admitted request can be answered. When a part is used up, the daemon does without: the peer with
 * the most connections loses one; a session has no socket and is joined through its files, and gets
 * no turns; a process is searched for. The limit is read at each call, because it can be changed
 * from outside.
 */
#ifndef ALIQUOT_DAEMON_BASE_DESCRIPTORS_H
#define ALIQUOT_DAEMON_BASE_DESCRIPTORS_H

/* The log, locks, database, event loop and listeners use about 16; a request opens a few. A driver
 * opens several for each GPU. */
#define DESCRIPTORS_KEPT 34u

/* Divisors: a kind gets one in this many of the descriptors that are left. With the number of
 * descriptors that each uses, the parts are 1/8, 2/24, 2/48, 2/6, 1/8, 1/24, 1/8 and 1/8, which
 * adds up to 1. */
#define DESCRIPTORS_HTTP 8u
#define DESCRIPTORS_HTTP_PEER 16u /* connections of one peer: half of DESCRIPTORS_HTTP */
#define DESCRIPTORS_VISITS 24u    /* joined programs: a socket and a process each */
/* programs that join through a door: a socket and a process each */
#define DESCRIPTORS_DOORS 48u
#define DESCRIPTORS_SESSIONS 6u /* sessions: a socket and `limits` each */
#define DESCRIPTORS_SEATS 8u    /* `slots` of sessions, for the scheduler */
#define DESCRIPTORS_SWAPS 24u   /* `slots` of sessions that swap, for the swapper */
#define DESCRIPTORS_RESIDENTS 8u
#define DESCRIPTORS_GPU_USERS 8u

/* Maximum number of connections accepted in one turn of the event loop, at the daemon's own socket
 * or at all sessions' sockets together. A closed connection stays open for up to two turns (sink.h)
 * in addition to its part; that is less than half of what is kept. */
#define DESCRIPTORS_TURN 64u

/* Raises the soft limit to the hard one, up to a useful maximum. */
void descriptors_raise(void);

/* Returns how many of a kind there may be: the limit's part, but at least 1 and at most `allowed`.
 * `part`: the kind's divisor. */
unsigned descriptors_max(unsigned allowed, unsigned part);

#endif
