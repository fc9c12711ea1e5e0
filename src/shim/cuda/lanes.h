/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the lanes of this process are, for the parts of lane.h: lane.c finds and makes them,
 * lane_time.c measures, lane_tend.c looks after all of them.
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

/* The lane is held: its markers are not waited for, and what was paid is what it took. */
void lane_give_up(struct lane *lane);

#endif
