/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Primary contexts (context.c). Wiped in a forked child: state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_PRIMARIES_H
#define ALIQUOT_SHIM_CUDA_STATE_PRIMARIES_H

#include <stdint.h>

#include "shim/cuda/state/places.h"
#include "shim/lock.h"

struct primary_state {
        struct lock primary_lock;
        uint64_t primary[STATE_DEVICES]; /* the primary context, while it was seen active */
};

extern struct primary_state primary_state;

#endif
