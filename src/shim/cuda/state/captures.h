/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of capture.h and recorded.h: captures that are open, and streams that record for graphics.
 * Wiped in a forked child: state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_CAPTURES_H
#define ALIQUOT_SHIM_CUDA_STATE_CAPTURES_H

#include <stdint.h>

#include "common/atomic.h"
#include "shim/lock.h"

#define STATE_CAPTURES 256u
#define STATE_RECORDED 256u

/* A stream that records into a graphics command list (recorded.h). Guarded by recorded_lock. */
struct recorded {
        uint64_t id;    /* id of the stream; 0: the entry is free */
        uint32_t owner; /* number of the stream's context; 0: unknown */
};

/* A capture that has begun and not ended (capture.c). Guarded by captures_lock. */
struct begun {
        uint64_t key; /* key of the stream; 0: the entry is free */
        /* Handle of the stream's context. */
        uint64_t context;
};

struct capture_state {
        /* Calls in flight that may end captures, and calls in flight that hold a capture. At most
         * one of the two counts stays above 0 (capture.h). */
        _Atomic uint32_t capture_ends;
        _Atomic uint32_t capture_holds;

        struct lock captures_lock;
        struct begun begun[STATE_CAPTURES];
        _Atomic uint32_t captures; /* open captures, including those for which no entry was free */

        struct lock recorded_lock;
        struct recorded recorded[STATE_RECORDED]; /* a stream that began twice has two entries */
        _Atomic uint32_t recorded_count;
};

extern struct capture_state capture_state;

#endif
