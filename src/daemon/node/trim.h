/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tenants write into `slots` beyond its page is taken back.
 *
 *      trim_all(node)          once a second
 *      trim_now(node)          when a session finds no room to be made
 *
 * A tenant owns its `slots`, so nothing bars it from making the file as large as the file system
 * is, which all sessions share. Nothing of a session ever lies behind its page: whatever is found
 * there is cut off (cleanup.h), and told of at the 1st, 2nd, 4th, 8th time and so on (event
 * `oversized`). With `watch.forged` at term or kill its programs are sent that signal. Between two
 * looks it can be there: a file system of the runtime folder's own, or a quota, keeps that from
 * everybody else.
 *
 * A tenant that keeps the file open when its session is gone could write into it unseen. So it is
 * kept, as sessions/.open-..., root's from then on, until the kernel says that nobody has it open
 * for writing; and all of its content is taken back meanwhile. A lease on it delays that until the
 * kernel ends the lease (/proc/sys/fs/lease-break-time).
 */
#ifndef ALIQUOT_DAEMON_NODE_TRIM_H
#define ALIQUOT_DAEMON_NODE_TRIM_H

#include "daemon/node/node_parts.h"

int trim_start(struct node *node);
void trim_stop(struct node *node);

/* Looks what is to be cleaned up; does not wait. */
void trim_all(struct node *node);

/* Waits for what does not take long, up to TRIM_WAIT_NS, and TRIM_WAIT_NS of each TRIM_EVERY_NS:
 * users who hold it up can ask for it again and again. Whether anything was done. */
#define TRIM_WAIT_NS UINT64_C(100000000)
#define TRIM_EVERY_NS UINT64_C(2000000000)
bool trim_now(struct node *node);

#endif
