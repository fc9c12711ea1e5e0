/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes back what tenants write into `slots` beyond its page.
 *
 *      trim_all(node)          once a second
 *      trim_now(node)          when there is no room to create a session
 *
 * A tenant owns its `slots`, and can make the file as large as the file system that all sessions
 * share. A session never needs content behind its page, so such content is truncated (cleanup.h),
 * and reported at the 1st, 2nd, 4th, 8th time and so on (event `oversized`). With `watch.forged` at
 * term or kill, the session's programs also get that signal. Between two checks the file can be
 * large; a separate file system for the runtime folder, or a quota, prevents that.
 *
 * A tenant that keeps the file open after its session is gone could go on writing. So the file is
 * kept as sessions/.open-..., owned by root, until the kernel reports that no process has it open
 * for writing; its content is removed meanwhile. A lease on the file delays that until the kernel
 * ends the lease (/proc/sys/fs/lease-break-time).
 */
#ifndef ALIQUOT_DAEMON_NODE_TRIM_H
#define ALIQUOT_DAEMON_NODE_TRIM_H

#include "daemon/node/node_parts.h"

int trim_start(struct node *node);
void trim_stop(struct node *node);

/* Finds what must be cleaned up; does not wait. */
void trim_all(struct node *node);

/* Cleans up and waits up to TRIM_WAIT_NS, in each TRIM_EVERY_NS: users who block it can cause this
 * again and again. Returns whether anything was done. */
#define TRIM_WAIT_NS UINT64_C(100000000)
#define TRIM_EVERY_NS UINT64_C(2000000000)
bool trim_now(struct node *node);

#endif
