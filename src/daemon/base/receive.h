/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives bytes from a peer that may send descriptors along, without ever holding one of them.
 *
 * To receive such a message is to close its descriptors, which can take as long as the peer likes
 * (sink.h). So each message is looked at first: the kernel says whether descriptors are with it,
 * and they stay with it. Only what came without any is received.
 */
#ifndef ALIQUOT_DAEMON_BASE_RECEIVE_H
#define ALIQUOT_DAEMON_BASE_RECEIVE_H

#include <stddef.h>
#include <sys/types.h>

/* Once, of an accepted stream socket: a look sees urgent bytes (MSG_OOB) too, which it would skip,
 * and a receive drop with the descriptors that came with them. */
void receive_prepare(int fd);

/* As recv(), without waiting; negative errno. -EBADMSG: there are descriptors, which is logged now
 * and then. Nothing more can be received here, and the connection goes to the sink. */
ssize_t receive_plain(int fd, void *into, size_t bytes);

#endif
