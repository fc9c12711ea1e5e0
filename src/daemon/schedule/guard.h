/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading pages that their writer can cut short: touching such a page is SIGBUS, and must not be
 * the end of the daemon.
 *
 * The handler puts a page of zeros in the place of one that went, and goes on; whoever reads finds
 * no magic in it. Any other SIGBUS is what it would have been.
 */
#ifndef ALIQUOT_DAEMON_SCHEDULE_GUARD_H
#define ALIQUOT_DAEMON_SCHEDULE_GUARD_H

#include <stddef.h>

#include "common/error.h"

/* Before the first guard_add(); again does no harm. A thread that reads such pages must not block
 * SIGBUS. */
int guard_start(struct error *err);

/* From now until guard_remove(), which comes before munmap(), the mapping of `bytes` may be cut
 * short. The memory stays the caller's. -ENOSPC: too many. Any thread. */
int guard_add(void *at, size_t bytes, struct error *err);
void guard_remove(void *at); /* what was not added is passed over */

#endif
