/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures that were begun, and streams that are recorded (capture.h, recorded.h). Wiped in a
 * forked child: state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_CAPTURES_H
#define ALIQUOT_SHIM_CUDA_STATE_CAPTURES_H

#include <stdint.h>

#include "common/atomic.h"
#include "shim/lock.h"

#define STATE_CAPTURES 256u
#define STATE_RECORDED 256u

/* A stream that records into a graphics command list: recorded.h. Guarded by recorded_lock. */
struct recorded {
        uint64_t id;    /* of the stream; 0 = free */
        uint32_t owner; /* its context; 0 = unknown */
};

/* A capture that was begun and has not ended: capture.c. Guarded by captures_lock. */
struct begun {
        uint64_t key; /* of the stream; 0 = free */
        uint64_t context;
};

struct capture_state {
        /* Calls in flight: that may end captures, and that hold one. Never both kinds (capture.h).
         */
        _Atomic uint32_t capture_ends;
        _Atomic uint32_t capture_holds;

        struct lock captures_lock;
        struct begun begun[STATE_CAPTURES];
        _Atomic uint32_t captures; /* that are open, also those for which there was no place */

        struct lock recorded_lock;
        struct recorded recorded[STATE_RECORDED]; /* a stream twice if begun twice */
        _Atomic uint32_t recorded_count;
};

extern struct capture_state capture_state;

#endif
