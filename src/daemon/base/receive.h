/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives bytes from a peer that may send descriptors along, without ever receiving a descriptor.
 *
 * Receiving such a message would mean closing its descriptors, which can take as long as the peer
 * likes (sink.h). So the kernel is first asked whether a message has descriptors; those messages
 * stay unread. Only messages without descriptors are received.
 */
#ifndef ALIQUOT_DAEMON_BASE_RECEIVE_H
#define ALIQUOT_DAEMON_BASE_RECEIVE_H

#include <stddef.h>
#include <sys/types.h>

/* Once for each accepted stream socket: makes urgent bytes (MSG_OOB) part of the stream. Otherwise
 * a look would skip them, and a receive would drop them with their descriptors. */
void receive_prepare(int fd);

/* As recv(), without waiting; negative errno. -EBADMSG: there are descriptors, which is logged now
 * and then. Nothing more can be received here, and the connection goes to the sink. */
ssize_t receive_plain(int fd, void *into, size_t bytes);

#endif
