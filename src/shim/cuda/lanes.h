/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the lanes of this process are, for the parts of lane.h: lane.c finds and makes them,
 * lane_mark.c places markers, lane_time.c measures, lane_left.c settles what nothing measured,
 * lane_tend.c looks after all of them.
 */
#ifndef ALIQUOT_SHIM_CUDA_LANES_H
#define ALIQUOT_SHIM_CUDA_LANES_H

#include "shim/cuda/lane.h"

struct lanes {
        _Atomic uint32_t is_wiped_at_fork;
        struct lock lock;      /* for adding and removing lanes */
        _Atomic uint32_t high; /* lanes that were ever used */
        struct lane lane[LANES];
        struct work work[PAGE_DEVICES];
};

extern struct lanes lanes;

/* Its context was destroyed while somebody held it: whoever gets hold of it next buries it. */
#define LANE_GONE UINT64_MAX

static inline bool lane_is_gone(const struct lane *lane)
{
        return load_acquire(&lane->context) == LANE_GONE;
}

/* NULL: it has none, or that is gone. */
static inline CUcontext lane_context(const struct lane *lane)
{
        uint64_t context = load_acquire(&lane->context);

        return context == LANE_GONE ? NULL : (CUcontext)(uintptr_t)context;
}

/* Of a marker's own time, at most. */
#define LANE_MARKER_NS 5000

/* The newest marker's place; the one before the first where there is none. */
static inline uint32_t lane_newest(const struct lane *lane)
{
        return (lane->first + load_relaxed(&lane->count) + LANE_MARKERS - 1) % LANE_MARKERS;
}

/* Those since the newest marker are no more. */
struct launched lane_take_since(struct lane *lane);

/* The lane is held; a marker was added, or taken off. */
void lane_note_oldest(struct lane *lane);

/* The lane is held: so much was measured of a burst that was picked. */
void lane_sum_up(struct lane *lane, uint32_t burst, uint64_t took_ns, bool is_sure);

/* The lane is held, and a burst that was picked is over: those before it that were not took as
 * long, each. */
void lane_tell_of_bursts(struct lane *lane, uint32_t burst);

/* The lane is held: one launch, or burst, that was measured took so long. */
void lane_note_longest(struct lane *lane, uint64_t length_ns);

/* The lane is held: of those that nothing measured each took so long. */
void lane_settle_unmeasured(struct lane *lane, uint64_t each_ns);

/* The lane is held: the program waits for it no more by calls, so bursts that were left took the
 * average, each. */
void lane_settle_bursts(struct lane *lane);

/* The lane is held: its markers are not waited for, and what was paid is what it took. */
void lane_give_up(struct lane *lane);

/* The lane is held, and gone: free again. The driver is not asked for anything. */
void lane_bury(struct lane *lane);

#endif
