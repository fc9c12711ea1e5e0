/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink: a separate process that closes sockets that other users can reach.
 *
 *      sink_start(&sink, base, &err)
 *      sink_close(sink, fd)            instead of close(fd)
 *      sink_stop(sink)
 *
 * A peer can send descriptors with its bytes (SCM_RIGHTS) and close its own copies. Then the
 * process that drops the last reference to such a file closes it: the process that receives the
 * message without room for descriptors, or that closes a socket with unread messages. Such a close
 * takes as long as the peer likes: a TCP socket with unsent bytes waits for its SO_LINGER, a FUSE
 * file for its server, a huge deleted file for its pages. A listening socket is closed together
 * with all connections not accepted yet. So the daemon closes no such socket itself, and never
 * drops a descriptor when it receives (receive.h). A socket is closed as follows:
 *
 * 1. The socket is shut down, so that its peer sees the end at once (by the sink, if that call may
 * take long: sink_close_unseen()). The socket then waits for the next turn of the event loop. By
 * then libevent has removed it from epoll, which would otherwise report events of it as long as the
 * sink has it open.
 *
 * 2. The daemon sends the socket to the sink, also by SCM_RIGHTS, closes its own copy, and then
 * sends the sink a byte. The sink closes its copy only after that byte, so the daemon's copy is
 * never the last.
 *
 * 3. A sink that accepts no more is killed by SIGKILL: in a process that exits, a close does not
 * wait for SO_LINGER. The next sink inherits the socket through fork(), because the kernel may
 * refuse to send it (ETOOMANYREFS).
 *
 * 4. If too many killed sinks block in the kernel, or fork() fails, sockets stay open, and
 * sink_takes() returns false: no connection is accepted until there is a sink again.
 *
 * None of this depends on the kernel's version. One gap remains: if another process kills the sink
 * during step 2, the daemon's copy may be the last. One thread.
 */
#ifndef ALIQUOT_DAEMON_BASE_SINK_H
#define ALIQUOT_DAEMON_BASE_SINK_H

#include <event2/event.h>
#include <stdbool.h>

#include "common/error.h"

struct sink;

int sink_start(struct sink **ret, struct event_base *base, struct error *err);

/* Takes over `fd`, shuts it down and has it closed. The caller has deleted its events. */
void sink_close(struct sink *sink, int fd);

/* Like sink_close(), but the sink shuts the socket down, because that call may take long
 * (peers_rests()). */
void sink_close_unseen(struct sink *sink, int fd);

/* Whether a connection may be accepted, because there is a sink that can close it later. */
bool sink_takes(const struct sink *sink);

/* Hands the sockets that still wait to the sink, and frees `sink`, which may be NULL. */
void sink_stop(struct sink *sink);

#endif
