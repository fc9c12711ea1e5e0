/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this process does on a device of its session, in all its lanes (lane.h) together.
 *
 * What is atomic may be written and read by any thread; the rest has a lock, which is held for some
 * sums and never across a call of the driver. Never ends; wiped in a forked child.
 */
#ifndef ALIQUOT_SHIM_CUDA_WORK_H
#define ALIQUOT_SHIM_CUDA_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "shim/admit.h"
#include "shim/estimate.h"
#include "shim/lock.h"
#include "shim/spans.h"

/* Does what is in flight get on? Whoever holds a lane counts what it settles; who waits at the gate
 * reads that, and counts its escapes: two at once count one. */
struct motion {
        _Atomic uint32_t settled;           /* markers passed: it does */
        _Atomic uint32_t escapes;           /* while it did not, ... */
        _Atomic uint32_t settled_at_escape; /* ... which was then */
};

struct work {
        struct admit admit;
        _Atomic uint32_t is_ready;     /* `admit` is filled in (release) */
        _Atomic uint64_t in_flight_ns; /* expected of what lies between markers that are to come */
        struct motion motion;
        /* When all that was let through should be done; 0: it is known to be. */
        _Atomic uint64_t busy_until_ns;
        _Atomic uint64_t lanes_used;  /* the last lane (low half), when the one before was used */
        _Atomic uint64_t mixed_at_ns; /* when work last went to another lane than before */
        _Atomic uint64_t gated_ns;    /* waited for anything but work in flight, all together */

        struct lock lock; /* guards what follows */
        struct spans spans;
        int64_t latest_ns; /* of the markers passed */
        struct estimate piece;
        struct estimate marker; /* what passing one takes the stream itself */
        /* Of late: intervals measured, and how much of them nothing else covered. */
        uint64_t length_ns, alone_ns;
        uint64_t launch_ns; /* what a launch takes of the host's time, at the least */

        _Atomic uint32_t ends; /* markers placed that measure */
};

#define WORK_MIXED_NS UINT64_C(20000000)

/* It went to several lanes so recently: they may overlap. */
static inline bool work_is_mixed(const struct work *work, uint64_t now_ns)
{
        return now_ns - load_relaxed(&work->mixed_at_ns) < WORK_MIXED_NS;
}

/* The work of a page's row; NULL when the session has gone. Attaches the process. */
struct work *work_of(int row);

/* Settles what has been passed in all lanes of the device that nobody holds. */
void lanes_reap(struct work *work);

/* What stands behind waits, in all lanes of the device together: expected of what lies between
 * markers, a part of in_flight_ns, and of what came after the newest one. */
struct standing {
        uint64_t marked_ns, since_ns;
};

/* Settles in those lanes what has been passed. */
struct standing lanes_standing(struct work *work);

/* Nothing that was launched on the device is still to be measured; and what is in no measure, such
 * as the last launches of a stream without events, should be over. */
bool lanes_are_done(const struct work *work);

/* The helper's: settles what was passed on every device, and gives turns and leases back when
 * nothing is left to do. When it wants to look again. */
uint64_t lanes_tend(uint64_t now_ns);

/* The context is about to be destroyed. Waits for nobody for long. */
void lanes_forget(CUcontext context);

#endif
