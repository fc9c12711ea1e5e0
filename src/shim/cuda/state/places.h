/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of front.h: the known devices and contexts. Wiped in a forked child: state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_PLACES_H
#define ALIQUOT_SHIM_CUDA_STATE_PLACES_H

#include <stdint.h>

#include "common/atomic.h"
#include "shim/lock.h"

#define STATE_DEVICES 64
#define STATE_SEATS 1024u

/*
 * A *seat*: the entry of one known context. Written under seats_lock, `context` last (release).
 * Readers find the context (acquire) and then read the other fields. A free seat is reused for
 * another context with a new number. A reader that still sees the old values uses a context that
 * another thread is destroying, which no program may do.
 */
struct state_seat {
        _Atomic uint64_t context; /* handle; 0: the seat is free */
        _Atomic uint32_t owner;
        _Atomic int row;
        _Atomic int device;
};

struct place_state {
        struct lock seats_lock;
        _Atomic uint32_t seats_high;
        uint32_t last_owner;
        struct state_seat seats[STATE_SEATS];

        /* Row of each device ordinal, plus ROW_KNOWN; 0: not known yet. Threads that write at the
         * same time write the same value. */
        _Atomic int rows[STATE_DEVICES];
};

extern struct place_state place_state;

#endif
