/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of ours that are not in use (time.c). Wiped in a forked child: state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_MARKERS_H
#define ALIQUOT_SHIM_CUDA_STATE_MARKERS_H

#include <stdint.h>

#include "abi/cuda.h"
#include "shim/lock.h"

#define STATE_EVENTS 1024u

/* An event of ours that waits to be used again: time.c. */
struct resting {
        uint64_t context; /* 0 = free */
        CUevent event;
};

struct marker_state {
        struct lock events_lock;
        struct resting events[STATE_EVENTS];
};

extern struct marker_state marker_state;

#endif
