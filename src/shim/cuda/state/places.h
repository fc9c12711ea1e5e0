/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The known devices and contexts (front.h). Wiped in a forked child: state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_PLACES_H
#define ALIQUOT_SHIM_CUDA_STATE_PLACES_H

#include <stdint.h>

#include "common/atomic.h"
#include "shim/lock.h"

#define STATE_DEVICES 64
#define STATE_SEATS 1024u

/*
 * A context seen so far. Written under seats_lock, its context last (release); readers match the
 * context (acquire) and then read the rest. A seat that was left is used again with a new number: a
 * reader that still sees the old one holds a context that is being destroyed under it, which no
 * program may do.
 */
struct state_seat {
        _Atomic uint64_t context; /* 0 = free */
        _Atomic uint32_t owner;
        _Atomic int row;
        _Atomic int device;
};

struct place_state {
        struct lock seats_lock;
        _Atomic uint32_t seats_high;
        uint32_t last_owner;
        struct state_seat seats[STATE_SEATS];

        /* Row of each ordinal plus ROW_KNOWN; 0 = not asked yet. Racing writers agree. */
        _Atomic int rows[STATE_DEVICES];
};

extern struct place_state place_state;

#endif
