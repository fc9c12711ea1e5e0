/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink: a separate process that closes sockets that other users can reach.
 *
 *      sink_start(&sink, base, &err)
 *      sink_close(sink, fd)            instead of close(fd)
 *      sink_stop(sink)
 *
 * A peer can send descriptors with its bytes (SCM_RIGHTS) and close its own copies. The kernel
 * closes the files behind them where the last reference is dropped: where the message is received
 * without room for them, or where a socket with unread messages is closed. Such a close takes as
 * long as the peer likes: a TCP socket with unsent bytes waits for its SO_LINGER, a FUSE file for
 * its server, a huge deleted file for its pages. A listening socket is closed together with all
 * connections not accepted yet. So the daemon closes none of these sockets itself, and its receives
 * never drop a descriptor (receive.h):
 *
 * 1. The socket is shut down, so that its peer sees the end at once (by the sink, if that call may
 * take long: sink_close_unseen()). It then waits for the next turn of the event loop: by then
 * libevent has removed it from epoll, which would otherwise report it as long as the sink has it.
 *
 * 2. The daemon sends the socket to the sink, by SCM_RIGHTS too, closes its own copy, and tells the
 * sink. The sink closes its copy after that, so the daemon's copy is never the last.
 *
 * 3. A sink that accepts no more is killed by SIGKILL: in a process that exits, a close does not
 * wait for SO_LINGER. Its successor gets the socket by fork(), because the kernel may refuse to
 * send it (ETOOMANYREFS).
 *
 * 4. If too many killed sinks block in the kernel, or fork() fails, sockets stay open, and
 * sink_takes() says so: no connection is accepted until there is a sink again.
 *
 * None of this depends on the version of the kernel. One gap remains: another process kills a sink
 * within step 2. One thread.
 */
#ifndef ALIQUOT_DAEMON_BASE_SINK_H
#define ALIQUOT_DAEMON_BASE_SINK_H

#include <event2/event.h>
#include <stdbool.h>

#include "common/error.h"

struct sink;

int sink_start(struct sink **ret, struct event_base *base, struct error *err);

/* Takes over `fd`, whose events the caller has deleted. */
void sink_close(struct sink *sink, int fd);

/* The same for a socket on which a call may take long (peers_rests()): the sink shuts it down. */
void sink_close_unseen(struct sink *sink, int fd);

/* Whether a socket accepted now can be closed later. */
bool sink_takes(const struct sink *sink);

/* Closes the sockets that still wait. NULL is allowed. */
void sink_stop(struct sink *sink);

#endif
