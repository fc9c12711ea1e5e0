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

/* As recv(), without waiting; negative errno. -EBADMSG: there are descriptors, which is logged now
 * and then. Nothing more can be received here, and the connection goes to the sink. */
ssize_t receive_plain(int fd, void *into, size_t bytes);

#endif
