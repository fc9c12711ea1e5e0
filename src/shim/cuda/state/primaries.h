/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of primary.c: the primary contexts. Wiped in a forked child: state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_PRIMARIES_H
#define ALIQUOT_SHIM_CUDA_STATE_PRIMARIES_H

#include <stdint.h>

#include "shim/cuda/state/places.h"
#include "shim/lock.h"

struct primary_state {
        struct lock primary_lock;
        /* by device: the primary context if it was last seen active, else 0. */
        uint64_t primary[STATE_DEVICES];
};

extern struct primary_state primary_state;

#endif
