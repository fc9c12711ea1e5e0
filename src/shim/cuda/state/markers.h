/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of time.c: CUDA events of ours that are ready for reuse. Wiped in a forked child: state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_MARKERS_H
#define ALIQUOT_SHIM_CUDA_STATE_MARKERS_H

#include <stdint.h>

#include "abi/cuda.h"
#include "shim/lock.h"

#define STATE_EVENTS 1024u

/* A CUDA event of ours that is ready for reuse. */
struct resting {
        uint64_t context; /* handle of its context; 0: the entry is free */
        CUevent event;
};

struct marker_state {
        struct lock events_lock;
        struct resting events[STATE_EVENTS];
};

extern struct marker_state marker_state;

#endif
