/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closes sockets that other users can reach, in a process of its own: the sink.
 *
 *      sink_start(&sink, base, &err)
 *      sink_close(sink, fd)            instead of close(fd)
 *      sink_stop(sink)
 *
 * A peer can send descriptors along with its bytes (SCM_RIGHTS), and close its own copies. The
 * kernel then closes the files behind them where the last reference goes: where the message is
 * received without room for them, and where a socket is closed with messages that nobody received.
 * Such a close takes as long as the peer likes: a TCP socket with unsent bytes waits for its
 * SO_LINGER, a file of a file system in user space for its server, a huge deleted file for its
 * pages. A listening socket is closed with all connections that were not accepted. So the daemon
 * closes none of these sockets itself, and no receive of its own drops a descriptor (receive.h):
 *
 * 1. The socket is shut down, so that its peer sees the end at once (by the sink, where that call
 *    may take long: sink_close_unseen()). It waits for the next turn of
 *    the event loop: by then libevent has taken it out of epoll, which would otherwise report it
 *    for as long as the sink has it.
 * 2. It is sent to the sink, by SCM_RIGHTS too; then the daemon closes its own copy, and then it
 *    tells the sink so. The sink closes its copy after that, so the daemon's is never the last.
 * 3. A sink that takes no more is ended by SIGKILL: in a process that exits, a close does not wait
 *    for SO_LINGER. Its successor gets the socket by fork(), since the kernel may refuse to send it
 *    to anybody (ETOOMANYREFS).
 * 4. Where too many ended sinks stand in the kernel, or fork() fails, sockets stay open, and
 *    sink_takes() says so: nothing is accepted until there is a sink again.
 *
 * None of this depends on the version of the kernel. One gap is left: a sink that somebody else
 * kills within step 2. One thread.
 */
#ifndef ALIQUOT_DAEMON_BASE_SINK_H
#define ALIQUOT_DAEMON_BASE_SINK_H

#include <event2/event.h>
#include <stdbool.h>

#include "common/error.h"

struct sink;

int sink_start(struct sink **ret, struct event_base *base, struct error *err);

/* Takes `fd`, whose events the caller has deleted. */
void sink_close(struct sink *sink, int fd);

/* The same for a socket on which a call may take long (peers_rests()): the sink shuts it down. */
void sink_close_unseen(struct sink *sink, int fd);

/* Whether what is accepted now can be closed in the end. */
bool sink_takes(const struct sink *sink);

/* Closes what still waits. NULL is fine. */
void sink_stop(struct sink *sink);

#endif
