/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings the bell of a session: wakes the node's scheduler, which then reads the session's pages.
 * Any thread may call.
 */
#ifndef ALIQUOT_SHIM_BELL_H
#define ALIQUOT_SHIM_BELL_H

#include <limits.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "proto/page.h"

static inline void bell_ring(struct slots_page *slots)
{
        add_acq_rel(shared_half(&slots->bell), 1);
        clock_wake(shared_half(&slots->bell), INT_MAX);
}

#endif
