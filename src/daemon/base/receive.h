/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives bytes from a peer that may send descriptors along, without ever receiving a descriptor.
 *
 * Whoever receives a descriptor must close it, which can take as long as the peer likes (sink.h).
 * So the kernel is first asked (MSG_PEEK) whether a message has descriptors. Such a message stays
 * unread; only messages without descriptors are received.
 */
#ifndef ALIQUOT_DAEMON_BASE_RECEIVE_H
#define ALIQUOT_DAEMON_BASE_RECEIVE_H

#include <stddef.h>
#include <sys/types.h>

/* Call this once for each accepted stream socket. Makes urgent bytes (MSG_OOB) part of the stream.
 * Otherwise MSG_PEEK would skip them, and a receive would drop them with their descriptors. */
void receive_prepare(int fd);

/* Receives bytes as recv() does, without waiting. Negative: an errno. -EBADMSG: a message has
 * descriptors, which is logged, but not each time. Nothing more can be received on this connection,
 * and the caller gives it to the sink. */
ssize_t receive_plain(int fd, void *into, size_t bytes);

#endif
