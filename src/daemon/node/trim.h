/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Truncates what tenants write into their `slots` files behind the page.
 *
 *      trim_all(node)          once a second
 *      trim_now(node)          when there is no room to create a session
 *
 * A tenant owns its `slots`, and can make the file as large as the file system that all sessions
 * share. A session never needs content behind its page, so such content is truncated (cleanup.h),
 * and reported at the 1st, 2nd, 4th, 8th time and so on (event `oversized`). If the setting
 * `watch.forged` is term or kill, the session's programs also get that signal. Between two checks
 * the file can grow large; to prevent that, give the runtime folder a file system of its own, or
 * set a quota.
 *
 * A tenant that keeps the file open after its session is gone could go on writing. So the file is
 * renamed to sessions/.open-... and given to root until the kernel reports that no process has it
 * open for writing; its content is removed meanwhile. A lease on the file delays that until the
 * kernel ends the lease (/proc/sys/fs/lease-break-time).
 */
#ifndef ALIQUOT_DAEMON_NODE_TRIM_H
#define ALIQUOT_DAEMON_NODE_TRIM_H

#include "daemon/node/node_parts.h"

int trim_start(struct node *node);
void trim_stop(struct node *node);

/* Begins to look for files that must be truncated; does not wait. */
void trim_all(struct node *node);

/* Truncates files and waits for that, but at most TRIM_WAIT_NS in each TRIM_EVERY_NS, because
 * users who block the work can cause this call again and again. Returns whether any child has
 * finished. */
#define TRIM_WAIT_NS UINT64_C(100000000)
#define TRIM_EVERY_NS UINT64_C(2000000000)
bool trim_now(struct node *node);

#endif
